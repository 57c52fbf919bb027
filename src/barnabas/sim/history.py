"""What clients did and saw, in order: the only thing the H checkers look at."""

from collections.abc import Callable
from dataclasses import dataclass, field

Partition = tuple[str, int]


@dataclass(slots=True)
class Sent:
    """One batch a producer tried to write, until it knew or gave up."""

    producer: str
    partition: Partition
    values: tuple[bytes, ...]
    idempotent: bool
    begun: float
    transaction: str | None = None
    attempts: int = 0
    acked_at: float | None = None
    base_offset: int = -1
    era: int = 0  # of Losses, when it was asked for
    error: str = ""


@dataclass(slots=True)
class Seen:
    """One record a reader was given."""

    reader: str
    at: float
    era: int
    committed_only: bool
    partition: Partition
    offset: int
    value: bytes
    batch: int  # base offset of its batch


@dataclass(slots=True)
class Transaction:
    name: str  # transactional id and a number
    begun: float
    values: list[tuple[Partition, bytes]] = field(default_factory=list)
    offsets: dict[tuple[str, Partition], int] = field(default_factory=dict)  # group, partition: committed with it
    outcome: str = "open"  # "committed", "aborted", or "unknown"
    era: int = 0


@dataclass(slots=True)
class Committed:
    """A group's offset, told by the coordinator that it is kept."""

    group: str
    partition: Partition
    offset: int
    at: float
    era: int


class History:
    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.sent: list[Sent] = []
        self.seen: list[Seen] = []
        self.transactions: list[Transaction] = []
        self.committed: list[Committed] = []
        self.unanswered_commits: list[Committed] = []  # may be carried out at any later time
        self.fetched_offsets: list[Committed] = []  # what a coordinator answered to OffsetFetch
        self.owners: list[tuple[float, str, int, str, frozenset[Partition]]] = []  # group, generation, member
        self.heartbeats: list[tuple[float, str, int, str]] = []  # accepted: when asked, group, generation, member
        self.problems: list[str] = []  # what a workload itself found wrong
        self.topics_made: dict[str, float] = {}
        self.answers = 0
        self.progress: dict[str, list[float]] = {}  # workload: when it got somewhere
        self.timeouts: list[tuple[float, float, str, int, str]] = []  # asked, given up, who, API key, host
