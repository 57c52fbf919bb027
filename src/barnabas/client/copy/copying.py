"""Consume, transform, produce, exactly once: each input counts once in the output, whatever fails.

    consumer = Consumer("orders", group="taxes", commit="manual")
    producer = Producer(transactional_id="taxes-1")
    barnabas.copy(consumer, producer, add_tax, to="taxed")

Messages are taken in batches. A batch's outputs and the group's new places are one transaction: both count, or neither.
When the cluster aborts it (a fault, a rebalance that took the messages' partition away), the consumer goes back and the
batch is read again by whoever owns it now. No poll happens while a transaction is open, so a rebalance waits for its
end, and only partitions that are still owned are ever recorded.

An exception of the function ends the copy: its batch is aborted, the earlier ones stay. A message that cannot be read
ends it too, after the messages before it. A killed process is replaced by another one with the same group and the same
transactional id, which aborts what the dead one left open.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from barnabas.client.consumer.consumer import Consumer
from barnabas.client.consumer.message import Message
from barnabas.client.copy.outputs import Output, outputs_of
from barnabas.client.errors import BadSetting, DeserializationError, TransactionAborted
from barnabas.client.producer.producer import Producer
from barnabas.client.transactions.source import Source
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition

ABORTS_MAX = 10  # of the same batch in a row; then it is no passing trouble
PAUSE_MIN_S, PAUSE_MAX_S = 0.05, 1.0  # after an abort
_HOPELESS = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)  # trying again cannot help


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy did. Only what was committed is counted in the first three."""

    records_in: int
    records_out: int
    transactions: int
    aborted: int


def copy(
    consumer: Consumer,
    producer: Producer,
    fn: Callable[[Message], object],
    *,
    to: str | None = None,
    batch: int = 1_000,
    linger: float = 0.1,
    max_records: int | None = None,
) -> Copied:
    """Runs until the consumer's loop would end: `consumer.stop()`, its `timeout` of silence, `follow=False` at the end,
    `max_records` (the consumer's, or this one). A transaction takes up to `batch` messages, or what came within
    `linger` seconds of its first.

    `fn(message)` gives None (no output), a value (under the message's key), `(key, value)`, a message, an `Output`, or
    a list or generator of these. `to` is the topic of outputs that do not name one."""
    if batch < 1:
        raise BadSetting("copy: batch is at least 1")
    return _Copy(consumer, producer, fn, to, batch, linger, max_records).run()


class _Copy:
    def __init__(
        self,
        consumer: Consumer,
        producer: Producer,
        fn: Callable[[Message], object],
        to: str | None,
        batch: int,
        linger_s: float,
        max_records: int | None,
    ) -> None:
        self._consumer, self._producer = consumer, producer
        self._reader = consumer._reader
        producer.transaction(consumer)  # refuses what cannot have one
        assert producer._transactions is not None
        self._history = producer._transactions
        self._source = Source(consumer)
        self._fn, self._to = fn, to
        self._batch, self._linger_s = batch, linger_s
        self._left = consumer._max_records if max_records is None else max_records
        self._unreadable: DeserializationError | None = None
        self._records_in = self._records_out = self._transactions = self._aborted = 0

    def run(self) -> Copied:
        aborts = 0
        self._history.finish_last()
        self._source.rewind(certain=True)  # what was looked at before and not recorded is still to do
        try:
            while messages := self._gather():
                try:
                    self._records_out += self._one_transaction(messages)
                except TransactionAborted as error:
                    aborts += 1
                    self._aborted += 1
                    self._unreadable = None  # it comes again with the rest
                    if aborts >= ABORTS_MAX or error.code in _HOPELESS:
                        raise
                    time.sleep(min(PAUSE_MAX_S, PAUSE_MIN_S * 2 ** (aborts - 1)))
                    continue
                aborts = 0
                self._transactions += 1
                self._records_in += len(messages)
                if self._left is not None:
                    self._left -= len(messages)
        except BaseException:
            if not self._history.is_unfinished:  # whose end decides where to go on
                self._source.rewind(certain=True)
            raise
        if (bad := self._unreadable) is not None:
            self._consumer.seek(offset=bad.offset, topic=bad.topic, partition=bad.partition)
            raise bad
        return Copied(self._records_in, self._records_out, self._transactions, self._aborted)

    def _one_transaction(self, messages: list[Message]) -> int:
        count = 0
        with self._producer.transaction(consumer=self._consumer) as transaction:
            for message in messages:
                for output in self._outputs(message):
                    self._producer.send(
                        output.topic or self._nowhere(),
                        output.value,
                        output.key,
                        output.headers or None,
                        output.partition,
                        output.timestamp_ms,
                    )
                    count += 1
            if self._unreadable is not None:  # it was handed out, but it is not done
                done = {TopicPartition(each.topic, each.partition): each.offset + 1 for each in messages}
                transaction.send_offsets(self._consumer, done)
        return count

    def _outputs(self, message: Message) -> Iterator[Output]:
        return outputs_of(self._fn(message), message, self._to)

    def _nowhere(self) -> str:
        raise BadSetting('copy: where to? Give to="topic", or return Output("topic", ...)')

    # --- input -------------------------------------------------------------------------------------------------------

    def _gather(self) -> list[Message]:
        """The next batch; empty when the copy is over."""
        consumer, messages = self._consumer, list[Message]()
        if self._unreadable is not None or consumer._stopped:
            return messages
        room = self._batch if self._left is None else min(self._batch, self._left)
        since = now = time.monotonic()
        closes_at = 0.0
        while len(messages) < room and not (messages and now >= closes_at):
            wait_s = consumer._wait_s(since) if not messages else closes_at - now
            try:
                message = consumer.poll(wait_s)
            except DeserializationError as error:
                self._unreadable = error
                break
            messages = self._still_ours(messages)
            now = time.monotonic()
            if message is not None:
                if not messages:
                    closes_at = now + self._linger_s
                messages.append(message)
            elif consumer._stopped or self._is_over(since, messages):
                break
        return messages

    def _is_over(self, since: float, messages: list[Message]) -> bool:
        if not self._consumer._follow and self._reader.at_end():
            return True
        return not messages and self._consumer._is_quiet(since)

    def _still_ours(self, messages: list[Message]) -> list[Message]:
        """Without those whose partition has left meanwhile: its next owner reads them too."""
        gone = self._reader.taken_away
        if not gone:
            return messages
        kept = [each for each in messages if TopicPartition(each.topic, each.partition) not in gone]
        gone.clear()
        return kept
