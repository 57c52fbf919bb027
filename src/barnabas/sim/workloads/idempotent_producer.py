"""An idempotent producer (acks=all): it sends a batch with the same sequence until it knows, and never skips one.

When the broker refuses a sequence, records it had acknowledged are gone. That is legal only where the topic's level
allows the loss; then it begins anew under a new producer id, as Kafka's producer does.
"""

from barnabas.model.errors import ErrorCode
from barnabas.sim.client import NoAnswer
from barnabas.sim.history import Partition, Sent
from barnabas.sim.requests import NO_PRODUCER, RETRIABLE, batch, init_producer, produce
from barnabas.sim.workloads.base import Workload

_LOST_STATE = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.INVALID_PRODUCER_EPOCH)


class IdempotentProducer(Workload):
    kind = "idempotent producer"
    partitions: list[Partition]
    producer = NO_PRODUCER
    number = 0

    async def prepare(self) -> None:
        code, producer = await init_producer(self.client)
        if code:
            raise NoAnswer(str(code))
        self.producer = producer
        self.sequences: dict[Partition, int] = {}
        self.eras: dict[Partition, int] = {}

    async def step(self) -> None:
        partition = self.random.choice(self.partitions)
        count = self.random.choice((1, 1, 2, 5))
        values = tuple(f"{self.name}/{self.number + i}".encode() for i in range(count))
        self.number += count
        sent = Sent(self.name, partition, values, True, self.world.loop.now)
        self.history.sent.append(sent)
        sequence = self.sequences.get(partition, 0)
        data = batch(values, self.now_ms(), self.producer, sequence)
        while True:
            sent.attempts += 1
            era = self.era  # an answer may come from before a power loss, so what counts is when it was asked for
            try:
                code, base_offset = await produce(self.client, partition, data)
            except NoAnswer:
                await self.backoff()
                continue
            if code == ErrorCode.NONE:
                sent.acked_at, sent.base_offset, sent.era = self.world.loop.now, base_offset, era
                self.sequences[partition] = sequence + count
                self.eras[partition] = era
                self.progressed()
                return
            if self.given_up(partition, code):
                sent.error = "damaged"
                return
            if code in RETRIABLE or code == ErrorCode.CORRUPT_MESSAGE:
                await self.backoff()
                continue
            sent.error = ErrorCode(code).name
            if code in _LOST_STATE:
                if not self.world.may_lose(partition, self.eras.get(partition, self.era)):
                    self.problem(f"{sent.error} for sequence {sequence} on {partition}, after acknowledged ones")
            else:
                self.problem(f"{sent.error} on {partition}")
            await self.until_answered(self.prepare)
            return
