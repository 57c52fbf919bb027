"""Those who write to linked clusters: a producer that goes over with its sequences, one that writes where it may not,
and one whose topic is deleted and made anew, or loses its oldest records, while the link follows.
"""

import asyncio
from typing import TYPE_CHECKING

from barnabas.model.errors import ErrorCode
from barnabas.sim.client import NoAnswer
from barnabas.sim.history import Partition, Sent
from barnabas.sim.linked.pair import Pair, Phase
from barnabas.sim.requests import batch, create_topic, delete_topic, end_offset, produce
from barnabas.sim.workloads.base import Workload
from barnabas.sim.workloads.idempotent_producer import IdempotentProducer
from barnabas.sim.world import World
from barnabas.wire.apis import DELETE_RECORDS

if TYPE_CHECKING:
    from barnabas.wire.messages import DeleteRecordsResponse


class MovedProducer(IdempotentProducer):
    """Goes on at the target where another stopped at the source: the same producer id, sequences and numbers. Its last
    batch is sent once more, as a client does that did not hear of the acknowledgement: it must be recognised."""

    def __init__(self, world: World, former: IdempotentProducer) -> None:
        self._former: IdempotentProducer | None = former
        super().__init__(world, former.name)
        self.partitions = former.partitions

    async def prepare(self) -> None:
        former, self._former = self._former, None
        if former is None:
            await super().prepare()
            return
        self.producer, self.number, self.sequences = former.producer, former.number, former.sequences
        self.eras = dict.fromkeys(former.sequences, self.era)
        for partition, sequence in sorted(self.sequences.items()):
            last = [s for s in former.history.sent if s.producer == former.name and s.partition == partition][-1]
            if last.acked_at is not None:
                await self._repeat(last, sequence - len(last.values))

    async def _repeat(self, last: Sent, sequence: int) -> None:
        data = batch(last.values, self.now_ms(), self.producer, sequence)
        for _ in range(50):
            try:
                code, offset = await produce(self.client, last.partition, data)
            except NoAnswer:
                code = ErrorCode.REQUEST_TIMED_OUT
            if code == ErrorCode.NONE:
                if offset != last.base_offset:
                    self.problem(f"L1 {last.partition}: {last.values!r} of {last.base_offset} taken again at {offset}")
                return
            if code in (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                return  # recognised, or lost: then the next batch is refused, and `step` looks at that
            await self.backoff()


class Intruder(Workload):
    """Writes to topics that a link fills; each batch has to be refused."""

    kind = "intruder"
    pause_seconds = 1.0
    number = 0

    def __init__(self, pair: Pair, world: World, partitions: list[Partition], refused_in: Phase) -> None:
        self.pair, self.refused_in = pair, refused_in
        super().__init__(world, f"plain-intruder-{world.name}")
        self.partitions = partitions

    async def step(self) -> None:
        if self.pair.phase is not self.refused_in:
            await asyncio.sleep(0.5)
            return
        self.number += 1
        partition = self.random.choice(self.partitions)
        sent = Sent(self.name, partition, (f"{self.name}/{self.number}".encode(),), False, self.world.loop.now)
        self.history.sent.append(sent)
        code, offset = await produce(self.client, partition, batch(sent.values, self.now_ms()))
        if code == ErrorCode.NONE and self.pair.phase is self.refused_in:
            self.problem(f"L6 {partition}: wrote {sent.values[0]!r} at {offset}, though the link fills it")


class Restless(Workload):
    """Two topics of its own at the source: `anew` is deleted and made again, `short` loses its oldest records."""

    kind = "restless producer"
    pause_seconds = 0.3
    number = 0
    topics = ("anew", "short")

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        super().__init__(pair.source, "restless")

    async def prepare(self) -> None:
        for topic in self.topics:
            await self._make(topic)

    async def _make(self, topic: str) -> None:
        configs = {"internal.segment.bytes": "1500", "flush.messages": "1"}
        code = await create_topic(self.client, topic, 1, configs, min(3, len(self.world.computers)))
        if code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            raise NoAnswer(str(code))

    async def step(self) -> None:
        choice = self.random.random()
        if choice < 0.06:
            await self.until_answered(self._delete)
            await asyncio.sleep(self.random.choice((0.0, 1.0)))
            await self.until_answered(lambda: self._make("anew"))
        elif choice < 0.2:
            await self._trim(("short", 0))
        else:
            self.number += 1
            values = tuple(f"{self.name}/{self.number}-{i}".encode() for i in range(self.random.choice((1, 4))))
            topic = self.random.choice(self.topics)
            await produce(self.client, (topic, 0), batch(values, self.now_ms()))
        self.progressed()

    async def _delete(self) -> None:
        self.client.view.forget_leader("anew", 0)
        code = await delete_topic(self.client, "anew")
        if code not in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
            raise NoAnswer(str(code))

    async def _trim(self, partition: Partition) -> None:
        code, end = await end_offset(self.client, partition, committed_only=False)
        if code or end <= 0:
            return
        offset = self.random.randint(max(end - 30, 0), end)
        self.pair.deleted_to[partition] = max(self.pair.deleted_to.get(partition, 0), offset)
        part = {"partition_index": partition[1], "offset": offset}
        body = {"topics": [{"name": partition[0], "partitions": [part]}], "timeout_ms": 5000}
        answer: DeleteRecordsResponse = await self.client.ask_leader(partition, DELETE_RECORDS, 2, body)
        self.client.heard(partition, answer.topics[0].partitions[0].error_code)
