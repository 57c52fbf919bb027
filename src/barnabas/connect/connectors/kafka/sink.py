"""Records into topics of another cluster, each once.

A batch is one transaction there, together with the offset that comes next: a record of a compacted topic, by connector,
topic and partition. A writer that opens fences whoever wrote the partition before, reads that offset, and goes on with
it.
"""

from __future__ import annotations

import contextlib
import re
import zlib
from collections.abc import Callable, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from barnabas.connect.cluster.compacted import read_table
from barnabas.connect.cluster.connection import Cluster, new_topic
from barnabas.connect.connectors.kafka.other import ClusterOptions, other_cluster
from barnabas.connect.connectors.payloads import Template, payload
from barnabas.connect.contract import Delivered, Options, Rejected, Sink, Value, Writer
from barnabas.connect.errors import BadOption, Refused, Unavailable
from barnabas.connect.options import read_options
from barnabas.connect.values.formats import BadValue

_PARTITIONS = 16
_CALL_S = 30.0
_TRANSACTION_MS = 60_000
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
# What a broker says of a record, and would say again.
_OF_THE_RECORD = (
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._INVALID_ARG,
)
_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)


class KafkaSinkOptions(ClusterOptions, kw_only=True, forbid_unknown_fields=True):
    topic: str = "{topic}"
    keep_partitions: bool = False
    offsets_topic: str = ""
    max_bytes: int = 10_000_000
    compression: str = "lz4"


class KafkaSink(Sink):
    def __init__(self, name: str, given: Options) -> None:
        self._name = name
        self._options = options = read_options("kafka", KafkaSinkOptions, given)
        self._cluster = other_cluster(options)
        self._template = Template("option 'topic' of kafka", options.topic)
        self._offsets_topic = options.offsets_topic or f"{name}.offsets"
        if not _TOPIC.fullmatch(self._offsets_topic):
            raise BadOption(f"option 'offsets_topic' of kafka: {self._offsets_topic!r} cannot name a topic")
        if not 1000 <= options.max_bytes <= 1_000_000_000:
            raise BadOption(f"option 'max_bytes' of kafka: {options.max_bytes} is not between 1000 and 1000000000")

    def open(self, topic: str, partition: int) -> KafkaWriter:
        offsets = self._offsets(topic, partition)
        return KafkaWriter(self._cluster, offsets, self._options, self._template)

    def _offsets(self, topic: str, partition: int) -> OffsetKey:
        self._cluster.check()
        self._cluster.ensure_topics([new_topic(self._offsets_topic, _PARTITIONS, cleanup_policy="compact")])
        count = len(self._cluster.partitions_of(self._offsets_topic))
        return OffsetKey(self._name, topic, partition, self._offsets_topic, count)

    def reset(self, topic: str, partition: int, offset: int) -> None:
        writer = self.open(topic, partition)
        try:
            writer.write((), offset)
        finally:
            writer.close()


class OffsetKey:
    """Where the next offset of a partition is kept."""

    def __init__(self, connector: str, topic: str, partition: int, kept_in: str, count: int) -> None:
        self.key = f"{connector}/{topic}/{partition}".encode()
        self.transactional_id = f"barnabas-connect-{connector}-{topic}-{partition}"
        self.topic, self.partition = kept_in, zlib.crc32(self.key) % count

    def read(self, cluster: Cluster) -> int | None:
        """The reader waits for transactions of other partitions that are kept beside it, which are short."""
        value = read_table(cluster, self.topic, [self.partition]).get(self.key)
        if value is None:
            return None
        if not value.isdigit():
            raise Unavailable(f"topic {self.topic} at {cluster.bootstrap} has no offset for {self.key.decode()}")
        return int(value)


class KafkaWriter(Writer):
    def __init__(self, cluster: Cluster, offsets: OffsetKey, options: KafkaSinkOptions, template: Template) -> None:
        self._cluster, self._offsets, self._options, self._template = cluster, offsets, options, template
        self._failures: dict[int, KafkaError] = {}  # by their place in the batch
        self._producer = self._new_producer()
        self._is_broken = False
        self._next = offsets.read(cluster)

    def _new_producer(self) -> Producer:
        producer = self._cluster.producer(
            transactional_id=self._offsets.transactional_id,
            transaction_timeout_ms=_TRANSACTION_MS,
            linger_ms=5,
            compression_type=self._options.compression,
            batch_num_messages=100_000,
            message_max_bytes=self._options.max_bytes,
            partitioner="murmur2_random",  # as Java's clients place keys
        )
        self._call("take the partition over", lambda: producer.init_transactions(_CALL_S))
        return producer

    def next_offset(self) -> int | None:
        return self._next

    def write(self, records: Sequence[Delivered], next_offset: int) -> Sequence[Rejected]:
        rejected: list[Rejected] = []
        good: list[tuple[int, str, bytes | None, bytes | None]] = []
        for place, record in enumerate(records):
            try:
                topic = self._template.fill(record)
                if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
                    raise BadValue(f"{topic[:100]!r} cannot name a topic")
                good.append((place, topic, _bytes(record.key), _bytes(record.value)))
            except BadValue as problem:
                rejected.append(Rejected(record, str(problem)))
        if self._is_broken:
            self.close()
            self._producer, self._is_broken = self._new_producer(), False
        self._failures = {}
        self._call("begin a transaction", self._producer.begin_transaction)
        try:
            for place, topic, key, value in good:
                self._produce(records[place], place, topic, key, value)
            self._produce_offset(next_offset)
            self._call("write", lambda: self._producer.flush(_CALL_S))
            self._raise_failures(len(good))
            self._call("commit", lambda: self._producer.commit_transaction(_CALL_S))
        except (Unavailable, Refused):
            self._abort()
            raise
        self._next = next_offset
        return rejected

    def _produce(self, record: Delivered, place: int, topic: str, key: bytes | None, value: bytes | None) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self._failures[place] = error

        while True:
            try:
                self._producer.produce(
                    topic,
                    value,
                    key,
                    record.partition if self._options.keep_partitions else -1,
                    on_delivery=delivered,
                    timestamp=record.timestamp_ms,
                    headers=list(record.headers),
                )
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(0.05)
            except KafkaException as problem:
                error = problem.args[0]
                if error.code() in _OF_THE_RECORD:
                    raise Refused(f"cluster {self._cluster.bootstrap}: {error.str()}", (place,)) from None
                raise self._unavailable("write", error) from None
            except SystemError:
                raise self._fenced() from None  # see _call

    def _produce_offset(self, next_offset: int) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self._failures[-1] = error

        offsets = self._offsets
        value = str(next_offset).encode()
        self._call(
            "write",
            lambda: self._producer.produce(offsets.topic, value, offsets.key, offsets.partition, on_delivery=delivered),
        )

    def _raise_failures(self, count: int) -> None:
        if not self._failures:
            return
        self._is_broken = True  # librdkafka does not number records on behind one that a broker refused
        refused = {place: error for place, error in self._failures.items() if error.code() in _OF_THE_RECORD}
        others = [error for place, error in self._failures.items() if place not in refused]
        # Records that were in the queue behind one that failed are purged: that says nothing about them.
        purged = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
        if refused and all(error.code() in purged for error in others):
            text = f"cluster {self._cluster.bootstrap}: {next(iter(refused.values())).str()}"
            # A broker refuses a whole batch of its protocol, so several may be named for the sake of one.
            raise Refused(text, tuple(refused) if len(refused) == 1 and count > 1 else ())
        raise self._unavailable("write", others[0])

    def _abort(self) -> None:
        try:
            self._producer.abort_transaction(_CALL_S)
        except (KafkaException, SystemError):
            return  # fenced or broken: whoever opens the partition next has it aborted

    def _call(self, doing: str, work: Callable[[], object]) -> None:
        try:
            work()
        except KafkaException as problem:
            raise self._unavailable(doing, problem.args[0]) from None
        except BufferError:
            raise Unavailable(f"cluster {self._cluster.bootstrap} takes nothing: the queue is full") from None
        except SystemError:
            # confluent-kafka 2.16 loses the exception of a fatal error when a log line follows it. Being fenced is the
            # only one that is expected here.
            raise self._fenced() from None

    def _unavailable(self, doing: str, error: KafkaError) -> Unavailable:
        if error.code() in _FENCED or (error.code() == KafkaError._FATAL and "fenced" in error.str()):
            return self._fenced()
        return Unavailable(f"cluster {self._cluster.bootstrap} cannot {doing}: {error.str()}")

    def _fenced(self) -> Unavailable:
        return Unavailable(f"another worker writes {self._offsets.key.decode()} to {self._cluster.bootstrap}")

    def close(self) -> None:
        with contextlib.suppress(KafkaException, SystemError):  # of a producer that has failed
            self._producer.purge()
            self._producer.flush(1)


def _bytes(value: Value) -> bytes | None:
    return None if value is None else payload(value)
