"""What a connector is: a source that reads from a position, or a sink that writes a batch twice without harm.

A source names its splits, the parts that can be read beside each other (a table, a file, a whole database), and opens a
reader of one at a position. A position is a small JSON object of the source's own, and says what has been read: the
runtime writes it to the log in one transaction with the records that led to it, so neither is ever there without the
other, and hands it back when the split is opened again, on whichever worker.

A sink opens a writer of one partition of a topic. What it is given is named by topic, partition and the offset of the
first record, and may come a second time, whole, in part, or cut otherwise, after a crash: a writer that keeps the next
offset in the target (in the same transaction, in an object's name) says so in `next_offset` and is not given anything
below it; any other makes writing the same record again change nothing, by key or by offset.

The runtime owns everything else: positions, transactions, retries and their pauses, dead letters, formats and
transformations, metrics, and which worker does what. Both engines, a process and Spark, use connectors by these
classes. A connector blocks: each of its readers and writers has a thread (or a task of Spark) of its own, and is used
by no other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, TypeAlias, overload

# What a value may be before it is encoded and after it was decoded: bytes or text as they are, a JSON-like structure
# (dict, list, int, float, bool, Decimal, datetime, bytes inside), None for a tombstone. Any: there is no one type.
Value: TypeAlias = Any
Position: TypeAlias = dict[str, Value]  # JSON; each source's own
Options: TypeAlias = dict[str, Value]  # as a person has written them in YAML
Headers: TypeAlias = Sequence[tuple[str, bytes | None]]


@dataclass(slots=True)
class Record:
    """What a source has read."""

    value: Value
    key: Value = None
    topic: str | None = None  # None: the topic of the definition
    timestamp_ms: int | None = None  # None: when it is written
    headers: Headers = ()
    partition: int | None = None  # None: by key


class Alike(Sequence[Record]):
    """Records that differ in their value only, such as lines of a file: encoded together where no step has to look at
    each. Values are bytes as they go into the topic; with `is_text` a record's value is their text."""

    __slots__ = ("headers", "is_text", "key", "values")

    def __init__(self, values: Sequence[bytes], key: Value, headers: tuple[tuple[str, bytes | None], ...]) -> None:
        self.values, self.key, self.headers = values, key, headers
        self.is_text = False

    @classmethod
    def of_text(cls, values: Sequence[bytes], key: Value, headers: tuple[tuple[str, bytes | None], ...]) -> Alike:
        """`values` are UTF-8."""
        made = cls(values, key, headers)
        made.is_text = True
        return made

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> list[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | list[Record]:
        if isinstance(place, slice):
            return [self._record(value) for value in self.values[place]]
        return self._record(self.values[place])

    def __iter__(self) -> Iterator[Record]:
        return map(self._record, self.values)

    def _record(self, value: bytes) -> Record:
        return Record(value.decode() if self.is_text else value, self.key, None, None, self.headers)

    def is_like(self, other: Alike) -> bool:
        return (self.key, self.headers, self.is_text) == (other.key, other.headers, other.is_text)


@dataclass(frozen=True, slots=True)
class WholeBatch:
    """A record batch of Kafka's format as another cluster has it. Its records follow each other without a gap."""

    batch: memoryview
    count: int


class Copied(Sequence[Record]):
    """Records of one partition of another cluster, for a partition here. Batches go on as they are, still compressed,
    where no step has to look at a record; what cannot (a batch with gaps) is among them as records."""

    __slots__ = ("_decoded", "_opened", "partition", "parts", "topic")

    def __init__(
        self,
        topic: str,
        partition: int,
        parts: Sequence[WholeBatch | Sequence[Record]],
        opened: Callable[[WholeBatch], Sequence[Record]],
    ) -> None:
        self.topic, self.partition, self.parts, self._opened = topic, partition, parts, opened
        self._decoded: list[Record] | None = None

    def _records(self) -> list[Record]:
        if self._decoded is None:
            lists = (self._opened(each) if isinstance(each, WholeBatch) else each for each in self.parts)
            self._decoded = list(chain.from_iterable(lists))
        return self._decoded

    def __len__(self) -> int:
        return sum(each.count if isinstance(each, WholeBatch) else len(each) for each in self.parts)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> list[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | list[Record]:
        return self._records()[place]


def together(parts: Sequence[Sequence[Record]]) -> Sequence[Record]:
    """Records of several reads in their order, as Alike if they are all."""
    if len(parts) == 1:
        return parts[0]
    alike = [each for each in parts if isinstance(each, Alike)]
    if alike and len(alike) == len(parts) and all(each.is_like(alike[0]) for each in alike):
        values = list(chain.from_iterable(each.values for each in alike))
        made = Alike(values, alike[0].key, alike[0].headers)
        made.is_text = alike[0].is_text
        return made
    return [record for each in parts for record in each]


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one read gave: records, and where the split stands after them. Without records, only the position moves."""

    records: Sequence[Record]
    position: Position


@dataclass(frozen=True, slots=True)
class Behind:
    """How far a reader is behind its source, as far as the source can say."""

    records: int | None = None
    bytes: int | None = None
    seconds: float | None = None


Placed: TypeAlias = Mapping[tuple[str, int], Sequence[tuple[int, int]]]


class Reader(ABC):
    """Reads one split."""

    wants_places: ClassVar[bool] = False

    @abstractmethod
    def read(self, most: int, wait_s: float) -> Chunk | None:
        """Up to about `most` records (one that belong together may be more), waiting at most about `wait_s` seconds for
        the first; None when there is nothing new. Raises Unavailable; the reader is then closed, and the split opened
        again later at its last position."""

    def placed(self, position: Position, places: Placed) -> Position:
        """Only where `wants_places` is set: the records of the transaction are in the log, and will be committed with
        the position that this gives. `places` has, by topic and partition, the offsets of their batches, each with how
        many records it has, in the order in which they were read; an offset of -1 was not said."""
        return position

    def committed(self, position: Position) -> None:
        """Records up to `position` are in the log for good: what the source kept for us may go (a message acknowledged,
        a replication slot moved on). A crash may come before this, so what is read again is skipped by the position."""
        return

    def behind(self) -> Behind | None:
        return None

    def close(self) -> None:
        return


class Source(ABC):
    """Made from the options of a definition: `Kind(name, options)`. Raises BadOption for those that cannot be right."""

    exactly_once: ClassVar[bool] = True  # False: what can come twice is said in the connector's page

    @abstractmethod
    def splits(self) -> Sequence[str]:
        """Names of the parts, asked for again every few seconds: parts come and go. The same name is the same part."""

    @abstractmethod
    def open(self, split: str, position: Position | None) -> Reader:
        """None: from the beginning, whatever that is here."""

    def remove(self) -> None:
        """The connector will not run again (`connect remove --forget`): what the other system keeps for it may go."""
        return

    def close(self) -> None:
        return


@dataclass(slots=True)
class Delivered:
    """A record of a topic, as a sink gets it: decoded and transformed, with where it stands.

    Origin, partition and offset name the record for good: a dead letter that is sent again comes with those it had at
    first, by another topic. What counts for the bookkeeping of a writer is `place`, the offset in the partition that
    the writer was opened for."""

    topic: str  # what a table or an index is named after: transformations may have routed it elsewhere
    partition: int
    offset: int
    timestamp_ms: int
    key: Value
    value: Value
    headers: Headers = ()
    redriven_at: int | None = None  # the offset in the topic of redriven records
    read_from: str = ""  # the topic before transformations; empty: `topic`

    @property
    def origin(self) -> str:
        return self.read_from or self.topic

    @property
    def place(self) -> int:
        return self.offset if self.redriven_at is None else self.redriven_at


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that the target will not take: it becomes a dead letter, and the others go on."""

    record: Delivered
    reason: str


class Writer(ABC):
    """Writes one partition of a topic."""

    def next_offset(self) -> int | None:
        """The next offset that the target expects, where the target knows it; None: the group's offset counts."""
        return None

    @abstractmethod
    def write(self, records: Sequence[Delivered], next_offset: int) -> Sequence[Rejected]:
        """In order, ascending, all of this partition. `next_offset` is the offset after the batch: records that were
        filtered out, and offsets that are no data, count as done; `records` may be empty. When it returns, everything
        is durable in the target, unless the writer gathers. Raises Unavailable (the same records come again, perhaps
        with more behind them) or Refused."""

    def flush(self, now: bool) -> int | None:
        """Only of a writer that gathers records beyond `write` (into large objects): writes what is due, or with `now`
        all of it, and says the offset before which everything is durable. Called about once a second, and with `now`
        before the partition is given away. None, always: nothing gathers."""
        return None

    def close(self) -> None:
        return


class Sink(ABC):
    """Made from the options of a definition: `Kind(name, options)`. Raises BadOption for those that cannot be right."""

    exactly_once: ClassVar[bool] = True

    @abstractmethod
    def open(self, topic: str, partition: int) -> Writer:
        """Raises Unavailable."""

    def reset(self, topic: str, partition: int, offset: int) -> None:
        """Where the target keeps the next offset: it is this one now (`connect reset`). Nobody writes meanwhile."""
        return

    def close(self) -> None:
        return
