"""Sends records again, to the same topic or another: key, value and headers as they are, byte for byte.

At least once: what was sent before a failure or a cancel stays sent. A header says where each record came from, one for
each time that it was sent again, so a loop can be seen. The range is fixed when it begins: records that are sent to the
topic they come from are not sent once more.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from barnabas.browse.record import Record
from barnabas.browse.sending import NewRecord, send_all
from barnabas.browse.topic_log import TopicLog

FROM_HEADER = "barnabas.redriven.from"  # topic-partition-offset
SEND_BYTES = 4 << 20  # records that are read, then sent together


@dataclass(frozen=True, slots=True)
class Found:
    """Some records to be sent again, and how far reading them has come (0 to 1)."""

    records: Sequence[Record]
    share: float


@dataclass(frozen=True, slots=True)
class Manner:
    """`mark`: with the header. `same_partition`: of the number it came from, else by its key. `keep_timestamp`: its
    own, else now; a record that is old enough may be deleted at once."""

    mark: bool = True
    same_partition: bool = False
    keep_timestamp: bool = False


@dataclass(slots=True)
class Redriven:
    """`records` and `bytes` (keys, values, headers) were read, `sent` of them sent; `partitions`: of the source."""

    records: int = 0
    bytes: int = 0
    sent: int = 0
    partitions: dict[int, int] = field(default_factory=dict)
    share: float = 0.0
    done: bool = False


async def redrive(
    source: AsyncIterator[Found], target: TopicLog | None, manner: Manner
) -> AsyncGenerator[Redriven, None]:
    """Sends what the source gives; without a target it only counts, which is the preview."""
    progress = Redriven()
    waiting: list[NewRecord] = []
    weight = 0
    async for found in source:
        for record in found.records:
            again = sent_again(record, manner)
            progress.records += 1
            progress.bytes += _size(record)
            progress.partitions[record.partition] = progress.partitions.get(record.partition, 0) + 1
            if target is not None:
                waiting.append(again)
                weight += again.weight
                if weight >= SEND_BYTES:
                    progress.sent += len(await send_all(target, waiting))
                    waiting, weight = [], 0
                    yield _copy(progress)
        progress.share = found.share
        if target is not None and waiting:
            progress.sent += len(await send_all(target, waiting))
            waiting, weight = [], 0
        yield _copy(progress)
    progress.share, progress.done = 1.0, True
    yield _copy(progress)


def sent_again(record: Record, manner: Manner) -> NewRecord:
    assert not record.truncated, f"{record.place} was cut"
    headers = (*record.headers, (FROM_HEADER, record.place.encode())) if manner.mark else record.headers
    partition = record.partition if manner.same_partition else None
    timestamp = record.timestamp if manner.keep_timestamp and record.timestamp >= 0 else None
    return NewRecord(record.key, record.value, headers, partition, timestamp)


def _size(record: Record) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers


def _copy(progress: Redriven) -> Redriven:
    return replace(progress, partitions=dict(progress.partitions))
