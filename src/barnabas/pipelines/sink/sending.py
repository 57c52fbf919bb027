"""Record batches to leaders: in order within a partition, each batch written once.

A full batch gets its sequence number and joins its partition's queue; the head of each queue travels, at most one
request to a node at a time, while the next batches are made. A batch that has to be sent again (a leader moved, a
connection broke) is the same bytes with the same sequence number, and stays at the head: the leader knows it again, and
nothing overtakes it.

With a transactional id the batches belong to that id's transaction (Produce 12: the leader adds its partition to the
transaction by itself, KIP-890) and this class never ends it.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.link.codes import is_retriable, name_of
from barnabas.link.errors import LinkDown
from barnabas.model.errors import ErrorCode
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.cluster import FIRST_PAUSE_S, LONGEST_PAUSE_S, Again, Cluster
from barnabas.pipelines.sink.prepared import FENCED, Fenced, Refused, TooOld
from barnabas.wire.apis import PRODUCE
from barnabas.wire.batch_writing import OpenBatch

if TYPE_CHECKING:
    from barnabas.wire.messages import ProduceResponse

PRODUCE_NEWEST = 12
FIRST_VERSION_THAT_ADDS = 12  # partitions join a transaction by being written to
REQUEST_BYTES = 8 * 1024 * 1024
_OF_THE_RECORDS = (
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.INVALID_RECORD,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)

Place = tuple[str, int]


@dataclass
class Partition:
    filling: OpenBatch | None = None
    sequence: int = 0
    ready: deque[bytes] = field(default_factory=deque)
    travelling: bool = False


class BatchSender:
    def __init__(self, cluster: Cluster, producer_id: int, producer_epoch: int, transactional_id: str | None) -> None:
        self._cluster = cluster
        self._options = cluster.options
        self._producer = (producer_id, producer_epoch)
        self._transactional_id = transactional_id
        self._partitions: dict[Place, Partition] = {}
        self._travelling: dict[int, list[Place]] = {}  # node -> partitions whose batches wait for its answer
        self._waiting_bytes = 0
        self._pause_s = 0.0
        self._last_problem = ""
        self._deadline = 0.0

    @property
    def has_records(self) -> bool:
        return bool(self._partitions)

    def flush(self) -> None:
        """Returns when every record is acknowledged by all in-sync replicas."""
        for partition in self._partitions.values():
            self._close(partition)
        self._progress()
        while self._waiting_bytes:
            self._send()
            self._collect(wait=True)

    def give_up(self) -> None:
        """What is not sent is dropped, and answers are not waited for: connections on which one is due are closed."""
        for node_id in self._travelling:
            self._cluster.drop(node_id)
        self._travelling.clear()
        self._partitions.clear()
        self._waiting_bytes = 0

    # --- batches ----------------------------------------------------------------------------------------------------

    def _close(self, partition: Partition) -> None:
        filling = partition.filling
        if filling is None:
            return
        sequence = partition.sequence if self._producer[0] >= 0 else -1
        batch = filling.closed(self._options.compression, self._producer, sequence, self._transactional_id is not None)
        partition.sequence = (partition.sequence + filling.count) & 0x7FFFFFFF  # sequences wrap to 0
        partition.ready.append(batch)
        partition.filling = None
        self._waiting_bytes += len(batch)

    # --- the way out ------------------------------------------------------------------------------------------------

    def _move(self) -> None:
        """Without waiting, as long as there is room for more."""
        self._progress()
        self._collect(wait=False)
        self._send()
        while self._waiting_bytes > self._options.buffer_bytes:
            self._collect(wait=True)
            self._send()

    def _send(self) -> None:
        """A request to every node that has none, with the first batch of each partition it leads."""
        by_node: dict[int, list[Place]] = {}
        try:
            for place, partition in self._partitions.items():
                if partition.ready and not partition.travelling:
                    by_node.setdefault(self._cluster.leader(*place), []).append(place)
        except (Again, LinkDown) as problem:
            self._later(str(problem))
            return
        for node_id, places in by_node.items():
            if node_id in self._travelling:
                continue
            try:
                self._send_to(node_id, places)
            except (Again, LinkDown) as problem:
                self._cluster.drop(node_id)
                self._lost(places, str(problem))

    def _send_to(self, node_id: int, places: list[Place]) -> None:
        link = self._cluster.link(node_id)
        version = link.versions.newest(PRODUCE, PRODUCE_NEWEST)
        if self._transactional_id is not None and version < FIRST_VERSION_THAT_ADDS:
            raise TooOld
        taken: list[Place] = []
        topics: dict[str, list[dict[str, object]]] = {}
        size = 0
        for place in places:
            batch = self._partitions[place].ready[0]
            if taken and size + len(batch) > REQUEST_BYTES:
                break
            size += len(batch)
            taken.append(place)
            topics.setdefault(place[0], []).append({"index": place[1], "records": batch})
        body = {
            "transactional_id": self._transactional_id,
            "acks": -1,
            "timeout_ms": int(self._options.request_timeout_s * 1000),
            "topic_data": [{"name": name, "partition_data": parts} for name, parts in topics.items()],
        }
        link.send(PRODUCE, version, body)
        for place in taken:
            self._partitions[place].travelling = True
        self._travelling[node_id] = taken

    def _collect(self, *, wait: bool) -> None:
        """The answers to what travels: all of them, or those that have come."""
        for node_id, places in list(self._travelling.items()):
            try:
                link = self._cluster.link(node_id)
                if not wait and not link.readable():
                    continue
                del self._travelling[node_id]
                answer = link.receive()
            except (Again, LinkDown) as problem:
                self._cluster.drop(node_id)
                self._travelling.pop(node_id, None)
                self._lost(places, str(problem))
                continue
            self._answered(answer)
        if wait and self._pause_s:
            self._rest()

    def _answered(self, answer: ProduceResponse) -> None:
        for topic in answer.responses:
            for each in topic.partition_responses:
                place = (topic.name, each.index)
                partition = self._partitions[place]
                partition.travelling = False
                code = each.error_code
                if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                    batch = partition.ready.popleft()
                    self._waiting_bytes -= len(batch)
                    self._written(place, batch, -1 if code else each.base_offset)
                    self._progress()
                elif is_retriable(code):
                    if code != ErrorCode.CONCURRENT_TRANSACTIONS:
                        self._cluster.forget_topic(topic.name)
                    self._later(f"{topic.name}-{each.index}: {name_of(code)}")
                elif code in FENCED:
                    raise Fenced(
                        f"{topic.name}-{each.index} refuses the rows of {self._transactional_id}: {name_of(code)}"
                    )
                else:
                    problem = self._refused(place, code, len(partition.ready[0]), each.error_message)
                    raise Refused(problem) if code in _OF_THE_RECORDS else PipelineError(problem)

    def _written(self, place: Place, batch: bytes, base_offset: int) -> None:
        """For whoever wants to know where it stands; -1: the leader had it already, and does not say."""
        return

    def _refused(self, place: Place, code: int, size: int, message: str | None) -> str:
        if code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE):
            return (
                f"topic {place[0]} refuses a batch of {size} bytes: it has a record larger than max.message.bytes,"
                " or kafka.batch.size is larger than that"
            )
        more = f" ({message})" if message else ""
        return f"topic {place[0]}, partition {place[1]} refuses the rows: {name_of(code)}{more}"

    def _lost(self, places: list[Place], why: str) -> None:
        for place in places:
            self._partitions[place].travelling = False
            self._cluster.forget_topic(place[0])
        self._later(why)

    def _later(self, why: str) -> None:
        self._last_problem = why
        self._pause_s = min(max(self._pause_s * 2, FIRST_PAUSE_S), LONGEST_PAUSE_S)

    def _progress(self) -> None:
        self._pause_s = 0.0
        self._deadline = time.monotonic() + self._options.delivery_timeout_s

    def _rest(self) -> None:
        if time.monotonic() > self._deadline:
            raise PipelineError(f"could not write within {self._options.patience}: {self._last_problem}")
        time.sleep(self._pause_s)
