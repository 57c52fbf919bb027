"""The network: connections reset, links slow, links blocked in one direction or both."""

import asyncio

from barnabas.sim.faults.base import Fault
from barnabas.sim.network import Way


class Cut(Fault):
    name = "connections cut"

    async def strike(self) -> None:
        for _ in range(self.random.randint(1, 5)):
            ends = self.world.network.connections()
            if ends:
                self.world.trace.note("a connection is cut")
                self.world.network.cut(self.random.choice(ends))
            await asyncio.sleep(self.random.random())


class Slow(Fault):
    name = "slow network"

    async def strike(self) -> None:
        extra = self.random.choice((0.05, 0.5, 3.0))
        self.world.trace.note(f"the network is slow by up to {extra} s")
        self.world.network.delay_seconds[self.computer.host] = extra
        await self.wait(8.0)
        self.world.network.delay_seconds.pop(self.computer.host, None)


class Partitioned(Fault):
    name = "links blocked"

    async def strike(self) -> None:
        network, node = self.world.network, self.computer.host
        hosts = [workload.process.host for workload in self.world.workloads]
        chosen = [host for host in hosts if self.random.random() < 0.6]
        which = self.random.choice(("to", "from", "both"))
        self.world.trace.note(f"links {which} {self.computer.name} are blocked for {len(chosen)} clients")
        ways: list[Way] = []
        for host in chosen:
            ways += [(host, node)] if which != "from" else []
            ways += [(node, host)] if which != "to" else []
        network.block(ways)
        await self.wait(15.0)
        network.unblock(ways)
