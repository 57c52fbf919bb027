"""Members of a classic group of which some never commit, because they keep their offsets elsewhere (as Flink and Spark
do): nothing but the answers to their heartbeats tells them that the group has gone on without them. Others come and go,
and look the coordinator up each time they come.

A heartbeat of an old generation must not be accepted once a later one has its assignment (H8). That holds while every
node is well: the assignment is committed on all replicas, so the node that coordinated the group before has heard that
it no longer does. One that is cut off has not, in Kafka either.
"""

from barnabas.model.errors import ErrorCode
from barnabas.sim.workloads.group_member import ClassicMember


class LastingMember(ClassicMember):
    kind = "lasting member"
    pause_seconds = 0.2
    asked_at = 0.0

    async def commit_one(self) -> None:
        """Its heartbeat was accepted. Its offsets are somewhere else."""
        self.history.heartbeats.append((self.asked_at, self.group, self.generation, self.member_id))

    async def step(self) -> None:
        if self.generation < 0:
            await self._join()
            return
        self.asked_at = self.world.loop.now
        await super().step()


class VisitingMember(ClassicMember):
    kind = "visiting member"
    pause_seconds = 0.2
    heartbeats_left = 0

    async def commit_one(self) -> None:
        """It only takes part."""

    async def step(self) -> None:
        if self.generation < 0:
            if await self.client.find_coordinator(self.group, transaction=False) == ErrorCode.NONE:
                self.heartbeats_left = self.random.randint(1, 8)
                await self._join()
        elif self.heartbeats_left:
            self.heartbeats_left -= 1
            await super().step()
        else:
            await self.finish()
            self.member_id, self.generation, self.owned = "", -1, frozenset()
