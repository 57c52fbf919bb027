"""Reads for a fetch: from each partition a slice of a segment file, never its bytes.

Order and limits are KIP-74's: partitions in the order the client gave, together at most `max_bytes`, but the first
batch found is always whole, so that a reader of a large batch cannot hang. A partition that cannot be read carries
its error and does not affect the others.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from barnabas.broker.api.leadership import check_leader_epoch, hosted_partition, leader_partition
from barnabas.broker.fetch.preferred_replica import RackView, preferred_replica
from barnabas.broker.fetch.sessions import Wanted
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.roles import HostedPartitions
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import ZERO_UUID
from barnabas.model.limits import ABORTED_PER_FETCH_MAX
from barnabas.storage.disk import ColdRead
from barnabas.storage.reading import offset_after
from barnabas.storage.slice import Slice

READ_AT_ONCE = 1_000  # partitions read before others get their turn; 5 us each


class PartitionRead:
    """What one partition gave."""

    __slots__ = (
        "_again",
        "aborted",
        "diverging_epoch",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "opened",
        "partition",
        "preferred_replica",
        "slice",
        "wanted",
    )

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self._again: Callable[[], None] | None = None  # how to read what was found to lie on the disk only
        self.partition: HostedPartition | None = None
        self.opened: OpenPartition | None = None  # the same, once it was read
        self.error_code = 0
        self.high_watermark = -1
        self.last_stable_offset = -1
        self.log_start_offset = -1
        self.aborted: list[tuple[int, int]] | None = None
        self.slice: Slice | None = None
        self.diverging_epoch: tuple[int, int] | None = None  # (epoch, its end offset)
        self.preferred_replica = -1  # who should be asked in our place (KIP-392)

    @property
    def size(self) -> int:
        return self.slice.length if self.slice is not None else 0

    @property
    def is_news(self) -> bool:
        """Something that the answer of a session has to tell."""
        return (
            self.wanted.has_changed(self.high_watermark, self.log_start_offset)
            or self.slice is not None
            or self.error_code != 0
            or self.diverging_epoch is not None
            or self.preferred_replica >= 0
        )

    @property
    def is_cold(self) -> bool:
        """Not even its place is known yet: finding it would wait for the disk."""
        return self._again is not None

    def read_cold(self) -> None:
        """In a thread: find the slice, however long it takes."""
        if self._again is not None:
            again, self._again = self._again, None
            again()

    def later(self, again: Callable[[], None]) -> None:
        self._again = again

    def leave_out(self) -> None:
        """No records with this answer."""
        self.slice = self._again = None


class ReadingNode(HostedPartitions, RackView, Protocol):
    """What a consumer's fetch reads from: partitions, and who else has them in which rack."""


class Reader(NamedTuple):
    """What a consumer's fetch says of all its partitions."""

    read_committed: bool
    from_followers: bool = False  # version 11 on: it may read where we do not lead (KIP-392)
    rack: str = ""
    may_read: Callable[[str], bool] | None = None  # which topics; None: all of them


def read_all(
    node: ReadingNode, wanted: Iterable[Wanted], max_bytes: int, reader: Reader, found: int = 0
) -> tuple[list[PartitionRead], int, bool]:
    """(reads, bytes found, must the answer leave at once). `found`: bytes that the answer has already."""
    reads: list[PartitionRead] = []
    urgent = False
    aborted_room = ABORTED_PER_FETCH_MAX
    for item in wanted:
        read = PartitionRead(item)
        reads.append(read)
        try:
            aborted_room -= _read_one(node, read, max_bytes - found, reader, aborted_room, min_one_batch=found == 0)
        except (KafkaError, OSError) as error:
            read.error_code = int(error.code if isinstance(error, KafkaError) else ErrorCode.KAFKA_STORAGE_ERROR)
            node.partitions.counts.failed_fetch(item.topic, read.error_code)
            urgent = True
            continue
        found += read.size
        # A slice that ends for the sake of its aborted transactions has more behind it: nothing to wait for.
        urgent = urgent or aborted_room <= 0 or read.diverging_epoch is not None
        urgent = urgent or read.is_cold or read.preferred_replica >= 0
    return reads, found, urgent


async def read_in_turns(
    node: ReadingNode, wanted: Sequence[Wanted], max_bytes: int, reader: Reader
) -> tuple[list[PartitionRead], int, bool]:
    """The same for so many partitions that others would have to wait."""
    reads: list[PartitionRead] = []
    found, urgent = 0, False
    for at in range(0, len(wanted), READ_AT_ONCE):
        some, found, at_once = read_all(node, wanted[at : at + READ_AT_ONCE], max_bytes, reader, found)
        reads += some
        urgent = urgent or at_once
        await asyncio.sleep(0)
    return reads, found, urgent


def _read_one(
    node: ReadingNode, read: PartitionRead, room: int, reader: Reader, aborted_room: int, *, min_one_batch: bool
) -> int:
    """Gives how many aborted transactions the answer will name for this partition, at the most."""
    wanted = read.wanted
    if reader.may_read is not None and not reader.may_read(_topic_name(node, wanted)):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    partition = read.partition = find_hosted(node, wanted) if reader.from_followers else find_leader(node, wanted)
    check_leader_epoch(partition, wanted.leader_epoch)
    opened = read.opened = partition.opened or partition.open()
    log, read_committed = opened.log, reader.read_committed
    offset = wanted.fetch_offset
    if wanted.last_fetched_epoch >= 0:
        read.diverging_epoch = diverging_epoch(opened, wanted.last_fetched_epoch, offset)
        if read.diverging_epoch is not None:
            _set_offsets(read, opened)
            return 0
    if not partition.is_leader and not log.log_start_offset <= offset <= log.log_end_offset:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "this follower does not hold the offset; its leader may")
    if reader.rack and partition.leadership.state is not None:
        read.preferred_replica = preferred_replica(node, partition, reader.rack, offset)
        if read.preferred_replica >= 0:
            _set_offsets(read, opened)
            return 0
    named = 0
    bound = opened.last_stable_offset if read_committed else opened.high_watermark
    if (room > 0 or min_one_batch) and not bound < offset <= log.log_end_offset:
        limit = min(wanted.max_bytes, max(room, 0))
        if read_committed and len(opened.aborted):
            bound = opened.aborted.bound(offset, bound, max(aborted_room, 0))
        asked = (read, opened, offset, limit, bound, read_committed, min_one_batch)
        try:
            read_slice(*asked, wait=False)
        except ColdRead:
            read.later(partial(read_slice, *asked, wait=True))
            named = opened.aborted.ended_between(offset, bound) if read_committed else 0
    if read_committed and read.aborted is None:
        read.aborted = []
    _set_offsets(read, opened)
    return len(read.aborted) if read.aborted else named


def diverging_epoch(opened: OpenPartition, last_fetched_epoch: int, offset: int) -> tuple[int, int] | None:
    """Where the reader's log and ours part ways: our largest epoch not above its last one, and that one's end.

    A leader has the largest of all epochs, but for one that a link fills: its epochs are the source's, and a follower
    that led before may have records of a later one."""
    if last_fetched_epoch < 0:
        return None
    log, asked = opened.log, last_fetched_epoch
    if opened.partition.config.link:
        asked = min(asked, log.epochs.latest)
    epoch, end_offset = log.epochs.end_offset_for(asked, log.log_end_offset)
    if epoch < 0:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, "the epoch of the last fetched record is not known here")
    return (epoch, end_offset) if epoch < last_fetched_epoch or end_offset < offset else None


def read_slice(
    read: PartitionRead,
    opened: OpenPartition,
    offset: int,
    limit: int,
    bound: int,
    read_committed: bool,
    min_one_batch: bool,
    *,
    wait: bool,
) -> None:
    piece = opened.log.read(offset, limit, bound, min_one_batch=min_one_batch, wait=wait)
    if not piece.length:
        return
    read.slice = piece
    if read_committed and len(opened.aborted):
        read.aborted = opened.aborted.between(offset, offset_after(opened.log, piece, bound))


def _set_offsets(read: PartitionRead, opened: OpenPartition) -> None:
    read.high_watermark = opened.high_watermark
    read.last_stable_offset = opened.last_stable_offset
    read.log_start_offset = opened.log.log_start_offset


def find_leader(node: HostedPartitions, wanted: Wanted) -> HostedPartition:
    return leader_partition(node, _topic_name(node, wanted), wanted.index)


def find_hosted(node: HostedPartitions, wanted: Wanted) -> HostedPartition:
    return hosted_partition(node, _topic_name(node, wanted), wanted.index)


def _topic_name(node: HostedPartitions, wanted: Wanted) -> str:
    if wanted.topic_id != ZERO_UUID:
        name = node.image.topic_names.get(wanted.topic_id)
        if name is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        wanted.topic = name
    return wanted.topic
