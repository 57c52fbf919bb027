"""A transaction as a `with` block: what it sends is read whole, or not at all.

    producer = Producer(transactional_id="billing-1")
    with producer.transaction():
        producer.send("invoices", ...)
        producer.send("ledger", ...)

The end of the block commits. An exception in it aborts, and goes on its way. When the cluster does not take the commit,
the transaction is aborted and TransactionAborted is raised: nothing of it will be read, and doing it again is safe.

With a consumer its places belong to the transaction as well: `transaction(consumer=consumer)` records how far it has
read when the block commits, and sends it back to where it was when the block aborts, so that its messages come again.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from barnabas.client.common.connection import logger
from barnabas.client.errors import BarnabasError, TransactionAborted
from barnabas.client.transactions.librdkafka import Transactions
from barnabas.client.transactions.source import Source
from barnabas.model.ids import TopicPartition

if TYPE_CHECKING:
    from barnabas.client.consumer.consumer import Consumer
    from barnabas.client.producer.producer import Producer


class Transaction:
    """Made by `Producer.transaction`; each is used once."""

    def __init__(self, producer: Producer, transactions: Transactions, consumer: Consumer | None) -> None:
        self._producer = producer
        self._transactions = transactions
        self._sources: list[Source] = [] if consumer is None else [Source(consumer)]
        self._sent: set[int] = set()  # consumers whose offsets are in it already
        self._over = False
        self.unfinished = False  # its end was begun and not answered

    @property
    def is_over(self) -> bool:
        return self._over

    def begin(self) -> None:
        if self._over:
            raise BarnabasError("this transaction is over: ask the producer for another one")
        self._transactions.finish_last()
        self._transactions.begin(self)
        self._producer.admit(True)

    def send_offsets(self, consumer: Consumer, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """Records, in this transaction, how far `consumer` has read: everything it has handed out, or what `offsets`
        says (the next offset of each partition). A block with `consumer=` does it by itself at its end."""
        if self._over:
            raise BarnabasError("send_offsets: this transaction is over")
        source = next((each for each in self._sources if each.consumer is consumer), None)
        if source is None:
            source = Source(consumer)
            self._sources.append(source)
        self._transactions.send_offsets(source.offsets(offsets), source.group_metadata())
        self._sent.add(id(consumer))

    def abort(self) -> None:
        """Takes everything back now, without an exception. What the block sends after it is refused."""
        if not self._over:
            self._roll_back()

    def commit(self) -> None:
        """What the end of the block does. TimedOut: it is not known how it ended; the next transaction finds out."""
        try:
            if self._transactions.state == "open":
                self._complete()
            self._transactions.commit()
        except BaseException as error:
            self.unfinished = True
            if self._transactions.state == "dead":
                self._end()
                self._go_back(certain=False)
            elif self._transactions.state == "open":
                self._roll_back()
                if isinstance(error, BarnabasError):
                    raise TransactionAborted(f"the transaction was aborted: {error}", error.code) from error
            raise
        self._end()
        for source in self._sources:
            source.settle()

    def finish(self) -> None:
        """Goes on where time ran out before."""
        if self._transactions.state == "committing":
            self.commit()
        elif self._transactions.state == "aborting":
            self._roll_back()

    def _complete(self) -> None:
        """Every record has its answer, and the places of the consumers are in."""
        self._producer.admit(False)
        self._producer.flush()
        for source in self._sources:
            if id(source.consumer) not in self._sent:
                self.send_offsets(source.consumer)

    def _roll_back(self) -> None:
        self._producer.admit(False)
        self.unfinished = True
        try:
            self._transactions.abort()
        finally:
            self._producer.unseen.forget()  # they belong to what is taken back
            if self._transactions.state in ("ready", "dead"):
                self._end()
        self._go_back(certain=True)

    def _go_back(self, certain: bool) -> None:
        for source in self._sources:
            source.rewind(certain)

    def _end(self) -> None:
        self._over = True
        if self._transactions.state == "dead":
            self._transactions.drain()
            self._producer.unseen.forget()
        self._transactions.current = None
        self._producer.admit(False)

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._over:
            return
        if kind is None:
            self.commit()
            return
        try:
            self._roll_back()
        except BarnabasError as trouble:  # the block's own error matters more; the next transaction will tell
            logger.error("%s", trouble)
