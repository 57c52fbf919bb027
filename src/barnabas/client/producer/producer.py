"""The producer. Its defaults lose nothing: acks from all in-sync replicas, idempotent (no duplicates, no reordering),
two minutes of retries, and a failure that nobody looked at is raised by `flush` and at the end of a `with` block.

    with Producer() as producer:
        producer.send("orders", {"id": 7}, key="7")

`send` only puts the record in librdkafka's queue: batches form there, by size and by time. A full queue makes `send`
wait for room. Any number of threads may share one producer. With a `transactional_id` it sends in transactions only.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from confluent_kafka import KafkaError, KafkaException

from barnabas.client.admin.full_disks import FullDisks
from barnabas.client.common.connection import (
    CONNECT_TIMEOUT_S,
    Troubles,
    bootstrap_or_default,
    ensure_reachable,
    logger,
    open_handle,
)
from barnabas.client.common.exit_hooks import ForkedHandle, never_free, register
from barnabas.client.errors import BadSetting, BarnabasError, TimedOut
from barnabas.client.producer.delivery import WAIT_SLICE_S, Deliveries, Delivery, OnDelivery, Unseen, explain
from barnabas.client.producer.fatal_errors import WatchedLibrdkafka, is_fatal
from barnabas.client.producer.outgoing import (
    Headers,
    listed,
    not_encoded,
    refusal,
    refuse_closed,
    refuse_outside,
    several,
)
from barnabas.client.producer.partitioners import (
    PartitionCounts,
    PartitionerName,
    PartitionFunction,
    Partitioning,
    make_chooser,
)
from barnabas.client.producer.settings import TRANSACTION_TIMEOUT_S, producer_settings
from barnabas.client.serde.records import record_encoder
from barnabas.client.serde.serializers import SerializerLike, encoder
from barnabas.client.serde.shorthands import RegistryLike, SchemaLike, with_registry
from barnabas.client.transactions.librdkafka import Transactions
from barnabas.client.transactions.transaction import Transaction

if TYPE_CHECKING:
    from barnabas.client.consumer.consumer import Consumer

POLL_EVERY = 256  # sends between two looks at librdkafka's answers; a look costs as much as half a send
LIBRDKAFKA_MAX_BYTES = 1_000_000  # its default for message.max.bytes
EXIT_FLUSH_S = 10.0  # a block that already failed does not wait two minutes more


class Producer:
    """Writes records: `send(topic, value, key)` queues one, `.result()` waits for its place in the log.

    `acks` "all", 1 or 0: who must have a record. `delivery_timeout`: seconds of trying. `linger_ms`, `batch_bytes`: how
    long and how large batches grow. `compression` "lz4", "zstd", "gzip" or "snappy". `partitioner` "murmur2" (by key),
    "round_robin", "sticky" or a function. `key_serializer`, `value_serializer`: "json", "string", "bytes", Avro(...),
    Protobuf(...) or a function; with a schema registry (`registry`, its address) "avro", "json-schema", "protobuf".
    `on_delivery(error, record)`: called for every record. `transactional_id`: sends in
    transactions only. docs/python.md has examples of each.
    """

    def __init__(
        self,
        bootstrap: str | None = None,
        *,
        acks: Literal["all", 0, 1, -1] = "all",
        linger_ms: float = 5,
        batch_bytes: int = 1_000_000,
        compression: Literal["gzip", "snappy", "lz4", "zstd", "none"] | None = None,
        idempotent: bool | None = None,
        partitioner: PartitionerName | PartitionFunction = "murmur2",
        key_serializer: SerializerLike = None,
        value_serializer: SerializerLike = None,
        registry: RegistryLike = None,
        schema: SchemaLike = None,
        key_schema: SchemaLike = None,
        delivery_timeout: float = 120.0,
        transactional_id: str | None = None,
        transaction_timeout: float = TRANSACTION_TIMEOUT_S,
        on_delivery: OnDelivery | None = None,
        connect_timeout: float | None = CONNECT_TIMEOUT_S,
        config: Mapping[str, object] | None = None,
        **librdkafka: object,
    ) -> None:
        """`idempotent` left out means: whenever acks allow it. Other settings of librdkafka go in `config` by their own
        names, or as keywords with _ for the dot."""
        key_serializer, value_serializer = with_registry(
            key_serializer, value_serializer, registry, key_schema, schema, "serializer"
        )
        self.bootstrap = bootstrap = bootstrap_or_default(bootstrap)
        self._troubles = Troubles()
        ours = (
            linger_ms,
            batch_bytes,
            compression,
            idempotent,
            delivery_timeout,
            transactional_id,
            transaction_timeout,
        )
        settings = producer_settings(bootstrap, acks, *ours, config, librdkafka)
        handle = open_handle(WatchedLibrdkafka, {**settings, "error_cb": self._troubles}, "producer", Producer)
        self._librdkafka = handle
        self._full_disks = FullDisks(handle, self._troubles.note)
        most = settings.get("message.max.bytes")
        self._max_bytes = int(most) if isinstance(most, (int, float, str)) else LIBRDKAFKA_MAX_BYTES
        if connect_timeout is not None:
            ensure_reachable(self._librdkafka, bootstrap, connect_timeout, self._troubles, settings)
        chooser = make_chooser(partitioner, batch_bytes, linger_ms)
        self.partitioning = Partitioning(chooser, PartitionCounts(handle, bootstrap))
        self._choose = None if chooser is None else self.partitioning.choose
        self.record_encoder = record_encoder(key_serializer, value_serializer)
        self._encode_key = encoder(key_serializer)
        self._encode_value = encoder(value_serializer)
        self._on_delivery = on_delivery
        self._produce: Callable[..., None] = handle.produce
        self._transactions: Transactions | None = None
        if (name := settings.get("transactional.id")) is not None:
            self._transactions = Transactions(handle, str(name), delivery_timeout, bootstrap)
            self._produce = refuse_outside
        self._sends = 0
        self.unseen = Unseen()
        self.undelivered = self.unseen.add
        self._closed = False
        register(self)

    # --- sending -----------------------------------------------------------------------------------------------------

    def send(
        self,
        topic: str,
        value: object = None,
        key: object = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Delivery:
        """Queues one record and returns at once; `.result()` waits for its place in the log."""
        delivery = Delivery(self, topic, on_delivery or self._on_delivery)
        self._enqueue(delivery, topic, value, key, headers, partition, timestamp_ms)
        return delivery

    def send_many(
        self, topic: str, values: Iterable[object], key: object = None, partition: int | None = None
    ) -> Deliveries:
        """Queues a record for each value, with one handle for all of them: cheaper, when the places do not matter."""
        deliveries = Deliveries(self, topic)
        for value in several(values):
            deliveries.sent += 1
            try:
                self._enqueue(deliveries, topic, value, key, None, partition, None)
            except BaseException:
                deliveries.sent -= 1
                raise
        return deliveries

    def _enqueue(self, delivery: Callable[..., None], *record: Any) -> None:  # the rest of what `offer` takes
        while not self.offer(delivery, *record):
            self._librdkafka.poll(WAIT_SLICE_S)  # the queue is full: wait for answers to make room
            self._full_disks.look(len(self._librdkafka))

    def offer(
        self,
        delivery: Callable[..., None],
        topic: str,
        value: object,
        key: object,
        headers: Headers | None,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> bool:
        """Queues a record, or says no because the queue is full. It never waits, but for a partition count."""
        data = value
        try:
            if self.record_encoder is not None:
                data, key, headers = self.record_encoder.encode(topic, value, key, headers)
            else:
                if self._encode_value is not None and value is not None:
                    data = self._encode_value(value)
                if self._encode_key is not None and key is not None:
                    key = self._encode_key(key)
        except Exception as error:
            raise not_encoded(topic, error) from error
        if partition is None:
            partition = -1 if self._choose is None else self._choose(topic, key, value)
        try:
            if headers is None:
                self._produce(topic, data, key, partition, delivery, None, timestamp_ms or 0)
            else:
                self._produce(topic, data, key, partition, delivery, None, timestamp_ms or 0, listed(headers))
        except BufferError:
            return False
        except (KafkaException, TypeError, AttributeError, ValueError) as error:
            if is_fatal(error) and self._transactions is None and (end := self._librdkafka.reason_of_end()) is not None:
                raise end from None
            why = (self.bootstrap, self._max_bytes, self._transactions, partition, timestamp_ms)
            raise refusal(error, topic, data, key, *why) from None
        self._sends += 1
        if not self._sends % POLL_EVERY:
            self._librdkafka.poll(0)
        return True

    def prepare(self, topic: str, value: object, key: object) -> None:
        """Makes the requests to a registry that sending this would make, for whoever must not wait in `offer`."""
        if self.record_encoder is not None:
            try:
                self.record_encoder.encode(topic, value, key, None)
            except Exception as error:  # a serializer may raise anything
                raise not_encoded(topic, error) from error

    # --- transactions ------------------------------------------------------------------------------------------------

    def transaction(self, consumer: Consumer | None = None) -> Transaction:
        """A `with` block whose records are read all or none, with the consumer's places, if one is given."""
        if self._transactions is None:
            raise BadSetting('a transaction needs a name that outlives the program: Producer(transactional_id="...")')
        return Transaction(self, self._transactions, consumer)

    def admit(self, records: bool) -> None:
        """Lets a transactional producer send, or refuses it."""
        if not self._closed:
            self._produce = self._librdkafka.produce if records else refuse_outside

    # --- waiting -----------------------------------------------------------------------------------------------------

    def poll(self, timeout: float = 0) -> int:
        """Runs the callbacks of answers that have come; gives how many."""
        return int(self._librdkafka.poll(timeout))

    def flush(self, timeout: float | None = None) -> None:
        """Waits until every record has its answer. Raises when one failed and nobody was told (no `result()`, no
        callback), or when `timeout` seconds were not enough."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while len(self._librdkafka):
            left = 0.2 if deadline is None else min(0.2, deadline - time.monotonic())
            if left <= 0:
                raise TimedOut(f"flush: {len(self._librdkafka)} records still have no answer after {timeout} s")
            self.wait(left)
        self.unseen.tell()

    def __len__(self) -> int:
        """Records that have no answer yet."""
        return len(self._librdkafka)

    def __bool__(self) -> bool:
        return True

    def close(self, timeout: float | None = None) -> None:
        """Flushes and ends. A closed producer refuses to send."""
        if self._closed:
            return
        try:
            self.flush(timeout)
        finally:
            self.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
            return
        try:
            self.flush(EXIT_FLUSH_S)
        except BarnabasError as trouble:  # the block's own error matters more
            logger.error("%s", trouble)
        self.end()

    def end(self) -> None:
        """Gives up what has no answer and refuses to send from now on."""
        self._closed = True
        self._produce = refuse_closed
        if self._transactions is not None:
            self._transactions.close(EXIT_FLUSH_S)
        self._librdkafka.purge()
        with contextlib.suppress(BarnabasError):
            self._librdkafka.flush(1.0)

    def at_exit(self) -> None:
        self.close(EXIT_FLUSH_S)

    def after_fork(self, forked: ForkedHandle) -> None:
        never_free(self._librdkafka)
        self._librdkafka, self._produce, self._choose = forked, forked.refuse, None
        if self._transactions is not None:
            self._transactions.end(forked.error())
        self._closed = True

    # --- for the handles ---------------------------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        """Lets answers in, and asks librdkafka not to linger meanwhile."""
        self._librdkafka.flush(seconds)
        self._full_disks.look(len(self._librdkafka))

    def explain(self, topic: str, partition: int | None, error: KafkaError) -> BarnabasError:
        return explain(topic, partition, error, self._troubles.last, self._transactions)
