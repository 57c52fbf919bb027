"""The requests workloads make, as functions: arguments in, the one error code and value that matter out."""

from typing import TYPE_CHECKING, NamedTuple

from barnabas.model.errors import ErrorCode
from barnabas.sim.client import Client, NoAnswer
from barnabas.sim.history import Partition
from barnabas.wire.batch import iter_batches
from barnabas.wire.records import Record, build_batch, iter_records

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        CreateTopicsResponse,
        DeleteTopicsResponse,
        FetchResponse,
        InitProducerIdResponse,
        ListOffsetsResponse,
        MetadataResponse,
        OffsetFetchResponse,
        ProduceResponse,
    )

PRODUCE, FETCH, LIST_OFFSETS, OFFSET_COMMIT, OFFSET_FETCH = 0, 1, 2, 8, 9
CREATE_TOPICS, DELETE_TOPICS, INIT_PRODUCER_ID = 19, 20, 22
ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, TXN_OFFSET_COMMIT = 24, 25, 26, 28
METADATA = 3
NO_PRODUCER = (-1, -1)

_REQUEST_MS = 5000
RETRIABLE = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    }
)


class Got(NamedTuple):
    """One partition's part of a fetch."""

    error: int
    high_watermark: int
    last_stable_offset: int
    records: list[tuple[int, int, bytes]]  # base offset of the batch, offset, value
    next_offset: int
    leader_epoch: int = -1  # of the leader that was asked
    node: int = 1  # who answered
    preferred_replica: int = -1  # the leader says: read there (KIP-392)


def batch(
    values: tuple[bytes, ...],
    now_ms: int,
    producer: tuple[int, int] = NO_PRODUCER,
    sequence: int = -1,
    *,
    transactional: bool = False,
) -> bytes:
    records = [Record(i, now_ms, None, value, ()) for i, value in enumerate(values)]
    return bytes(
        build_batch(
            records,
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=sequence,
            transactional=transactional,
        )
    )


async def produce(
    client: Client,
    partition: Partition,
    data: bytes,
    *,
    acks: int = -1,
    transactional_id: str | None = None,
    version: int = 9,
) -> tuple[int, int]:
    """(error code, base offset)."""
    topic, index = partition
    body = {
        "transactional_id": transactional_id,
        "acks": acks,
        "timeout_ms": _REQUEST_MS,
        "topic_data": [{"name": topic, "partition_data": [{"index": index, "records": data}]}],
    }
    answer: ProduceResponse = await client.ask_leader(partition, PRODUCE, version, body)
    part = answer.responses[0].partition_responses[0]
    client.heard(partition, part.error_code)
    return part.error_code, part.base_offset


async def fetch(
    client: Client,
    partition: Partition,
    offset: int,
    *,
    committed_only: bool,
    wait_ms: int = 200,
    rack: str = "",
    replica: int = -1,
) -> Got:
    """From the leader, or from the `replica` that a leader named before."""
    topic, index = partition
    leader_epoch, leader = await client.leader(partition)
    place = {
        "partition": index,
        "current_leader_epoch": leader_epoch,
        "fetch_offset": offset,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": 1 << 16,
    }
    body = {
        "max_wait_ms": wait_ms,
        "min_bytes": 1,
        "max_bytes": 1 << 16,
        "isolation_level": int(committed_only),
        "session_id": 0,
        "session_epoch": -1,
        "topics": [
            {"topic": topic, "partitions": [place | {"current_leader_epoch": leader_epoch, "last_fetched_epoch": -1}]}
        ],
        "forgotten_topics_data": [],
        "rack_id": rack,
    }
    node = replica if replica > 0 else leader
    try:
        answer: FetchResponse = await client.ask(FETCH, 12, body, to=node)
    except NoAnswer:
        client.view.forget_leader(*partition)
        raise
    if answer.error_code:
        return Got(answer.error_code, -1, -1, [], offset, leader_epoch, node)
    part = answer.responses[0].partitions[0]
    client.heard(partition, part.error_code)
    aborted = [(item.producer_id, item.first_offset) for item in part.aborted_transactions or ()]
    records, next_offset = read_batches(part.records or b"", offset, aborted if committed_only else None)
    return Got(
        part.error_code,
        part.high_watermark,
        part.last_stable_offset,
        records,
        next_offset,
        leader_epoch,
        node,
        part.preferred_read_replica,
    )


async def end_offset(client: Client, partition: Partition, *, committed_only: bool) -> tuple[int, int]:
    """(error code, the offset that the next record a reader may see will have)."""
    topic, index = partition
    leader_epoch, _ = await client.leader(partition)
    asked = {"partition_index": index, "current_leader_epoch": leader_epoch, "timestamp": -1}
    body = {
        "replica_id": -1,
        "isolation_level": int(committed_only),
        "topics": [{"name": topic, "partitions": [asked]}],
        "timeout_ms": _REQUEST_MS,
    }
    answer: ListOffsetsResponse = await client.ask_leader(partition, LIST_OFFSETS, 7, body)
    part = answer.topics[0].partitions[0]
    client.heard(partition, part.error_code)
    return part.error_code, part.offset


def read_batches(
    data: bytes | memoryview, offset: int, aborted: list[tuple[int, int]] | None
) -> tuple[list[tuple[int, int, bytes]], int]:
    """The records from `offset` on, as a client decodes them: aborted ones left out where `aborted` is given."""
    records: list[tuple[int, int, bytes]] = []
    view = memoryview(data)
    open_aborted: set[int] = set()
    todo = sorted(aborted or [], key=lambda item: item[1])
    for position, header in iter_batches(view):
        piece = view[position : position + header.size]
        while todo and todo[0][1] <= header.last_offset:
            open_aborted.add(todo.pop(0)[0])
        if header.is_control:
            open_aborted.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in open_aborted):
            for record in iter_records(piece):
                if record.offset >= offset:
                    records.append((header.base_offset, record.offset, record.value or b""))
        offset = max(offset, header.next_offset)
    return records, offset


async def init_producer(
    client: Client, transactional_id: str | None = None, timeout_ms: int = 10_000
) -> tuple[int, tuple[int, int]]:
    body = {
        "transactional_id": transactional_id,
        "transaction_timeout_ms": timeout_ms,
        "producer_id": -1,
        "producer_epoch": -1,
    }
    answer: InitProducerIdResponse
    if transactional_id is None:
        answer = await client.ask(INIT_PRODUCER_ID, 4, body)
    else:
        answer = await client.ask_coordinator(transactional_id, INIT_PRODUCER_ID, 4, body, transaction=True)
        client.heard_coordinator(transactional_id, answer.error_code, transaction=True)
    return answer.error_code, (answer.producer_id, answer.producer_epoch)


async def committed_offset(client: Client, group: str, partition: Partition, *, stable: bool = True) -> tuple[int, int]:
    """(error code, offset), offset -1 when there is none."""
    topic, index = partition
    asked = {"group_id": group, "member_id": None, "member_epoch": -1}
    body = {"groups": [asked | {"topics": [{"name": topic, "partition_indexes": [index]}]}], "require_stable": stable}
    answer: OffsetFetchResponse = await client.ask_coordinator(group, OFFSET_FETCH, 9, body)
    found = answer.groups[0]
    client.heard_coordinator(group, found.error_code)
    if found.error_code:
        return found.error_code, -1
    part = found.topics[0].partitions[0]
    return part.error_code, part.committed_offset


def offsets_body(partition: Partition, offset: int) -> list[dict[str, object]]:
    topic, index = partition
    part = {
        "partition_index": index,
        "committed_offset": offset,
        "committed_leader_epoch": -1,
        "committed_metadata": "",
    }
    return [{"name": topic, "partitions": [part]}]


async def create_topic(
    client: Client, name: str, partitions: int, configs: dict[str, str], replication_factor: int = 1
) -> int:
    topic = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": replication_factor,
        "assignments": [],
        "configs": [{"name": key, "value": value} for key, value in configs.items()],
    }
    answer: CreateTopicsResponse = await client.ask(CREATE_TOPICS, 7, {"topics": [topic], "timeout_ms": _REQUEST_MS})
    code: int = answer.topics[0].error_code
    return code


async def delete_topic(client: Client, name: str) -> int:
    body = {"topics": [{"name": name, "topic_id": bytes(16)}], "timeout_ms": _REQUEST_MS}
    answer: DeleteTopicsResponse = await client.ask(DELETE_TOPICS, 6, body)
    code: int = answer.responses[0].error_code
    return code


async def known_topics(client: Client) -> set[str]:
    answer: MetadataResponse = await client.ask(METADATA, 9, {"topics": None, "allow_auto_topic_creation": False})
    return {topic.name or "" for topic in answer.topics if not topic.error_code}
