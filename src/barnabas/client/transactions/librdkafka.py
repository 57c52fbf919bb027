"""One producer's transactions as librdkafka runs them: five calls, retried, and three kinds of error told apart.

    state        from           what may happen
    -----------  -------------  --------------------------------------------------------------------
    new          -              first use: the id is claimed, what its last owner left open is aborted
    ready        new, any end   begin
    open         begin          records, offsets, then commit or abort
    committing   commit         the answer is not there yet: only commit may be asked again
    aborting     abort          likewise
    dead         a fatal error  nothing: fenced, or in a state that librdkafka cannot leave

A retriable error is asked again until `patience_s` is over. One that requires an abort becomes TransactionAborted: the
caller aborts. A fatal one ends the producer: Fenced when a newer one took over. When time runs out in the middle of a
commit, nobody knows yet how it ended; the next transaction finds out before it begins (its coordinator remembers).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as Place

from barnabas.client.common.connection import logger
from barnabas.client.consumer.buffer import Offsets
from barnabas.client.errors import BarnabasError, Closed, Fenced, TimedOut, TransactionAborted, translate
from barnabas.client.producer.fatal_errors import WatchedLibrdkafka

if TYPE_CHECKING:
    from barnabas.client.transactions.transaction import Transaction

State = Literal["new", "ready", "open", "committing", "aborting", "dead"]
SLICE_S = 1.0  # one stay inside librdkafka: Ctrl-C is noticed after it
DRAIN_S = 1.0
PAUSE_S = 0.02  # before a retriable question is asked again


class Transactions:
    def __init__(self, handle: WatchedLibrdkafka, transactional_id: str, patience_s: float, address: str) -> None:
        self.transactional_id = transactional_id
        self.state: State = "new"
        self.current: Transaction | None = None  # open, or its end not answered yet
        self._handle = handle
        self._patience_s = patience_s
        self._address = address
        self._death: BarnabasError | None = None

    def begin(self, transaction: Transaction) -> None:
        """Opens a transaction; the first one claims the transactional id before."""
        self.check_alive()
        if self.state == "new":
            self._call("claim the id", self._handle.init_transactions)
            self.state = "ready"
        if self.state != "ready":
            raise BarnabasError(
                f"{self._named('begin')}: one is open already; a producer has one at a time, and none inside another"
            )
        self._call("begin", lambda _: self._handle.begin_transaction())
        self.state = "open"
        self.current = transaction

    @property
    def is_unfinished(self) -> bool:
        """Was the end of the last one asked for and not answered?"""
        return self.current is not None and self.current.unfinished

    def finish_last(self) -> None:
        if self.current is not None and self.current.unfinished:
            self.current.finish()

    def send_offsets(self, offsets: Offsets, group_metadata: object) -> None:
        """The group's new places become part of the open transaction."""
        places = [Place(*each, offset) for each, offset in sorted(offsets.items())]
        if not places:
            return
        try:  # once and with all the time there is: asked again after a timeout, librdkafka may never return
            self._handle.send_offsets_to_transaction(places, group_metadata, self._patience_s)
        except KafkaException as error:
            raise self._explained(error, self._named("record offsets")) from None

    def commit(self) -> None:
        """All of it, for ever. TransactionAborted: it must be aborted now. TimedOut: nobody knows yet; ask again."""
        self.check_alive()
        self.state = "committing"
        try:
            self._call("commit", self._handle.commit_transaction)
        except TransactionAborted:
            self.state = "open"
            raise
        self.state = "ready"

    def abort(self) -> None:
        """None of it. What is still in the queue is thrown away."""
        self.check_alive()
        self.state = "aborting"
        self._call("abort", self._handle.abort_transaction)
        self.state = "ready"

    def drain(self) -> None:
        """A dead producer's records are settled: as lost, which its end has told already."""
        self._handle.purge()
        with contextlib.suppress(BarnabasError):
            self._handle.flush(DRAIN_S)

    def check_alive(self) -> None:
        if self._death is not None:
            raise self._death

    def close(self, patience_s: float) -> None:
        """The producer ends. Readers need not wait for the timeout of a transaction that nobody will finish."""
        self._patience_s = patience_s
        try:
            if self.state == "committing":
                self.commit()
            if self.state in ("open", "aborting"):
                self.abort()
        except BarnabasError as error:
            logger.error("%s", error)
        self._death = self._death or Closed("this producer is closed")
        self.state = "dead"

    def end(self, death: BarnabasError) -> None:
        """Nothing may be asked any more, and `death` is the reason that is given."""
        self._death, self.state = death, "dead"

    def refusal(self, error: KafkaError, doing: str) -> BarnabasError | None:
        """Why a record is not taken, when the reason is its transaction's."""
        if error.code() == KafkaError._FATAL:
            return self._death or self._handle.fatal or self._fate(doing)
        if error.code() == KafkaError._STATE and self.state == "open":
            return TransactionAborted(
                f"{doing}: an earlier record or step of this transaction failed, so all of it will be aborted"
            )
        return None

    def lost(self, doing: str) -> BarnabasError:
        """Why librdkafka threw a record away. (It is called by librdkafka, which must not be asked meanwhile.)"""
        known = self._death or self._handle.fatal
        return known or TransactionAborted(f"{doing}: thrown away, because its transaction is aborted")

    def _fate(self, doing: str) -> BarnabasError:
        """librdkafka only says "fatal" to a record; what it was, any transactional call tells."""
        try:
            self._handle.begin_transaction()
        except KafkaException as error:
            return self._explained(error, doing)
        raise AssertionError("a producer with a fatal error began a transaction")

    def _call(self, doing: str, function: Callable[[float], object]) -> None:
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                function(max(0.0, min(SLICE_S, deadline - time.monotonic())))
                return
            except KafkaException as error:
                inner: KafkaError = error.args[0]
                again = inner.retriable() or (self.state == "aborting" and inner.txn_requires_abort())
                if not again or time.monotonic() >= deadline:
                    raise self._explained(error, self._named(doing)) from None
            time.sleep(PAUSE_S)

    def _explained(self, error: KafkaException, doing: str) -> BarnabasError:
        inner: KafkaError = error.args[0]
        plain = KafkaError(inner.code()) if inner.code() > 0 else inner  # without librdkafka's numbers and addresses
        reason = translate(plain, doing, self._address)
        if inner.fatal():
            if not isinstance(reason, Fenced):
                reason = BarnabasError(f"{reason}; this producer cannot go on, make a new one", reason.code)
            self._death, self.state = reason, "dead"
            return reason
        if inner.txn_requires_abort():
            return TransactionAborted(str(reason), reason.code)
        if inner.retriable():
            return TimedOut(f"{doing}: no answer from {self._address} within {self._patience_s:g} s")
        return reason

    def _named(self, doing: str) -> str:
        return f"transaction of {self.transactional_id!r}: {doing}"
