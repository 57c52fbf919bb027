"""A producer without idempotence: acks=1 or all, no retry. What was not answered may be there or not."""

from barnabas.model.errors import ErrorCode
from barnabas.sim.history import Partition, Sent
from barnabas.sim.requests import batch, produce
from barnabas.sim.workloads.base import Workload


class PlainProducer(Workload):
    kind = "plain producer"
    pause_seconds = 0.25
    partitions: list[Partition]
    number = 0

    async def step(self) -> None:
        partition = self.random.choice(self.partitions)
        values = tuple(f"{self.name}/{self.number + i}".encode() for i in range(self.random.choice((1, 3, 10))))
        self.number += len(values)
        sent = Sent(self.name, partition, values, False, self.world.loop.now, attempts=1)
        self.history.sent.append(sent)
        acks, era = self.random.choice((1, -1)), self.era
        code, base_offset = await produce(self.client, partition, batch(values, self.now_ms()), acks=acks)
        if code == ErrorCode.NONE:
            if acks == -1:
                sent.acked_at, sent.base_offset, sent.era = self.world.loop.now, base_offset, era
            self.progressed()
        else:
            self.given_up(partition, code)
            sent.error = str(code)
