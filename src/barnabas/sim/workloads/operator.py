"""Somebody who runs the cluster: moves replicas, gives leadership back, adds partitions, while everything else goes on.

What is refused or not answered is tried no further. Added partitions are not written to by others; they only have to
be there, which `Admin` looks at.
"""

from barnabas.sim.workloads.base import Workload
from barnabas.wire.codec import Decoded

_ALTER_REASSIGNMENTS, _LIST_REASSIGNMENTS, _ELECT_LEADERS, _CREATE_PARTITIONS = 45, 46, 43, 37


class Operator(Workload):
    kind = "operator"
    pause_seconds = 2.5
    grown_topic = "grows"

    async def step(self) -> None:
        choice = self.random.random()
        if choice < 0.45:
            await self._move()
        elif choice < 0.55:
            await self._take_back()
        elif choice < 0.85:
            await self._elect()
        else:
            await self._grow()
        self.progressed()

    def _some(self) -> tuple[str, int]:
        names = sorted([*self.world.topics, "__consumer_offsets"])
        name = self.random.choice(names)
        return name, self.random.randrange(self.world.topics.get(name, 2))

    async def _ask_to_move(self, replicas: list[int] | None) -> Decoded:
        topic, index = self._some()
        self.world.trace.note(f"operator: {topic}-{index} to {replicas}")
        part = {"partition_index": index, "replicas": replicas}
        body = {"timeout_ms": 5000, "topics": [{"name": topic, "partitions": [part]}]}
        return await self.client.ask(_ALTER_REASSIGNMENTS, 0, body)

    async def _move(self) -> None:
        nodes = list(range(1, len(self.world.computers) + 1))
        await self._ask_to_move(self.random.sample(nodes, min(3, len(nodes))))
        await self.client.ask(_LIST_REASSIGNMENTS, 0, {"timeout_ms": 5000, "topics": None})

    async def _take_back(self) -> None:
        await self._ask_to_move(None)

    async def _elect(self) -> None:
        await self.client.ask(_ELECT_LEADERS, 2, {"election_type": 0, "topic_partitions": None, "timeout_ms": 5000})

    async def _grow(self) -> None:
        known = self.world.newest_image()
        topic = known.topics.get(self.grown_topic) if known is not None else None
        if topic is None:
            from barnabas.sim.requests import create_topic

            await create_topic(self.client, self.grown_topic, 1, {}, 3)
        elif len(topic.partitions) < 6:
            wanted = {"name": self.grown_topic, "count": len(topic.partitions) + 1, "assignments": None}
            await self.client.ask(
                _CREATE_PARTITIONS, 3, {"topics": [wanted], "timeout_ms": 5000, "validate_only": False}
            )
