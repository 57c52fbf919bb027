"""What was found, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from barnabas.model import limits
from barnabas.registry.schemas.json_schema.node import Node
from barnabas.registry.schemas.json_text import written
from barnabas.registry.schemas.parsed import Incompatibility

Found: TypeAlias = tuple[Incompatibility, ...]
Facts: TypeAlias = Sequence[Node]
NOTHING: Found = ()
ENOUGH = limits.INCOMPATIBILITIES_MAX  # no more are looked for in a list of properties or items
_STEP_MAX = 200  # characters of a step that are shown


@dataclass(frozen=True, slots=True)
class Path:
    """Where in the reader's schema; text is made of it when something is found there."""

    above: Path | None = None
    step: str = ""

    def __truediv__(self, step: str | int) -> Path:
        return Path(self, str(step))

    def __str__(self) -> str:
        steps: list[str] = []
        at: Path | None = self
        while at is not None and at.above is not None:
            steps.append(at.step[:_STEP_MAX])
            at = at.above
        return "#/" + "/".join(reversed(steps))

    def says(self, kind: str, message: str) -> Found:
        return (Incompatibility(kind, str(self), message),)


ROOT = Path()


def same_keywords(one: Node, other: Node, keywords: Sequence[str]) -> bool:
    """Whether keywords are the same, and the same is meant by them: they refer to nothing."""
    if not isinstance(one.value, dict) or not isinstance(other.value, dict):
        return False
    found = [one.value.get(each) for each in keywords]
    return found == [other.value.get(each) for each in keywords] and 'ef":' not in written(found)


class Comparing(Protocol):
    """One comparison of two schemas, as its parts use it."""

    def compare(self, data: tuple[Node, ...], reader: Node, path: Path, /) -> Found:
        """Why data that keeps to all of `data` does not keep to `reader`."""

    def matches(self, pattern: str, name: str) -> bool | None:
        """Whether a name matches a pattern; None: not known."""

    def step(self, count: int) -> None:
        """Counts what is looked at; InvalidSchema when it is too much."""
