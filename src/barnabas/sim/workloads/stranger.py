"""Somebody who has logged in and may do nothing, and knows who leads: it asks to read, to write, to delete, to make
topics and rules. Every answer has to be a refusal; that of a node which cannot serve the request at all is one too.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from barnabas.model.access import AclOperation, AclPermission, AclResourceType, PatternType
from barnabas.model.errors import ErrorCode
from barnabas.sim.client import Client, NoAnswer
from barnabas.sim.history import Partition
from barnabas.sim.requests import batch, committed_offset, create_topic, delete_topic, fetch, known_topics, produce
from barnabas.sim.workloads.base import Workload
from barnabas.wire.apis import CREATE_ACLS

if TYPE_CHECKING:
    from barnabas.wire.messages import CreateAclsResponse

MARK = b"stranger"
_RULE = {
    "resource_type": int(AclResourceType.TOPIC),
    "resource_name": "*",
    "resource_pattern_type": int(PatternType.LITERAL),
    "principal": f"User:{MARK.decode()}",
    "host": "*",
    "operation": int(AclOperation.ALL),
    "permission_type": int(AclPermission.ALLOW),
}


class _Knowing(Client):
    async def leader(self, partition: Partition) -> tuple[int, int]:
        """What nobody knows who is not told the metadata."""
        topic, index = partition
        image = self.world.newest_image()
        known = None if image is None else image.topics.get(topic)
        if known is None or index >= len(known.partitions) or known.partitions[index].leader < 0:
            raise NoAnswer("nobody leads it")
        return known.partitions[index].leader_epoch, known.partitions[index].leader


class Stranger(Workload):
    kind = "stranger"
    pause_seconds = 0.2
    partitions: list[Partition]
    number = 0

    async def step(self) -> None:
        attempts: tuple[tuple[str, Callable[[Partition], Awaitable[int]]], ...] = (
            ("wrote to", self._write),
            ("read", self._read),
            ("deleted", self._delete),
            ("created a topic like", self._create),
            ("made a rule about", self._allow),
            ("saw offsets of", self._offsets),
            ("saw", self._see),
        )
        done, attempt = self.random.choice(attempts)
        partition = self.random.choice(self.partitions)
        if await attempt(partition) == ErrorCode.NONE:
            self.problem(f"H9 a stranger {done} {partition[0]}-{partition[1]}")
        self.progressed()

    async def prepare(self) -> None:
        self.client = _Knowing(self.world, self.name, self.process)

    async def _write(self, partition: Partition) -> int:
        self.number += 1
        value = MARK + b"/%d" % self.number
        code, _ = await produce(
            self.client, partition, batch((value,), self.now_ms()), acks=self.random.choice((1, -1))
        )
        return code

    async def _read(self, partition: Partition) -> int:
        got = await fetch(self.client, partition, 0, committed_only=False)
        return ErrorCode.NONE if got.records else got.error or ErrorCode.UNKNOWN_SERVER_ERROR

    async def _delete(self, partition: Partition) -> int:
        return await delete_topic(self.client, partition[0])

    async def _create(self, partition: Partition) -> int:
        self.number += 1
        return await create_topic(self.client, f"{MARK.decode()}-{self.number}", 1, {})

    async def _allow(self, partition: Partition) -> int:
        answer: CreateAclsResponse = await self.client.ask(CREATE_ACLS, 3, {"creations": [_RULE]})
        return answer.results[0].error_code

    async def _offsets(self, partition: Partition) -> int:
        code, _ = await committed_offset(self.client, "consumer-group", partition)
        return code

    async def _see(self, partition: Partition) -> int:
        return ErrorCode.NONE if await known_topics(self.client) else ErrorCode.TOPIC_AUTHORIZATION_FAILED
