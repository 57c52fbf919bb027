"""A source's transactional producer: records to batches here, batches to leaders by pipelines/sink/sending.py.

librdkafka takes a record at a time, with a call that costs more than reading a line does. Here the records of a read
are encoded together, and what they have in common once (wire/batch_writing.py). What it promises is what librdkafka
did: transactions that a newer producer of the same id fences, each batch written once (idempotence), keys placed as
Java's clients place them. Transactions are those of Kafka 4.0 and later (KIP-890).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.connect.cluster.batches import Batches, Fenced, told
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.contract import Headers
from barnabas.connect.errors import Unavailable
from barnabas.connect.runtime.encoding import Outgoing
from barnabas.link.errors import LinkDown
from barnabas.model.partitioning import partition_for_key
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.cluster import Again
from barnabas.pipelines.sink.prepared import FENCED, NotOpen, Prepared
from barnabas.pipelines.sink.sending import Place
from barnabas.pipelines.sink.transactions import Transactions
from barnabas.wire.batch_writing import NO_HEADERS, headers_of

log = logging.getLogger("barnabas.connect")

RECORD_MAX_BYTES = 10_000_000  # of key, value and headers; a larger one becomes a dead letter
_PARTITIONS_S = 30.0  # how long the number of a topic's partitions counts, as for librdkafka
_PLACED_MAX = 10_000  # keys whose partition is remembered


@dataclass(slots=True)
class _Together:
    """Records of one partition: with the same headers and time, until one has others."""

    headers: Headers
    timestamp_ms: int
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    times_ms: list[int] | None = None  # None: all the same
    encoded: list[bytes] = field(default_factory=list)  # headers, where they or times differ


def abort_left_open(cluster: Cluster, transactional_id: str, patience_s: float) -> None:
    """Aborts what a process that is gone left open under the id, and fences the process, should it live after all."""
    links = cluster.links(patience_s)
    try:
        with told():
            Transactions(links).begin(transactional_id)
    finally:
        links.close()


class SourceProducer:
    def __init__(self, cluster: Cluster, transactional_id: str) -> None:
        """Takes the id over: whoever had it is fenced, and what they left open is aborted."""
        self._links = cluster.links()
        self._transactions = Transactions(self._links)
        try:
            with told():
                self._prepared = self._transactions.begin(transactional_id)
        except BaseException:
            self._links.close()
            raise
        self._batches = Batches(self._links, self._prepared)
        self._counts: dict[str, int] = {}
        self._counts_until = 0.0
        self._placed: dict[tuple[bytes, int], int] = {}
        self._headers: tuple[Headers, bytes] = ((), NO_HEADERS)  # the last ones, and their bytes

    def write(self, records: Iterable[Outgoing]) -> None:
        """In their order within a partition. A `timestamp_ms` of None is now."""
        now_ms = int(time.time() * 1000)
        self._read_counts()
        groups: dict[Place, _Together] = {}
        for each in records:
            topic, partition = each.topic, each.partition
            number = self._partition(topic, each.key) if partition is None else self._named(topic, partition)
            time_ms, headers = now_ms if each.timestamp_ms is None else each.timestamp_ms, each.headers
            group = groups.get((topic, number))
            if group is None:
                group = groups[topic, number] = _Together(headers, time_ms)
            elif group.times_ms is None and (group.timestamp_ms != time_ms or group.headers != headers):
                group.times_ms = [group.timestamp_ms] * len(group.keys)
                group.encoded = [self._encoded(group.headers)] * len(group.keys)
            if group.times_ms is not None:
                group.times_ms.append(time_ms)
                group.encoded.append(self._encoded(headers))
            group.keys.append(each.key)
            group.values.append(each.value)
        for place, group in groups.items():
            self._add(place, group)

    def _add(self, place: Place, group: _Together) -> None:
        if group.times_ms is None:
            headers = self._encoded(group.headers)
            self._batches.add(place, group.keys, group.values, headers, group.timestamp_ms)
        else:
            self._batches.add_each(place, group.keys, group.values, group.encoded, group.times_ms)

    def write_alike(self, topic: str, values: Sequence[bytes], key: bytes | None, headers: Headers, size: int) -> None:
        """As `write`, with the same key and headers for all; `size` is that of the values together."""
        self._read_counts()
        place, time_ms = (topic, self._partition(topic, key)), int(time.time() * 1000)
        self._batches.add_alike(place, key, values, self._encoded(headers), time_ms, size)

    def write_whole(self, place: Place, batch: memoryview) -> None:
        """A record batch as another cluster has it."""
        self._read_counts()
        self._batches.add_whole((place[0], self._named(*place)), batch)

    def flush(self) -> Mapping[Place, Sequence[tuple[int, int]]]:
        """Everything is in the log, not committed yet: where each batch stands, and how many records it has."""
        self._batches.flush()
        return self._batches.placed

    def send(self) -> None:
        """What is in full batches, without waiting for answers unless too much of it does."""
        self._batches.send()

    def commit(self) -> None:
        """Returns when all records are in the log for good."""
        if not self._batches.has_records:
            return
        self._batches.flush()
        [ended] = self._transactions.commit([self._prepared])
        if isinstance(ended, NotOpen):
            if ended.code in FENCED:
                raise Fenced(str(ended))
            raise Unavailable(f"the cluster takes no transaction: {ended}")
        self._next(ended)

    def abort(self) -> None:
        """Tried once: the next producer of this id aborts what is still open."""
        is_open = self._batches.has_records
        self._batches.give_up()
        if not is_open:
            return
        try:
            self._transactions.abort(self._prepared)
        except (PipelineError, Again, LinkDown) as problem:
            log.debug("%s: abort: %s", self._prepared.transactional_id, problem)

    def close(self) -> None:
        self._links.close()

    def _next(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._batches = Batches(self._links, prepared)

    # --- where records go -------------------------------------------------------------------------------------------

    def _partition(self, topic: str, key: bytes | None) -> int:
        count = self._count(topic)
        if count == 1:
            return 0
        if key is None:
            return self._batches.sticky(topic, count)
        found = self._placed.get((key, count))
        if found is None:
            if len(self._placed) >= _PLACED_MAX:
                self._placed.clear()
            found = self._placed[key, count] = partition_for_key(key, count)
        return found

    def _named(self, topic: str, partition: int) -> int:
        if partition >= self._count(topic):
            self._counts.pop(topic)  # it may have grown just now
        if not 0 <= partition < self._count(topic):
            raise Unavailable(f"topic {topic} has no partition {partition}")
        return partition

    def _count(self, topic: str) -> int:
        count = self._counts.get(topic)
        if count is None:
            self._links.forget_topic(topic)
            count = self._counts[topic] = self._links.partition_count(topic)
        return count

    def _read_counts(self) -> None:
        """A topic may have grown."""
        if time.monotonic() >= self._counts_until:
            self._counts.clear()
            self._counts_until = time.monotonic() + _PARTITIONS_S

    def _encoded(self, headers: Headers) -> bytes:
        if headers is self._headers[0]:
            return self._headers[1]
        encoded = headers_of(headers)
        if type(headers) is tuple:  # a list may be another one the next time
            self._headers = (headers, encoded)
        return encoded
