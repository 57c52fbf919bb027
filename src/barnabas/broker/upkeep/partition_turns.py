"""Hosting new partitions and letting go of deleted ones in turns: one change of the metadata may be about 10,000.

Nobody notices that it takes several turns of the loop: a new partition is hosted before its turn when somebody asks for
it (`now`), all of them when somebody wants to see them all (`all`), and those of a deleted topic are no longer found.
"""

import asyncio
from collections.abc import Callable

from barnabas.broker.partition import HostedPartition
from barnabas.core.cluster.image import TopicImage

AT_ONCE = 1_000  # partitions hosted or let go before others get their turn; one takes 6 to 7 us


class HostingTurns:
    """`host(topic, index)`: unless it is hosted, or this node has no replica of it."""

    def __init__(self, host: Callable[[TopicImage, int], HostedPartition | None]) -> None:
        self._host = host
        self.waiting: dict[str, tuple[TopicImage, int]] = {}  # by name: new partitions from this index on

    def later(self, topic: TopicImage, first: int) -> None:
        if not self.waiting:
            asyncio.get_running_loop().call_soon(self._some)
        self.waiting[topic.name] = (topic, first)

    def now(self, name: str, index: int) -> HostedPartition | None:
        topic, first = self.waiting[name]
        return self._host(topic, index) if first <= index < len(topic.partitions) else None

    def rest(self, name: str, end: int | None = None) -> int:
        """What is left of a topic, up to `end`; gives how many partitions that were."""
        if name not in self.waiting:
            return 0
        topic, first = self.waiting[name]
        count = len(topic.partitions)
        end = count if end is None else min(end, count)
        for index in range(first, end):
            self._host(topic, index)
        if end < count:
            self.waiting[name] = (topic, end)
        else:
            del self.waiting[name]
        return end - first

    def all(self) -> None:
        for name in list(self.waiting):
            self.rest(name)

    def _some(self) -> None:
        room = AT_ONCE
        while self.waiting and room > 0:
            name, (_, first) = next(iter(self.waiting.items()))
            room -= self.rest(name, first + room)
        if self.waiting:
            asyncio.get_running_loop().call_soon(self._some)


class LeavingTurns:
    """`let_go(partition)`, and `gone()` when there are no more of them."""

    def __init__(self, let_go: Callable[[HostedPartition], None], gone: Callable[[], None]) -> None:
        self._let_go = let_go
        self._gone = gone
        self._waiting: dict[str, list[HostedPartition]] = {}  # by topic

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def later(self, topic: str, partitions: list[HostedPartition]) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._some)
        self._waiting[topic] = partitions

    def rest(self, topic: str) -> None:
        """What is left of a deleted topic."""
        for partition in self._waiting.pop(topic, ()):
            self._let_go(partition)

    def close(self) -> None:
        for topic in list(self._waiting):
            for partition in self._waiting.pop(topic):
                partition.delete()

    def _some(self) -> None:
        room = AT_ONCE
        while self._waiting and room > 0:
            topic, partitions = next(iter(self._waiting.items()))
            some = partitions[-room:]
            del partitions[-room:]
            if not partitions:
                del self._waiting[topic]
            room -= len(some)
            for partition in some:
                self._let_go(partition)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._some)
        else:
            self._gone()
