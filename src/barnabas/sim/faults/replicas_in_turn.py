"""Faults that strike the replicas of one partition in a chosen order: what a random pair of faults seldom does.

`InTurn`: the follower goes first and the leader after it; the follower comes back before the leader does. What was
acknowledged meanwhile only the leader has. `CutLog`: a follower loses power, and with it the end of its log, while the
leader is killed. `LateLeader`: the leader is cut off until others have elected another one, and what it sent to the
controller meanwhile arrives after that. `DelayedProposal`: the same, and what it sent arrives when it is a follower
that is up and has not caught up: whoever made it leader or in sync then would lose what was acknowledged meanwhile.
"""

import asyncio
from typing import TYPE_CHECKING

from barnabas.sim import inspection
from barnabas.sim.faults.base import Fault
from barnabas.sim.faults.between_nodes import Split, between
from barnabas.wire.apis import ENVELOPE

if TYPE_CHECKING:
    from barnabas.core.cluster.image import PartitionImage
    from barnabas.sim.computer import Computer


class OfReplicas(Fault):
    """What the faults of this file share: a partition, its leader, and a follower that is in sync."""

    def chosen(self) -> "tuple[str, int, Computer, Computer] | None":
        image = self.world.newest_image()
        if image is None:
            return None
        found = [
            (name, index, partition)
            for name in sorted(self.world.topics)
            if (topic := image.topics.get(name)) is not None
            for index, partition in enumerate(topic.partitions)
            if partition.leader > 0 and len(partition.isr) > 1
        ]
        if not found:
            return None
        name, index, partition = self.random.choice(found)
        computers = self.world.computers
        followers = [number for number in partition.replicas if number in partition.isr and number != partition.leader]
        return name, index, computers[partition.leader - 1], computers[followers[0] - 1]

    def now(self, name: str, index: int) -> "PartitionImage | None":
        image = self.world.newest_image()
        topic = image.topics.get(name) if image is not None else None
        return topic.partitions[index] if topic is not None else None

    async def until_left(self, name: str, index: int, number: int) -> bool:
        """Wait until this replica is out of sync, or leads no more."""
        for _ in range(150):
            partition = self.now(name, index)
            if partition is not None and number not in partition.isr and partition.leader > 0:
                return True
            await asyncio.sleep(0.1)
        return False


class InTurn(OfReplicas):
    name = "a follower, then its leader"

    async def strike(self) -> None:
        chosen = self.chosen()
        if chosen is None:
            return
        name, index, leader, follower = chosen
        follower.kill()
        if await self.until_left(name, index, follower.number):
            await asyncio.sleep(0.5 + self.random.random())  # so that something is acknowledged without it
            if leader.is_up:
                leader.kill()
        await self.wait(0.5)
        if not follower.is_up:
            follower.start()
        await asyncio.sleep(self.random.choice((4.0, 12.0)))
        if not leader.is_up:
            leader.start()


class CutLog(OfReplicas):
    name = "a follower without power, its leader killed"
    loses_unflushed = True

    async def strike(self) -> None:
        chosen = self.chosen()
        if chosen is None or not self.world.losses.disk_may_go():
            await asyncio.sleep(0.5)
            return
        _, _, leader, follower = chosen
        killed = self.random.random() < 0.5
        follower.lose_power()
        if killed and leader.is_up:
            leader.kill()
        await self.wait(self.random.choice((0.05, 1.0)))
        with self.world.health.ill(follower):  # its links are slow: it has time to be counted before it has caught up
            self.world.network.delay_seconds[follower.host] = self.random.choice((0.05, 0.3))
            if not follower.is_up:
                follower.start()
            await asyncio.sleep(self.random.choice((4.0, 8.0)))
            self.world.network.delay_seconds.pop(follower.host, None)
        if not leader.is_up:
            leader.start()


class LateLeader(Split, OfReplicas):
    name = "a leader cut off"
    without_seconds = 0.5  # at least: so that something is acknowledged without it

    async def strike(self) -> None:
        chosen = self.chosen()
        if chosen is None or chosen[2] is inspection.controller(self.world):
            await asyncio.sleep(0.5)
            return
        name, index, leader, _ = chosen
        alone, others = leader.host, [host for host in self.hosts() if host != leader.host]
        self.ways = between([alone], others) + between(others, [alone])
        self.world.trace.note(f"{leader.name}, which leads {name}-{index}, is cut off from the other nodes")
        self.cut_off(leader)
        await self.until_left(name, index, leader.number)
        await asyncio.sleep(self.without_seconds + self.random.random())
        self.world.trace.note(f"{leader.name} is no longer cut off")
        await self.heal(name, index, leader)

    def cut_off(self, leader: "Computer") -> None:
        self.world.network.block(self.ways)

    async def heal(self, name: str, index: int, leader: "Computer") -> None:
        self.world.network.unblock(self.ways)
        await self.wait(3.0)


class DelayedProposal(LateLeader):
    name = "a leader's request delayed"
    without_seconds = 3.0

    def chosen(self) -> "tuple[str, int, Computer, Computer] | None":
        for _ in range(10):
            chosen = super().chosen()
            if chosen is not None and chosen[2] is not inspection.controller(self.world):
                return chosen
        return None

    def cut_off(self, leader: "Computer") -> None:
        super().cut_off(leader)
        self.world.network.lose(leader.host, _is_for_controller)

    async def heal(self, name: str, index: int, leader: "Computer") -> None:
        network = self.world.network
        with self.world.health.ill(leader):  # its links are slow, so that it is behind for a while
            network.delay_seconds[leader.host] = 0.3
            network.unblock(self.ways)
            if await self.until_back(name, index, leader.number):
                self.world.trace.note(f"{leader.name} is up and behind; what it asked of the controller arrives")
            network.send_again(leader.host)
            await asyncio.sleep(2.0)
            network.delay_seconds.pop(leader.host, None)

    async def until_back(self, name: str, index: int, number: int) -> bool:
        """Wait until the controller counts this broker as up for good: a connection of before, which it hears the end
        of, may fence it once more. False when it is in sync by then, or not seen."""
        looks = 0
        for _ in range(250):
            image, partition = self.world.newest_image(), self.now(name, index)
            looks = looks + 1 if image is not None and image.is_alive(number) else 0
            if partition is not None and looks == 10:
                return number not in partition.isr
            await asyncio.sleep(0.02)
        return False


def _is_for_controller(packet: bytes) -> bool:
    """A request that a node sends to the active controller: its length, then its API key. Heartbeats are not among
    them; they go to the controller as they are."""
    return packet[4:6] == ENVELOPE.to_bytes(2)
