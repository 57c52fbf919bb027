"""Consume, transform, produce: copies one partition to another, exactly once, whatever happens in between.

The place it has read up to is committed with the copies, in the same transaction. Now and then a second copier with
the same transactional id takes over while the first still lives: the first is then a zombie and must be refused.
"""

from barnabas.model.errors import ErrorCode
from barnabas.sim.client import NoAnswer
from barnabas.sim.history import Partition
from barnabas.sim.requests import committed_offset, fetch
from barnabas.sim.workloads.transactions import Refused, TransactionalProducer


class Copier(TransactionalProducer):
    kind = "copier"
    source: Partition
    target: Partition
    group = "copiers"
    shared_id = "copier"

    @property
    def transactional_id(self) -> str:
        return self.shared_id

    async def prepare(self) -> None:
        if code := await self.client.find_coordinator(self.group, transaction=False):
            raise NoAnswer(str(code))
        await super().prepare()
        self.place = -1

    async def step(self) -> None:
        if self.place < 0 and not await self._find_place():
            return
        got = await fetch(self.client, self.source, self.place, committed_only=True)
        if got.error or not got.records:
            if got.error == ErrorCode.OFFSET_OUT_OF_RANGE and self.world.may_lose(self.source, 0):
                self.finishing = True  # a power loss took its input back; nothing is left to promise
            elif not got.error:
                self.place = max(self.place, got.next_offset)
            return
        chosen = got.records[: self.random.randint(1, 20)]
        self.number += 1
        transaction = self.begin()
        transaction.name = f"{self.name}@{self.place}#{self.number}"
        try:
            await self.write(
                transaction,
                self.target,
                tuple(b"copy %s #%s-%d" % (value, self.name.encode(), self.number) for _, _, value in chosen),
            )
            await self.add_offsets(transaction, self.group, self.source, chosen[-1][1] + 1)
            commit = self.random.random() < 0.85
            await self.end(transaction, commit=commit)
            self.place = chosen[-1][1] + 1 if commit else -1
            self.progressed()
        except Refused as refused:
            self.world.trace.note(f"{self.name}: {transaction.name} refused: {refused}")
            if transaction.outcome == "open":
                transaction.outcome = "aborted"
            await self.until_answered(self.prepare)

    async def _find_place(self) -> bool:
        code, offset = await committed_offset(self.client, self.group, self.source)
        if code:
            return False
        self.place = max(offset, 0)
        return True
