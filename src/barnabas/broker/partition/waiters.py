"""Who waits for the high watermark of an open partition: parked fetches for bytes below it, producers for an offset."""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.broker.partition.opened import OpenPartition

Acknowledge = Callable[[ErrorCode], None]
ENOUGH = 1 << 62  # bytes: every parked fetch is woken


class ParkedReader(Protocol):
    """A parked fetch."""

    def arrived(self, partition: "OpenPartition", size: int) -> None:
        """The high watermark has passed `size` more bytes, or the partition cannot be read here any more."""


class Waiters:
    __slots__ = ("acks", "fetches")

    def __init__(self) -> None:
        self.fetches: list[ParkedReader] = []
        self.acks: deque[tuple[int, Acknowledge]] = deque()  # the high watermark that each waits for, rising

    def high_watermark_moved(self, partition: "OpenPartition", size: int) -> None:
        if self.fetches:
            for fetch in self.fetches:
                fetch.arrived(partition, size)
        acks, offset = self.acks, partition.high_watermark
        while acks and acks[0][0] <= offset:
            acks.popleft()[1](ErrorCode.NONE)

    def wake_fetches(self, partition: "OpenPartition") -> None:
        for fetch in list(self.fetches):
            fetch.arrived(partition, ENOUGH)

    def remove_acks(self) -> list[Acknowledge]:
        """Those that wait, for the caller to refuse."""
        acks, self.acks = self.acks, deque()
        return [acknowledge for _, acknowledge in acks]
