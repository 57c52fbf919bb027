"""A producer whose transactional ids are used once: it ends the transaction or dies in the middle of it, and no later
session of that id comes. What such a transaction left open, only the coordinator can end: by its timeout, or by sending
a marker again. A session that comes back would end it too, and hide that nobody else did.
"""

import asyncio
from contextlib import suppress

from barnabas.sim.history import Transaction
from barnabas.sim.workloads.transactions import Refused, TransactionalProducer


class AbandoningProducer(TransactionalProducer):
    kind = "abandoning producer"
    pause_seconds = 0.2
    timeout_ms = 5_000
    session = 0
    dies = 0.5  # how often it goes without ending its transaction

    @property
    def transactional_id(self) -> str:
        return f"{self.name}-{self.session}"

    async def step(self) -> None:
        self.session += 1
        await self.until_answered(self.prepare)
        transaction = self.begin()
        try:
            for partition in self.random.sample(self.partitions, min(3, len(self.partitions))):
                await self.write(transaction, partition, (self.next_value(),))
            if self.random.random() >= self.dies:
                await self.end(transaction, commit=self.random.random() < 0.7)
            self.progressed()
        except Refused as refused:  # it timed out while its requests were held up; no record of it may be read
            self.world.trace.note(f"{self.name}: {transaction.name} refused: {refused}")


class UnheardProducer(AbandoningProducer):
    """It asks for the end of each transaction and goes at once: nobody asks again, so a decision that a crash took back
    stays taken back, and the transaction is ended the other way."""

    kind = "unheard producer"
    dies = 0.0

    async def end(self, transaction: Transaction, *, commit: bool) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(super().end(transaction, commit=commit), 0.1)
