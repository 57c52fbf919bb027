"""The network between nodes: one of them cut off, the cluster in halves, a way that is closed in one direction, a
bridge (two halves that both reach one node), links that are slow, connections that are reset again and again.

A blocked link holds what is sent, as TCP would send it again: it arrives when the link is open again, minutes late.
Clients stay on the side they are drawn for, or reach everybody.
"""

import asyncio
from collections.abc import Iterable

from barnabas.sim.faults.base import Fault
from barnabas.sim.network import Way


def between(some: Iterable[str], others: Iterable[str]) -> list[Way]:
    """Every way from the ones to the others."""
    others = list(others)
    return [(here, there) for here in some for there in others if here != there]


class Split(Fault):
    """What the faults of this file share: ways that are blocked for a while."""

    def hosts(self) -> list[str]:
        return [computer.host for computer in self.world.computers]

    def clients(self, share: float) -> list[str]:
        hosts = [workload.process.host for workload in self.world.workloads]
        return [host for host in hosts if self.random.random() < share]

    async def block(self, ways: list[Way], what: str) -> None:
        self.world.trace.note(what)
        with self.world.health.split(ways):
            self.world.network.block(ways)
            await self.wait(self.random.choice((2.0, 8.0, 25.0)))
            self.world.network.unblock(ways)
        self.world.trace.note(f"no longer: {what}")


class CutOff(Split):
    """One node reaches nobody of the others; some clients reach it, some the others, some all."""

    name = "a node cut off"

    async def strike(self) -> None:
        alone, others = self.computer.host, [host for host in self.hosts() if host != self.computer.host]
        ways = between([alone], others) + between(others, [alone])
        near, far = self.clients(0.3), self.clients(self.random.choice((0.0, 0.5)))
        ways += between(far, [alone]) + between([alone], far)
        ways += [way for way in between(near, others) if way[0] not in far]
        await self.block(ways, f"{self.computer.name} is cut off from the other nodes")


class OneWay(Split):
    """A node is not heard, or does not hear."""

    name = "one way closed"

    async def strike(self) -> None:
        alone, others = self.computer.host, [host for host in self.hosts() if host != self.computer.host]
        chosen = others if self.random.random() < 0.5 else [self.random.choice(others)]
        if self.random.random() < 0.5:
            await self.block(between([alone], chosen), f"{self.computer.name} is not heard by {len(chosen)} nodes")
        else:
            await self.block(between(chosen, [alone]), f"{self.computer.name} does not hear {len(chosen)} nodes")


class Bridge(Split):
    """Two halves that do not reach each other, and one node that reaches both."""

    name = "bridge"

    async def strike(self) -> None:
        others = [host for host in self.hosts() if host != self.computer.host]
        self.random.shuffle(others)
        left, right = others[: len(others) // 2], others[len(others) // 2 :]
        await self.block(between(left, right) + between(right, left), f"the others meet only in {self.computer.name}")


class Halves(Split):
    """Two parts, each with the clients that are on its side."""

    name = "halves"

    async def strike(self) -> None:
        hosts = self.hosts()
        self.random.shuffle(hosts)
        cut = len(hosts) // 2 + (self.random.random() < 0.5)
        left, right = hosts[:cut], hosts[cut:]
        with_left = self.clients(0.5)
        with_right = [w.process.host for w in self.world.workloads if w.process.host not in with_left]
        left, right = left + with_left, right + with_right
        await self.block(between(left, right) + between(right, left), f"{cut} nodes here, {len(hosts) - cut} there")


class SlowNode(Fault):
    """Its links take long; at times longer than the quorum's patience."""

    name = "slow links of a node"

    async def strike(self) -> None:
        extra = self.random.choice((0.02, 0.3, 1.5, 4.0))
        self.world.trace.note(f"the links of {self.computer.name} are slow by up to {extra} s")
        with self.world.health.ill(self.computer):
            self.world.network.delay_seconds[self.computer.host] = extra
            await self.wait(10.0)
            self.world.network.delay_seconds.pop(self.computer.host, None)


class Resets(Fault):
    """Connections between nodes are reset, many times; what was on its way may have arrived or not."""

    name = "resets between nodes"

    async def strike(self) -> None:
        hosts = set(self.hosts())
        for _ in range(self.random.choice((1, 5, 30))):
            ends = [end for end in self.world.network.connections() if {end.host, end.peer.host} <= hosts]
            if ends:
                end = self.random.choice(ends)
                self.world.trace.note(f"a connection between {end.host} and {end.peer.host} is reset")
                self.world.network.cut(end)
            await asyncio.sleep(self.random.random() * 0.5)

    def hosts(self) -> list[str]:
        return [computer.host for computer in self.world.computers]
