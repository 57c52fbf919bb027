"""Applies a change of the metadata in several turns of the loop: one change may be about 10,000 partitions (a broker
died, a setting changed).

No request sees a partition as it was before: one that is asked for is updated before its turn (`now`), and those of a
deleted topic are not found any more. A later change of a topic replaces one that is being applied.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from itertools import compress, islice
from operator import is_not

from barnabas.broker.partition.partition import HostedPartition
from barnabas.core.cluster.image import TopicImage

PARTITIONS_A_TURN = 1_000  # created, changed or deleted before other work of the loop; one takes 6 to 10 us
_CHECKS_PER_CHANGE = 32  # unchanged partitions that cost as much as one that has changed
CHECKS_A_TURN = PARTITIONS_A_TURN * _CHECKS_PER_CHANGE


class ApplyTurns:
    """`apply(topic, index)` makes this node's replica of a partition what the image says; False: it was that before."""

    def __init__(self, apply: Callable[[TopicImage, int], bool]) -> None:
        self._apply = apply
        # By name: which partitions have to be checked, from which of these on.
        self.waiting: dict[str, tuple[TopicImage, Sequence[int], int]] = {}
        self._due = False

    def begin(self, topic: TopicImage, budget: int, before: TopicImage | None = None) -> int:
        """Apply as many partitions as the budget allows now, the others later; gives the rest of the budget. `before`:
        the topic that was applied last, where its partitions are all that may have changed."""
        indexes: Sequence[int] = range(len(topic.partitions))
        if before is not None and topic.name not in self.waiting:
            indexes = _changed(before, topic)
        self.waiting[topic.name] = (topic, indexes, 0)
        budget = self._some_of(topic.name, budget)
        self._go_on()
        return budget

    def now(self, name: str, index: int) -> None:
        """Apply one partition of a topic that waits, because it is asked for."""
        topic = self.waiting[name][0]
        if index < len(topic.partitions):
            self._apply(topic, index)

    async def done(self) -> None:
        while self.waiting:
            await asyncio.sleep(0)

    def _some_of(self, name: str, budget: int) -> int:
        topic, indexes, first = self.waiting[name]
        count = len(indexes)
        while first < count and budget > 0:
            budget -= _CHECKS_PER_CHANGE if self._apply(topic, indexes[first]) else 1
            first += 1
        if first < count:
            self.waiting[name] = (topic, indexes, first)
        else:
            del self.waiting[name]
        return budget

    def _go_on(self) -> None:
        if self.waiting and not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._some)

    def _some(self) -> None:
        self._due = False
        budget = CHECKS_A_TURN
        while self.waiting and budget > 0:
            budget = self._some_of(next(iter(self.waiting)), budget)
        self._go_on()


def _changed(before: TopicImage, after: TopicImage) -> list[int]:
    """While the replicas of 10,000 partitions come into sync, the topic changes a few hundred times. This takes 0.3 ms
    each time, a check of every replica 3 ms."""
    old, new = before.partitions, after.partitions
    return [*compress(range(len(new)), map(is_not, new, old)), *range(len(old), len(new))]


class CheckTurns:
    """`check(partition)` for each of many, once, also if it was added twice before its turn."""

    def __init__(self, check: Callable[[HostedPartition], None]) -> None:
        self._check = check
        self._waiting: dict[HostedPartition, None] = {}
        self._due = False

    def begin(self, partitions: Iterable[HostedPartition]) -> None:
        self._waiting.update(dict.fromkeys(partitions))
        if not self._due:
            self._some()

    def clear(self) -> None:
        self._waiting.clear()

    def _some(self) -> None:
        self._due = False
        some = list(islice(self._waiting, PARTITIONS_A_TURN))
        for partition in some:
            del self._waiting[partition]
        for partition in some:
            self._check(partition)
        if self._waiting and not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._some)


class DeletionTurns:
    """`delete(partition)` for each of many; `done()` when none is left."""

    def __init__(self, delete: Callable[[HostedPartition], None], done: Callable[[], None]) -> None:
        self._delete = delete
        self._when_done = done
        self._waiting: dict[str, list[HostedPartition]] = {}  # by topic

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, topic: str, partitions: list[HostedPartition]) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._some)
        self._waiting[topic] = partitions

    def finish(self, topic: str) -> None:
        """Delete the rest of a topic now: another one has its name."""
        for partition in self._waiting.pop(topic, ()):
            self._delete(partition)

    def remove_all(self) -> list[HostedPartition]:
        """Those that wait, for the caller to delete."""
        waiting = [partition for partitions in self._waiting.values() for partition in partitions]
        self._waiting.clear()
        return waiting

    def _some(self) -> None:
        budget = PARTITIONS_A_TURN
        while self._waiting and budget > 0:
            topic, partitions = next(iter(self._waiting.items()))
            some = partitions[-budget:]
            del partitions[-budget:]
            if not partitions:
                del self._waiting[topic]
            budget -= len(some)
            for partition in some:
                self._delete(partition)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._some)
        else:
            self._when_done()
