"""What a pipeline is: a name, the topics it reads and writes, and two ways to read them.

`now` starts streaming queries and returns; the framework keeps them alive, shows them and stops them. `later` works
through history and returns what it left behind. A pipeline has either or both, and a generator of believable data, so
that anybody can try it on an empty node.

A topic that is read may carry a schema (Spark's DDL). Then its values are JSON, `NOT NULL` columns are required, and a
record that does not fit goes to the topic `<topic>.dead-letter` with the reason, while the stream goes on. Times are
ISO 8601 text (`timestamps="milliseconds"` takes numbers too), and none may lie more than `ahead` after the record's own
timestamp; `event_time` names the only column that this is asked of, when others may tell of the future.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework.expected import AHEAD, Expected
from barnabas.pipelines.framework.outcome import Outcome
from barnabas.pipelines.framework.spans import span_ms
from barnabas.pipelines.source.values.texts import ISO, TIMESTAMPS, WITH_MILLISECONDS

if TYPE_CHECKING:
    from barnabas.pipelines.framework.context import RunContext
    from barnabas.pipelines.framework.records import Record

DEAD_LETTER = ".dead-letter"


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic by its usual name; `--topic usual=mine` puts another in its place."""

    name: str
    partitions: int = 3  # when the pipeline has to create it
    schema: str | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    streamed: bool = True  # False for a topic that only `later` reads
    event_time: str | None = None
    ahead: str = AHEAD
    timestamps: str = ISO

    @property
    def dead_letter(self) -> str:
        return self.name + DEAD_LETTER

    @property
    def expected(self) -> Expected | None:
        """What its records have to be; None where nothing is asked of them."""
        if self.schema is None:
            return None
        if self.timestamps not in TIMESTAMPS:
            raise PipelineError(f"{self.name}: timestamps is {' or '.join(TIMESTAMPS)}, not {self.timestamps!r}")
        ahead_ms = span_ms(self.ahead, f"{self.name}: ahead")
        return Expected(self.schema, self.event_time, ahead_ms, self.timestamps == WITH_MILLISECONDS)


@dataclass(frozen=True, slots=True)
class Option:
    """Something a person may set with `--set name=value`. Values are text; a pipeline reads them by its context."""

    name: str
    default: str
    help: str


class Pipeline:
    """The base of every pipeline, ours and a user's own."""

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""  # one line, for `barnabas pipeline list`
    now_summary: ClassVar[str] = ""
    later_summary: ClassVar[str] = ""
    reads: ClassVar[tuple[Topic, ...]] = ()
    writes: ClassVar[tuple[Topic, ...]] = ()
    options: ClassVar[tuple[Option, ...]] = ()
    # Tasks that `now` needs in Spark's Real-Time Mode beside one for each partition that it reads: those behind its
    # shuffles. 0 where it has no form for that mode (`context.realtime`).
    realtime: ClassVar[int] = 0

    def now(self, context: RunContext) -> None:
        """Start the streaming queries, by `context.start` or `context.to_topic`."""
        raise self._lacks("now")

    def later(self, context: RunContext) -> Outcome:
        """Work through the history between `context.begin_ms` and `context.end_ms`."""
        raise self._lacks("later")

    def generate(self, seed: int, begin_ms: int, rate: float) -> Iterator[Record]:
        """Believable records for ever, in the order in which they are sent: about `rate` of them a second, the first
        at `begin_ms`. The same seed gives the same records."""
        raise self._lacks("generate")

    def tell(self, topic: str, value: Mapping[str, object]) -> str:
        """One result in a few words, for the live screen."""
        return " ".join(f"{name}={shown}" for name, shown in value.items() if shown is not None)

    def _lacks(self, part: str) -> PipelineError:
        return PipelineError(f"the pipeline {self.name!r} has no part {part!r}")

    @classmethod
    def has(cls, part: str) -> bool:
        """Whether this pipeline has a part of its own: "now", "later" or "generate"."""
        return getattr(cls, part) is not getattr(Pipeline, part)
