"""Creates and deletes topics. What was answered must be so for ever after, power loss or not."""

from barnabas.model.errors import ErrorCode
from barnabas.sim.requests import create_topic, delete_topic, known_topics
from barnabas.sim.workloads.base import Workload


class Admin(Workload):
    kind = "admin"
    pause_seconds = 2.0
    number = 0

    @property
    def replicas(self) -> int:
        return min(3, len(self.world.computers))

    async def prepare(self) -> None:
        if not hasattr(self, "there"):
            self.there: set[str] = set()
            self.gone: set[str] = set()

    async def step(self) -> None:
        choice = self.random.random()
        if choice < 0.4 or not self.there:
            self.number += 1
            name = f"{self.name}-{self.number}"
            if await create_topic(self.client, name, self.random.randint(1, 3), {}, self.replicas) == ErrorCode.NONE:
                self.there.add(name)
        elif choice < 0.6:
            name = self.random.choice(sorted(self.there))
            self.there.discard(name)  # until it is answered it may be there or not
            if await delete_topic(self.client, name) == ErrorCode.NONE:
                self.gone.add(name)
        elif len(self.world.computers) == 1:  # of several, one may not have heard yet: compared when faults are over
            await self.compare()
        self.progressed()

    async def compare(self) -> None:
        known = await known_topics(self.client)
        for name in sorted(self.there - known):
            self.problem(f"topic {name} was created, and is not there")
            self.there.discard(name)
        for name in sorted(self.gone & known):
            self.problem(f"topic {name} was deleted, and is there")
            self.gone.discard(name)

    async def finish(self) -> None:
        await self.until_answered(self.compare)
