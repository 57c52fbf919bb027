"""Markers on their way: from a transaction coordinator to the leaders of the partitions, wherever they are.

Where this node leads, the marker is appended here; to the other leaders it goes by WriteTxnMarkers (27). What waits for
the same node leaves together, in one request, while the last one is on its way; a few lanes keep a partition that
cannot commit from holding up the transactions of all others. A marker that could not be written (no leader, a leader
that moved, a node that is gone) is reported as failed, and the coordinator sends it again to whoever leads then:
writing one twice does no harm.

What each answer means (Kafka's TransactionMarkerRequestCompletionHandler, where it says something else, in brackets):

    NONE                                  written
    UNKNOWN_TOPIC_OR_PARTITION            written if the topic is gone: nothing is left to end; else sent again
    UNSUPPORTED_FOR_MESSAGE_FORMAT        written: no transaction can have been written there
    INVALID_PRODUCER_EPOCH                written, with a warning: the partition is at a later epoch of this producer,
                                          so this marker is refused for ever (Kafka never sends it again; the id stays
                                          in PrepareX until another node coordinates it)
    TRANSACTION_COORDINATOR_FENCED        sent again: whoever fenced it replaces this coordinator, or else the partition
                                          heard of an epoch that this coordinator reaches later (Kafka: as above)
    everything else                       sent again, after a backoff that grows (Kafka throws for codes that must not
                                          come: CORRUPT_MESSAGE, MESSAGE_TOO_LARGE and the like)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.clock import wall_ms
from barnabas.broker.peers.table import Peers
from barnabas.broker.roles import ClusterView
from barnabas.core.cluster.image import NO_LEADER
from barnabas.core.partition.producers import Marker
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import OFFSETS_TOPIC, TopicPartition
from barnabas.model.limits import MARKERS_PER_REQUEST_MAX
from barnabas.wire.apis import WRITE_TXN_MARKERS

if TYPE_CHECKING:
    from barnabas.broker.coordinator.groups import GroupDriver
    from barnabas.broker.partition.opened import OpenPartition
    from barnabas.broker.partition.table import PartitionTable
    from barnabas.core.txn.effects import SendMarkers
    from barnabas.wire.messages import WritableTxnMarkerBody, WriteTxnMarkersRequestBody, WriteTxnMarkersResponse

log = logging.getLogger(__name__)

_EPOCH_BUMP_VERSION = 2  # transaction.version from which a marker's epoch is above its data's (KIP-890)
_LANES = 2
_ANSWER_TIMEOUT_MS = 10_000  # then its leader, or the way to it, is looked at again
_NOTHING_TO_END = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
_CODES = {int(code): code for code in ErrorCode}
Lane = tuple[int, int]  # broker, number
Done = Callable[[list[TopicPartition], list[TopicPartition]], None]


class _Sending:
    """One SendMarkers: counts what is still out and reports once, written and failed."""

    def __init__(self, sent: SendMarkers, done: Done) -> None:
        self.sent = sent
        self.written: list[TopicPartition] = []
        self.failed: list[TopicPartition] = []
        self._out = len(sent.partitions)
        self._done = done

    def outcome(self, partition: TopicPartition, code: ErrorCode, *, topic_is_known: bool) -> None:
        if code is ErrorCode.NONE or (code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not topic_is_known):
            self.written.append(partition)
        elif code in _NOTHING_TO_END:
            log.warning("%s has nothing to end for %r: %s", partition, self.sent.transactional_id, code.name)
            self.written.append(partition)
        else:
            self.failed.append(partition)
        self._out -= 1
        if not self._out:
            self._done(self.written, self.failed)


class MarkerSender:
    def __init__(self, cluster: ClusterView, partitions: PartitionTable, peers: Peers, groups: GroupDriver) -> None:
        self._cluster = cluster
        self._partitions = partitions
        self._peers = peers
        self._groups = groups
        self._queues: dict[Lane, list[tuple[_Sending, list[TopicPartition]]]] = {}
        self._tasks: dict[Lane, asyncio.Task[None]] = {}

    def send(self, sent: SendMarkers, lane: int, done: Done) -> None:
        """Write these markers; `done(written, failed)` is called once, when the fate of each is known."""
        sending = _Sending(sent, done)
        remote: dict[int, list[TopicPartition]] = {}
        here: list[TopicPartition] = []
        for partition in sorted(sent.partitions):
            image = self._cluster.image.partition(*partition)
            leader = self._cluster.node_id if image is None else image.leader
            if leader == self._cluster.node_id:
                here.append(partition)
            else:
                remote.setdefault(leader, []).append(partition)
        for leader, partitions in remote.items():
            self._queue((leader, lane % _LANES), sending, partitions)
        marker = marker_of(sent)
        for partition in here:
            self._write_here(sending, partition, marker)

    def _write_here(self, sending: _Sending, partition: TopicPartition, marker: Marker) -> None:
        try:
            leader, offset = self.write(partition, marker)
        except KafkaError as error:
            self._outcome(sending, partition, error.code)
            return
        leader.when_committed(offset, partial(self._outcome, sending, partition))

    def _outcome(self, sending: _Sending, partition: TopicPartition, code: ErrorCode) -> None:
        sending.outcome(partition, code, topic_is_known=self._cluster.image.partition(*partition) is not None)

    def write(self, partition: TopicPartition, marker: Marker) -> tuple[OpenPartition, int]:
        """Append a marker where we lead; gives the partition and the offset at which the marker is safe."""
        leader = self._partitions.get(*partition)
        if leader is None:
            known = self._cluster.image.partition(*partition) is not None
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(partition)
            )
        opened = leader.open()
        offset = opened.appends.append_marker(marker, wall_ms())
        if partition.topic == OFFSETS_TOPIC:
            self._groups.transaction_ended(partition.partition, marker.producer_id, marker.commit, offset)
        return opened, offset

    # --- to other nodes ---------------------------------------------------------------------------------------------

    def _queue(self, lane: Lane, sending: _Sending, partitions: list[TopicPartition]) -> None:
        self._queues.setdefault(lane, []).append((sending, partitions))
        if lane not in self._tasks:
            self._tasks[lane] = asyncio.ensure_future(self._drain(lane))

    async def _drain(self, lane: Lane) -> None:
        queue = self._queues[lane]
        try:
            while queue:
                batch = queue[:MARKERS_PER_REQUEST_MAX]
                del queue[:MARKERS_PER_REQUEST_MAX]
                codes = await self._ask(lane, batch)
                for (sending, partitions), found in zip(batch, codes, strict=True):
                    for partition in partitions:
                        self._outcome(sending, partition, found.get(partition, ErrorCode.UNKNOWN_SERVER_ERROR))
        finally:
            del self._tasks[lane]

    async def _ask(
        self, lane: Lane, batch: list[tuple[_Sending, list[TopicPartition]]]
    ) -> list[dict[TopicPartition, ErrorCode]]:
        broker_id, number = lane
        nobody = [dict.fromkeys(partitions, ErrorCode.NOT_LEADER_OR_FOLLOWER) for _, partitions in batch]
        if broker_id == NO_LEADER:
            return nobody
        try:
            connection = await self._peers.connection(broker_id, f"markers-{number}")
            body: WriteTxnMarkersRequestBody = {
                "markers": [_item(sending.sent, partitions) for sending, partitions in batch]
            }
            answer: WriteTxnMarkersResponse = await connection.ask(WRITE_TXN_MARKERS, 2, body, _ANSWER_TIMEOUT_MS)
        except OSError:
            return nobody
        if len(answer.markers) != len(batch):
            log.error("broker %d was sent %d markers and spoke of %d", broker_id, len(batch), len(answer.markers))
            return nobody
        return [
            {
                TopicPartition(topic.name, item.partition_index): _CODES.get(
                    item.error_code, ErrorCode.UNKNOWN_SERVER_ERROR
                )
                for topic in marker.topics
                for item in topic.partitions
            }
            for marker in answer.markers
        ]

    def close(self) -> None:
        self._queues.clear()
        for task in list(self._tasks.values()):
            task.cancel()


def marker_of(sent: SendMarkers) -> Marker:
    return Marker(
        sent.producer_id,
        sent.producer_epoch,
        sent.coordinator_epoch,
        sent.commit,
        strictly_newer=sent.transaction_version >= _EPOCH_BUMP_VERSION,
    )


def _item(sent: SendMarkers, partitions: list[TopicPartition]) -> WritableTxnMarkerBody:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return {
        "producer_id": sent.producer_id,
        "producer_epoch": sent.producer_epoch,
        "transaction_result": sent.commit,
        "topics": [{"name": name, "partition_indexes": indexes} for name, indexes in topics.items()],
        "coordinator_epoch": sent.coordinator_epoch,
        "transaction_version": sent.transaction_version,
    }
