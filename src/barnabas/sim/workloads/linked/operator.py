"""Whoever runs the two clusters: makes the link, promotes its topics, and turns the direction, as cli/link does.

Each step is asked again until it is answered, as somebody would type the command again.
"""

import asyncio

from barnabas.sim.client import Client, NoAnswer
from barnabas.sim.history import Partition
from barnabas.sim.linked import requests
from barnabas.sim.linked.pair import Pair, Phase
from barnabas.sim.workloads.base import Workload

_LOOK_S, _QUIET_S = 0.2, 1.0


class LinkOperator(Workload):
    kind = "operator of the link"
    pause_seconds = 1.0

    def __init__(self, pair: Pair) -> None:
        super().__init__(pair.target, "link-operator")
        self.pair = pair
        self.at_source = Client(pair.source, self.name, self.process)

    async def step(self) -> None:
        """Nothing by itself: the scenario says what is done, and when."""
        await asyncio.sleep(0.5)

    async def pause(self) -> None:
        """Of the reversed link, so that what nodes keep no longer changes by itself."""
        client = Client(self.pair.source, self.name, self.process)
        await self.until_answered(lambda: requests.pause(client))
        client.close()

    async def finish(self) -> None:
        self.at_source.close()

    async def make_link(self) -> None:
        await self.until_answered(lambda: requests.create(self.client, self.pair.source))

    async def wait_for(self, topics: list[str]) -> None:
        """Until the link has made them, and filled them to where the source ends."""
        while True:
            try:
                found = await requests.progress(self.client)
                if set(topics) <= {topic for topic, _ in found.ends} and not found.behind:
                    return
            except NoAnswer:
                pass
            await asyncio.sleep(_LOOK_S)

    async def drained(self) -> None:
        """All that the source has is here, for a while, and the offsets of groups that were committed by then."""
        ends: dict[Partition, int] = {}
        quiet_since, quiet_since_ms = self.world.loop.now, self.now_ms()
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                found = await requests.progress(self.client)
            except NoAnswer:
                continue
            if found.behind or found.wrong or found.source_ends != ends or not ends:
                quiet_since, quiet_since_ms, ends = self.world.loop.now, self.now_ms(), found.source_ends
            elif self.world.loop.now - quiet_since >= _QUIET_S and found.synced_ms >= quiet_since_ms:
                return

    async def promote(self) -> None:
        """With what is here. What it says of each partition is remembered: how far the target's log goes."""

        async def look() -> None:
            self.topics = await requests.filled(self.client)
            said = (await requests.progress(self.client)).ends
            self.pair.promised = {partition: end for partition, end in said.items() if partition[0] in self.topics}

        await self.until_answered(look)
        self.pair.phase = Phase.PROMOTING
        self.world.trace.note(f"promotes {self.topics}: {sorted(self.pair.promised.items())}")
        await self.until_answered(lambda: requests.promote(self.client, self.topics))
        self.pair.phase = Phase.PROMOTED

    async def reverse(self, topics: list[str]) -> None:
        self.pair.phase = Phase.REVERSING
        self.world.trace.note(f"reverses {topics}")
        await self.until_answered(lambda: requests.reverse(self.client, self.at_source, topics))
        await self.until_answered(lambda: requests.delete(self.client))
        self.pair.phase = Phase.REVERSED
