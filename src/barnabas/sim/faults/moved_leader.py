"""Leadership of a coordinator's partition goes to another node while every node is well: the one that led stays up and
reachable, so whoever does not look the coordinator up again goes on asking it.
"""

import asyncio

from barnabas.model.ids import OFFSETS_TOPIC
from barnabas.sim.client import Client, NoAnswer
from barnabas.sim.faults.base import Fault
from barnabas.sim.process import Process

_ALTER_REASSIGNMENTS, _ELECT_LEADERS = 45, 43


class MovedCoordinator(Fault):
    name = "a coordinator moved"

    async def strike(self) -> None:
        image = self.world.newest_image()
        topic = image.topics.get(OFFSETS_TOPIC) if image is not None else None
        if topic is None:
            await asyncio.sleep(0.5)
            return
        index = self.random.randrange(len(topic.partitions))
        replicas = topic.partitions[index].replicas
        wanted = [*replicas[1:], replicas[0]]
        self.world.trace.note(f"{OFFSETS_TOPIC}-{index} is led by node {wanted[0]} from now on")
        client = Client(self.world, "mover", Process("mover", f"{self.world.subnet}.2.1"))
        part = {"partition_index": index, "replicas": wanted}
        move = {"timeout_ms": 5000, "topics": [{"name": OFFSETS_TOPIC, "partitions": [part]}]}
        elected = {"topic": OFFSETS_TOPIC, "partitions": [index]}
        try:
            await client.ask(_ALTER_REASSIGNMENTS, 0, move)
            body = {"election_type": 0, "topic_partitions": [elected], "timeout_ms": 5000}
            await client.ask(_ELECT_LEADERS, 2, body)
        except NoAnswer:
            pass
        finally:
            client.close()
        await asyncio.sleep(2.0 + 4.0 * self.random.random())
