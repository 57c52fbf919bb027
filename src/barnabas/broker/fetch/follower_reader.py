"""One partition of a follower's fetch: checks that it is a replica, records its offset, and reads what follows."""

from functools import partial
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.api.leadership import check_leader_epoch
from barnabas.broker.fetch.follower_sessions import FollowerSession, Slot
from barnabas.broker.fetch.reader import PartitionRead, diverging_epoch, find_leader, read_slice
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.roles import HostedPartitions
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.disk import ColdRead

if TYPE_CHECKING:
    from barnabas.broker.replication.driver import Replication


class LeadingNode(HostedPartitions, Protocol):
    """Leads partitions that others follow."""

    @property
    def replication(self) -> "Replication": ...


def read_slot(
    node: LeadingNode, session: FollowerSession, slot: Slot, read: PartitionRead, room: int, *, min_one_batch: bool
) -> bool:
    """Fill in the read; True when there is more but no room for it. Without a partition and without an error: it is
    being opened, and the slot is ready again when it is open."""
    named, slot.named = slot.named, False
    try:
        partition = read.partition = find_leader(node, slot)
        slot.attach(partition)
        check_leader_epoch(partition, slot.leader_epoch)
        if session.replica_id not in partition.image.replicas:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "not a replica of this partition")
        if partition.untouched and slot.fetch_offset == 0:
            if named:
                _note(partition, session, slot)
            read.high_watermark = read.log_start_offset = 0
            return False
        if node.replication.open_soon(partition, partition.leadership.recheck_followers):
            read.partition = None
            return False
        throttle = node.replication.leader_throttle
        if throttle.holds_for(partition, session.replica_id) and throttle.wait_seconds(node.replication.loop_time()):
            room, min_one_batch = 0, False  # left out of this answer, and read with the next fetch (KIP-73)
        read.opened = partition.open()
        return _read(read.opened, session, slot, read, room, named, min_one_batch)
    except KafkaError as error:
        read.error_code = int(error.code)
        if read.partition is None:
            slot.attach(None)
        elif error.code is ErrorCode.OFFSET_OUT_OF_RANGE and read.opened is not None:
            _set_offsets(read, read.opened)
    except OSError:
        read.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    return False


def _note(partition: HostedPartition, session: FollowerSession, slot: Slot) -> None:
    """Record the follower's offset. A partition that was never written to has no folder, and gets none for it: after a
    start of the whole cluster that would be thousands."""
    replica = (session.replica_id, session.broker_epoch)
    if not partition.leadership.follower_fetched(
        *replica, slot.fetch_offset, slot.follower_log_start, session.last_fetch_ms
    ):
        raise KafkaError(
            ErrorCode.NOT_LEADER_OR_FOLLOWER, "stale broker epoch in Fetch: the broker has restarted since"
        )


def _read(
    opened: OpenPartition,
    session: FollowerSession,
    slot: Slot,
    read: PartitionRead,
    room: int,
    named: bool,
    min_one_batch: bool,
) -> bool:
    log, offset = opened.log, slot.next_offset
    if named or offset == slot.fetch_offset:
        read.diverging_epoch = diverging_epoch(opened, slot.last_fetched_epoch, slot.fetch_offset)
    end = log.log_end_offset
    if read.diverging_epoch is None:
        if not log.log_start_offset <= offset <= end:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} is not in this log")
        if named:
            _note(opened.partition, session, slot)
        if offset < end:
            if not named:
                opened.partition.leadership.follower_behind(session.replica_id, session.last_fetch_ms)
            if room <= 0 and not min_one_batch:
                _set_offsets(read, opened)
                return True
            limit = min(slot.max_bytes, max(room, 0))
            asked = (read, opened, offset, limit, end, False, min_one_batch)
            try:
                read_slice(*asked, wait=False)
            except ColdRead:
                read.later(partial(read_slice, *asked, wait=True))
    _set_offsets(read, opened)
    return offset < end and read.slice is None and not read.is_cold and read.diverging_epoch is None


def _set_offsets(read: PartitionRead, opened: OpenPartition) -> None:
    read.high_watermark = read.last_stable_offset = opened.high_watermark
    read.log_start_offset = opened.log.log_start_offset
