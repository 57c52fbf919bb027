"""Before the first batch of a transaction enters a partition, the coordinator must know of it (KIP-890).

Otherwise a batch that arrives after its transaction has ended would open a transaction that nobody ends: it hangs, and
read_committed readers with it. Clients of the old generation have named their partitions, which is verified; for those
that send Produce 12 and later the partition is added now. If the transaction ends while the coordinator is asked, the
batch is refused: it would come behind its marker (transaction_verification.py).
"""

from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import TOPIC, WRITE
from barnabas.broker.api.transaction_verification import Verification, begin, overtaken
from barnabas.broker.network.session import Session
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition
from barnabas.wire.batch import HEADER_BYTES, read_header
from barnabas.wire.produce.request import ProduceRequest, Topics

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ProduceNode
    from barnabas.broker.partition.partition import HostedPartition
    from barnabas.core.partition.producers import Producers

ADDS_PARTITIONS_SINCE = 12
_KNOWS_ABORTABLE_SINCE = 11
_COORDINATOR_ELSEWHERE = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


News = dict[TopicPartition, Verification | None]
"""Partitions that do not know the transaction yet, each with the producer of its batch; None: its log cannot be opened,
so nobody knows, and it is refused: a second opening might succeed, and the batch would enter without being verified."""


def has_transactional(frame: memoryview, topics: Topics) -> bool:
    """Does any batch belong to a transaction?"""
    return any(
        start >= 0 and end - start >= HEADER_BYTES and read_header(frame, start).is_transactional
        for _, _, partitions in topics
        for _, start, end in partitions
    )


def new_to_transaction(
    node: "ProduceNode", session: Session, frame: memoryview, request: ProduceRequest, version: int
) -> News:
    return transactions_of(node, session, frame, request.topics, version, only_new=True)


def transactions_of(
    node: "ProduceNode", session: Session, frame: memoryview, topics: Topics, version: int, *, only_new: bool = False
) -> News:
    """The transactions that the batches belong to, as they stand in their partitions. Topics that the producer may not
    write to belong to none: their batches will be refused."""
    found: News = {}
    for name, topic_id, partitions in topics:
        topic = name if name is not None else node.image.topic_names.get(topic_id or b"")
        if topic is None or (node.access is not None and not node.access.allows(session, WRITE, TOPIC, topic)):
            continue
        for index, start, end in partitions:
            partition = node.partitions.get(topic, index)
            if partition is None or start < 0 or end - start < HEADER_BYTES:
                continue
            header = read_header(frame, start)
            producer = (header.producer_id, header.producer_epoch)
            if not header.is_transactional:
                continue
            known = _producers(partition)
            if known is None:
                found[partition.id] = None
            elif not (only_new and known.has_open_transaction(*producer)):
                found[partition.id] = begin(partition.open(), producer, epoch_rises=version >= ADDS_PARTITIONS_SINCE)
    return found


def _producers(partition: "HostedPartition") -> "Producers | None":
    """None where the log cannot be opened."""
    try:
        return partition.open().producers
    except KafkaError:
        return None


async def enlist(
    node: "ProduceNode", request: ProduceRequest, news: News, version: int
) -> dict[TopicPartition, KafkaError]:
    """What the coordinator refuses, by partition; `version` is that of the Produce request."""
    assert request.transactional_id is not None
    verify_only = version < ADDS_PARTITIONS_SINCE
    closed = [partition for partition, noted in news.items() if noted is None]
    refused = dict.fromkeys(closed, KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the log cannot be opened"))
    for producer in {noted.producer for noted in news.values() if noted is not None}:
        partitions = [partition for partition, noted in news.items() if noted and noted.producer == producer]
        try:
            done = await node.transactions.enlist(
                request.transactional_id, producer, partitions, verify_only=verify_only
            )
        except KafkaError as error:
            code = _known_to(error.code, version)
            refused |= dict.fromkeys(partitions, KafkaError(code, error.message))
            continue
        for partition, found in done.items():
            code = _known_to(found, version)
            if code is not ErrorCode.NONE:
                refused[partition] = KafkaError(code, "the transaction does not know this partition")
    return _overtaken(node, news) | refused


def _overtaken(node: "ProduceNode", news: News) -> dict[TopicPartition, KafkaError]:
    hosted = ((node.partitions.get(*partition), noted) for partition, noted in news.items())
    return {
        partition.id: error
        for partition, noted in hosted
        if partition is not None
        and noted is not None
        and _producers(partition) is not None
        and (error := overtaken(partition.open(), noted))
    }


def _known_to(code: ErrorCode, version: int) -> ErrorCode:
    """Codes a producer acts upon, as in Kafka: what only concerns coordinators becomes "come again"."""
    if code in _COORDINATOR_ELSEWHERE or (
        code is ErrorCode.CONCURRENT_TRANSACTIONS and version < ADDS_PARTITIONS_SINCE
    ):
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < _KNOWS_ABORTABLE_SINCE:
        return ErrorCode.INVALID_TXN_STATE
    return code
