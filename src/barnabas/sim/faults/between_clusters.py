"""The network between two clusters: closed, closed in one direction, reset again and again. Each cluster is well in
itself meanwhile; only what goes from one to the other suffers."""

import asyncio

from barnabas.sim.faults.base import Fault
from barnabas.sim.faults.between_nodes import Split, between
from barnabas.sim.network import Way


def all_ways(fault: Fault) -> list[Way]:
    one, other = ([computer.host for computer in cluster.computers] for cluster in fault.world.clusters)
    return between(one, other) + between(other, one)


class ClustersApart(Split):
    name = "clusters apart"

    async def strike(self) -> None:
        await self.block(all_ways(self), "the clusters do not reach each other")


class ClustersOneWay(Split):
    name = "one way between clusters closed"

    async def strike(self) -> None:
        hosts = {computer.host for computer in self.world.computers}
        ways = [way for way in all_ways(self) if way[0] in hosts]
        await self.block(ways, f"{self.world.name} is not heard by the other cluster")


class NodeApart(Split):
    """One node, which reaches its own cluster, does not reach the other one."""

    name = "a node cut off from the other cluster"

    async def strike(self) -> None:
        ways = [way for way in all_ways(self) if self.computer.host in way]
        await self.block(ways, f"{self.computer.name} does not reach the other cluster")


class ResetsBetweenClusters(Fault):
    name = "resets between clusters"

    async def strike(self) -> None:
        ways = set(all_ways(self))
        for _ in range(self.random.choice((1, 5, 20))):
            ends = [end for end in self.world.network.connections() if (end.host, end.peer.host) in ways]
            if ends:
                end = self.random.choice(ends)
                self.world.trace.note(f"a connection between {end.host} and {end.peer.host} is reset")
                self.world.network.cut(end)
            await asyncio.sleep(self.random.random() * 0.4)
