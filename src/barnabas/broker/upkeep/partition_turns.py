"""Taking over a change of the metadata in turns: one change may be about 10,000 partitions (a node died, a setting).

Nobody notices that it takes several turns of the loop: a partition is brought up to date before its turn when somebody
asks for it (`now`), and those of a deleted topic are no longer found. A later change of a topic takes the place of one
that is under way.
"""

import asyncio
from collections.abc import Callable, Iterable
from itertools import islice

from barnabas.broker.partition.partition import HostedPartition
from barnabas.core.cluster.image import TopicImage

AT_ONCE = 1_000  # partitions hosted, changed or let go before others get their turn; one takes 6 to 10 us
_LOOKS = 32  # partitions that are as they were, looked at for the price of one that is not
ROOM = AT_ONCE * _LOOKS


class FollowingTurns:
    """`follow(topic, index)`: this node's replica of a partition becomes what the image says; False: it was that."""

    def __init__(self, follow: Callable[[TopicImage, int], bool]) -> None:
        self._follow = follow
        self.waiting: dict[str, tuple[TopicImage, int]] = {}  # by name: partitions from this index on
        self._due = False

    def begin(self, topic: TopicImage, room: int) -> int:
        """As much as there is room for at once, the others later; gives how much room is left."""
        self.waiting[topic.name] = (topic, 0)
        room = self._some_of(topic.name, room)
        self._go_on()
        return room

    def now(self, name: str, index: int) -> None:
        """Whoever asks for a partition of a topic that is waiting sees it as the image has it."""
        topic, first = self.waiting[name]
        if first <= index < len(topic.partitions):
            self._follow(topic, index)

    async def done(self) -> None:
        while self.waiting:
            await asyncio.sleep(0)

    def _some_of(self, name: str, room: int) -> int:
        topic, first = self.waiting[name]
        count = len(topic.partitions)
        while first < count and room > 0:
            room -= _LOOKS if self._follow(topic, first) else 1
            first += 1
        if first < count:
            self.waiting[name] = (topic, first)
        else:
            del self.waiting[name]
        return room

    def _go_on(self) -> None:
        if self.waiting and not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._some)

    def _some(self) -> None:
        self._due = False
        room = ROOM
        while self.waiting and room > 0:
            room = self._some_of(next(iter(self.waiting)), room)
        self._go_on()


class LookTurns:
    """`look(partition)` at each of many, as it is then; one that waits already is looked at once."""

    def __init__(self, look: Callable[[HostedPartition], None]) -> None:
        self._look = look
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
        some = list(islice(self._waiting, AT_ONCE))
        for partition in some:
            del self._waiting[partition]
        for partition in some:
            self._look(partition)
        if self._waiting and not self._due:
            self._due = True
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

    def take(self) -> list[HostedPartition]:
        """All that still wait, for whoever lets them go itself."""
        waiting = [partition for partitions in self._waiting.values() for partition in partitions]
        self._waiting.clear()
        return waiting

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
