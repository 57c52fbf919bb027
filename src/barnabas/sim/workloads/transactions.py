"""A producer of transactions, in both generations of the protocol, and what a session of it knows.

Generation 1 adds partitions and offsets to the transaction by requests of their own; generation 2 (KIP-890) lets the
leader add a partition at its first batch, and every end of a transaction gives the next epoch. An end that is not
answered is asked again until it is; when it cannot be known (fenced, timed out meanwhile) the outcome is "unknown", and
the checkers accept both, but still the whole transaction or nothing of it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.model.errors import ErrorCode
from barnabas.sim.client import NoAnswer
from barnabas.sim.history import Partition, Sent, Transaction
from barnabas.sim.requests import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    NO_PRODUCER,
    RETRIABLE,
    TXN_OFFSET_COMMIT,
    batch,
    init_producer,
    offsets_body,
    produce,
)
from barnabas.sim.workloads.base import Workload
from barnabas.wire.codec import Decoded

if TYPE_CHECKING:
    from barnabas.wire.messages import EndTxnResponse

_V1 = {"produce": 9, "end": 4, "offsets": 3}
_V2 = {"produce": 12, "end": 5, "offsets": 5}
TIMEOUT_MS = 10_000


class Refused(Exception):
    """An error that ends this session of the transactional id, or at least this transaction."""

    def __init__(self, code: int) -> None:
        super().__init__(ErrorCode(code).name)
        self.code = code


class TransactionalProducer(Workload):
    kind = "transactional producer"
    pause_seconds = 0.3
    partitions: list[Partition]
    generation = 2
    timeout_ms = TIMEOUT_MS
    producer = NO_PRODUCER
    number = 0

    @property
    def transactional_id(self) -> str:
        return self.name

    async def prepare(self) -> None:
        code = await self.client.find_coordinator(self.transactional_id, transaction=True)
        if not code:
            code, producer = await init_producer(self.client, self.transactional_id, self.timeout_ms)
        if code:
            raise NoAnswer(str(code))
        self.producer = producer
        self.sequences: dict[Partition, int] = {}
        self.enlisted: set[Partition] = set()

    async def step(self) -> None:
        transaction = self.begin()
        try:
            for _ in range(self.random.randint(1, 4)):
                values = tuple(self.next_value() for _ in range(self.random.choice((1, 3))))
                await self.write(transaction, self.random.choice(self.partitions), values)
            if self.random.random() < 0.03:
                await self.forget()  # a client that crashes in the middle; its transaction must not stay open
                return
            await self.end(transaction, commit=self.random.random() < 0.7)
            self.progressed()
        except Refused as refused:
            self.world.trace.note(f"{self.name}: {transaction.name} refused: {refused}")
            await self.until_answered(self.prepare)
            if transaction.outcome == "open":
                transaction.outcome = "aborted"  # the new session ended whatever the old one had begun

    async def forget(self) -> None:
        self.client.close()
        await self.until_answered(self.prepare)

    def begin(self) -> Transaction:
        transaction = Transaction(f"{self.transactional_id}:{self.number}", self.world.loop.now)
        self.history.transactions.append(transaction)
        self.enlisted = set()
        return transaction

    def next_value(self) -> bytes:
        self.number += 1
        return f"{self.name}/{self.number}".encode()

    # --- the parts of a transaction ---------------------------------------------------------------------------------

    async def write(self, transaction: Transaction, partition: Partition, values: tuple[bytes, ...]) -> None:
        if self.generation == 1 and partition not in self.enlisted:
            await self._enlist(partition)
        self.enlisted.add(partition)
        sent = Sent(self.name, partition, values, True, self.world.loop.now, transaction.name)
        self.history.sent.append(sent)
        transaction.values.extend((partition, value) for value in values)
        sequence = self.sequences.get(partition, 0)
        data = batch(values, self.now_ms(), self.producer, sequence, transactional=True)
        versions = _V1 if self.generation == 1 else _V2
        while True:
            sent.attempts += 1
            era = self.era
            try:
                code, base_offset = await produce(
                    self.client,
                    partition,
                    data,
                    transactional_id=self.transactional_id,
                    version=versions["produce"],
                )
            except NoAnswer:
                await self.backoff()
                continue
            if code == ErrorCode.NONE:
                sent.acked_at, sent.base_offset, sent.era = self.world.loop.now, base_offset, era
                self.sequences[partition] = sequence + len(values)
                return
            if code not in RETRIABLE or self.given_up(partition, code):
                sent.error = ErrorCode(code).name
                self.check_refusal(f"a batch for {partition[0]}-{partition[1]}", code)
                raise Refused(code)
            await self.backoff()

    def check_refusal(self, what: str, code: int) -> None:
        """With an epoch for each transaction a live producer is fenced or not, and never in a wrong state."""
        if self.generation == 2 and code == ErrorCode.INVALID_TXN_STATE:
            self.problem(f"H4 {what} was refused with INVALID_TXN_STATE at epoch {self.producer[1]}")

    async def _enlist(self, partition: Partition) -> None:
        body = {
            "v3_and_below_transactional_id": self.transactional_id,
            "v3_and_below_producer_id": self.producer[0],
            "v3_and_below_producer_epoch": self.producer[1],
            "v3_and_below_topics": [{"name": partition[0], "partitions": [partition[1]]}],
        }
        await self.insist(
            ADD_PARTITIONS_TO_TXN,
            3,
            body,
            lambda answer: answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code,
        )

    async def add_offsets(self, transaction: Transaction, group: str, partition: Partition, offset: int) -> None:
        who = {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer[0],
            "producer_epoch": self.producer[1],
            "group_id": group,
        }
        if self.generation == 1:
            await self.insist(ADD_OFFSETS_TO_TXN, 3, who, lambda answer: answer.error_code)
        body = who | {"generation_id": -1, "member_id": "", "topics": offsets_body(partition, offset)}
        version = (_V1 if self.generation == 1 else _V2)["offsets"]
        await self.insist(
            TXN_OFFSET_COMMIT, version, body, lambda answer: answer.topics[0].partitions[0].error_code, group=group
        )
        transaction.offsets[group, partition] = offset

    async def end(self, transaction: Transaction, *, commit: bool) -> None:
        body = {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer[0],
            "producer_epoch": self.producer[1],
            "committed": commit,
        }
        version = (_V1 if self.generation == 1 else _V2)["end"]
        transaction.outcome = "unknown"
        answer: EndTxnResponse = await self.insist(END_TXN, version, body, lambda answer: answer.error_code)
        transaction.outcome = "committed" if commit else "aborted"
        transaction.era = self.era
        if self.generation == 2:
            before, self.producer = self.producer, (answer.producer_id, answer.producer_epoch)
            if before != self.producer:
                self.sequences = {}

    async def insist(
        self,
        api_key: int,
        version: int,
        body: dict[str, object],
        code_of: Callable[[Decoded], int],
        group: str | None = None,
    ) -> Decoded:
        """Ask the coordinator of the transaction, or of the `group`, until it says yes; Refused when it says no."""
        key, transaction = (group, False) if group is not None else (self.transactional_id, True)
        while True:
            try:
                answer = await self.client.ask_coordinator(key, api_key, version, body, transaction=transaction)
            except NoAnswer:
                await self.backoff()
                continue
            code = code_of(answer)
            self.client.heard_coordinator(key, code, transaction=transaction)
            if code == ErrorCode.NONE:
                return answer
            if code not in RETRIABLE:
                if api_key == TXN_OFFSET_COMMIT:
                    self.check_refusal("offsets", code)
                raise Refused(code)
            await self.backoff()


class BackToBackProducer(TransactionalProducer):
    """Bursts of small transactions, each begun as soon as the end of the one before is answered: its markers are still
    on their way to the partitions, which lie on several nodes."""

    kind = "back-to-back producer"
    pause_seconds = 0.7

    async def step(self) -> None:
        for _ in range(self.random.randint(2, 6)):
            transaction = self.begin()
            try:
                for partition in self.random.sample(self.partitions, min(2, len(self.partitions))):
                    await self.write(transaction, partition, (self.next_value(),))
                await self.end(transaction, commit=self.random.random() < 0.8)
                self.progressed()
            except Refused as refused:
                self.world.trace.note(f"{self.name}: {transaction.name} refused: {refused}")
                await self.until_answered(self.prepare)
                if transaction.outcome == "open":
                    transaction.outcome = "aborted"
                return
