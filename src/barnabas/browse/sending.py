"""Writes records to a topic: a few that a person typed, or many that are sent again.

With acks=all, and tried again when an answer does not come: at least once, so a record may be written twice. Where no
partition is named, the key decides as for Java's producer (murmur2), and records without a key go to one partition.
"""

import random
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.browse.errors import BrowseError
from barnabas.browse.topic_log import Again, TopicLog
from barnabas.link.codes import name_of
from barnabas.model.errors import ErrorCode
from barnabas.model.partitioning import partition_for_key
from barnabas.wire.apis import PRODUCE
from barnabas.wire.records import Headers, build_batch
from barnabas.wire.records import Record as WireRecord

if TYPE_CHECKING:
    from barnabas.wire.messages import PartitionProduceResponse, ProduceResponse

BATCH_BYTES = 512 * 1024  # half of max.message.bytes where nobody has changed it; a larger record goes alone
ANSWER_MS = 30_000  # Kafka's request.timeout.ms
_PRODUCE_BY_NAME, _PRODUCE_NEWEST = 12, 13
_RECORD_BYTES = 100  # lengths, deltas and lists around a record, at most; an estimate
_ALL = -1


class NewRecord(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None  # None: by its key
    timestamp: int | None = None  # None: now

    @property
    def weight(self) -> int:
        headers = sum(len(name) + len(value or b"") + 10 for name, value in self.headers)
        return _RECORD_BYTES + len(self.key or b"") + len(self.value or b"") + headers


class Sent(NamedTuple):
    partition: int
    offset: int


async def send_all(log: TopicLog, records: Sequence[NewRecord]) -> list[Sent]:
    """Where each was written, in the order in which they were given."""
    count = len(await log.open())
    anywhere = random.randrange(count)
    waiting: dict[int, list[int]] = {}
    for number, record in enumerate(records):
        if record.partition is not None and not 0 <= record.partition < count:
            raise BrowseError(f"{log.topic} has no partition {record.partition}: it has {count}")
        by_key = anywhere if record.key is None else partition_for_key(record.key, count)
        waiting.setdefault(by_key if record.partition is None else record.partition, []).append(number)
    sent: dict[int, Sent] = {}
    while waiting:
        taken = {partition: _some(records, numbers) for partition, numbers in waiting.items()}
        now_ms = int(time.time() * 1000)
        batches = {part: _batch([records[each] for each in numbers], now_ms) for part, numbers in taken.items()}
        written = await _produce(log, batches)
        for partition, numbers in taken.items():
            for place, number in enumerate(numbers):
                sent[number] = Sent(partition, written[partition] + place)
            del waiting[partition][: len(numbers)]
            if not waiting[partition]:
                del waiting[partition]
    return [sent[number] for number in range(len(records))]


def _some(records: Sequence[NewRecord], numbers: Sequence[int]) -> list[int]:
    """As many from the beginning as go into one batch."""
    room, taken = BATCH_BYTES, 0
    for number in numbers:
        room -= records[number].weight
        if room < 0 and taken:
            break
        taken += 1
    return list(numbers[:taken])


def _batch(records: Sequence[NewRecord], now_ms: int) -> bytes:
    return bytes(
        build_batch(
            [
                WireRecord(at, now_ms if each.timestamp is None else each.timestamp, each.key, each.value, each.headers)
                for at, each in enumerate(records)
            ],
            leader_epoch=-1,
        )
    )


async def _produce(log: TopicLog, batches: dict[int, bytes]) -> dict[int, int]:
    """The offset that each batch got."""

    async def ask(node_id: int, asked: list[int]) -> dict[int, int | Again]:
        data = [{"index": each, "records": batches[each]} for each in asked]
        body = {
            "transactional_id": None,
            "acks": _ALL,
            "timeout_ms": ANSWER_MS,
            "topic_data": [{"name": log.topic, "topic_id": log.topic_id, "partition_data": data}],
        }
        newest = _PRODUCE_NEWEST if log.has_id else _PRODUCE_BY_NAME
        answer: ProduceResponse = await log.nodes.ask(node_id, PRODUCE, body, newest, ANSWER_MS / 1000)
        parts = answer.responses[0].partition_responses if answer.responses else []
        return {each.index: _judged(log, each) for each in parts}

    return await log.ask_leaders(batches, ask)


def _judged(log: TopicLog, part: "PartitionProduceResponse") -> int | Again:
    code = part.error_code
    if code == ErrorCode.NONE:
        return part.base_offset
    where = f"{log.topic}-{part.index}"
    if code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE):
        raise BrowseError(f"{where} takes no record as large as this: see max.message.bytes of the topic", code)
    if code == ErrorCode.INVALID_RECORD or part.error_message:
        raise BrowseError(f"{where} refused a record: {part.error_message or name_of(code)}", code)
    return log.again(code, "write") or 0
