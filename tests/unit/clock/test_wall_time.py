"""Wall time that is wrong when a coordinator starts, and right later; or the other way round."""

import random
from typing import Any

import pytest

from barnabas.core.coordinator.contract import RequestInfo
from barnabas.core.groups.config import GroupConfig
from barnabas.core.groups.shard import GroupShard
from barnabas.core.txn import TxnConfig, TxnShard
from barnabas.core.txn.records import decode_value
from barnabas.core.wall_time import WallTime
from barnabas.wire import messages
from tests.unit.groups.stage import FakeTopics

DAY_MS = 24 * 3_600_000
BOOT_MS = 1_700_000_000_000


class Machine:
    """A computer's clocks: `now_ms` runs steadily from any start, `wrong_ms` is how far the wall clock is off."""

    def __init__(self, wrong_ms: int = 0, real_ms: int = BOOT_MS) -> None:
        self.start_ms, self.real_ms, self.wrong_ms = real_ms + wrong_ms, real_ms, wrong_ms
        self.passed_ms = 0

    @property
    def now_ms(self) -> int:
        return self.start_ms + self.passed_ms

    def wall_of(self, now_ms: int) -> int:
        return self.real_ms + (now_ms - self.start_ms) + self.wrong_ms


TOKEN: Any = object()


def shard_of(machine: Machine, log: list[tuple[bytes, bytes | None]]) -> TxnShard:
    shard = TxnShard(TxnConfig(), 0, lambda: 7, lambda group: 0, machine.wall_of)
    for key, value in log:
        shard.replay(key, value)
    log += shard.loaded(machine.now_ms).records
    return shard


def begin(shard: TxnShard, machine: Machine, timeout_ms: int) -> list[tuple[bytes, bytes | None]]:
    init = messages.InitProducerIdRequest(transactional_id="id", transaction_timeout_ms=timeout_ms)
    records = list(shard.handle(init, RequestInfo(22, 4, "", ""), machine.now_ms, TOKEN).records)
    topics = [messages.AddPartitionsToTxnTopic(name="t", partitions=[0])]
    add = messages.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="id",
        v3_and_below_producer_id=7,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=topics,
    )
    return records + list(shard.handle(add, RequestInfo(24, 3, "", ""), machine.now_ms, TOKEN).records)


@pytest.mark.parametrize("before_ms", [-DAY_MS, 0, DAY_MS])
@pytest.mark.parametrize("after_ms", [-DAY_MS, 0, DAY_MS])
def test_a_transaction_times_out_within_one_timeout_of_a_restart(before_ms: int, after_ms: int) -> None:
    log: list[tuple[bytes, bytes | None]] = []
    first = Machine(before_ms)
    log += begin(shard_of(first, log), first, timeout_ms=2_000)
    second = Machine(after_ms, real_ms=BOOT_MS + 500)
    due_ms = shard_of(second, log).next_deadline_ms()
    assert due_ms is not None
    assert 0 <= due_ms - second.now_ms <= 2_000


def test_a_clock_that_is_set_right_does_not_move_a_deadline_and_does_move_what_is_written() -> None:
    machine = Machine(wrong_ms=DAY_MS)
    shard = shard_of(machine, [])
    begin(shard, machine, timeout_ms=2_000)
    deadline_ms = shard.next_deadline_ms()
    machine.wrong_ms, machine.passed_ms = 0, 1_000
    more = messages.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="id",
        v3_and_below_producer_id=7,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=[messages.AddPartitionsToTxnTopic(name="t", partitions=[1])],
    )
    shard.handle(more, RequestInfo(24, 3, "", ""), machine.now_ms, TOKEN)
    assert shard.next_deadline_ms() == deadline_ms == machine.now_ms + 1_000


def test_a_lagging_clock_that_is_set_right_shows_in_the_records_of_the_same_process() -> None:
    machine = Machine(wrong_ms=-DAY_MS)
    shard = shard_of(machine, [])
    machine.wrong_ms, machine.passed_ms = 0, 1_000
    (_, value) = begin(shard, machine, timeout_ms=2_000)[-1]
    assert value is not None
    assert decode_value("id", value).start_ms == BOOT_MS + 1_000


def committed(shard: GroupShard, machine: Machine) -> list[tuple[bytes, bytes | None]]:
    partition = messages.OffsetCommitRequestPartition(committed_offset=5, committed_metadata="")
    topic = messages.OffsetCommitRequestTopic(name="t", partitions=[partition])
    request = messages.OffsetCommitRequest(group_id="g", topics=[topic])
    return list(shard.handle(request, RequestInfo(8, 7, "", ""), machine.now_ms, TOKEN).records)


def group_shard(machine: Machine, log: list[tuple[bytes, bytes | None]]) -> GroupShard:
    shard = GroupShard(GroupConfig(), FakeTopics(t=1), random.Random(1), wall_of=machine.wall_of)
    for key, value in log:
        shard.replay(key, value)
    log += shard.loaded(machine.now_ms).records
    return shard


def checked(shard: GroupShard, machine: Machine) -> int:
    """The next check for expired offsets; how many records it wrote."""
    due_ms = shard.next_deadline_ms()
    assert due_ms is not None
    machine.passed_ms = due_ms - machine.start_ms
    return len(shard.tick(machine.now_ms).records)


def test_offsets_committed_under_a_lagging_clock_are_kept_when_it_is_right() -> None:
    log: list[tuple[bytes, bytes | None]] = []
    right = Machine()
    log += committed(group_shard(right, log), right)
    lagging = Machine(wrong_ms=-60 * DAY_MS, real_ms=BOOT_MS + 60_000)
    shard = group_shard(lagging, log)
    log += committed(shard, lagging)
    lagging.wrong_ms = 0
    assert checked(shard, lagging) == checked(shard, lagging) == 0
    again = Machine(real_ms=BOOT_MS + 120_000)
    shard = group_shard(again, log)
    assert checked(shard, again) == checked(shard, again) == 0


def test_a_clock_that_is_ahead_at_boot_and_set_right_before_the_check_deletes_nothing() -> None:
    log: list[tuple[bytes, bytes | None]] = []
    right = Machine()
    log += committed(group_shard(right, log), right)
    ahead = Machine(wrong_ms=60 * DAY_MS, real_ms=BOOT_MS + 60_000)
    shard = group_shard(ahead, log)
    ahead.wrong_ms = 0
    assert checked(shard, ahead) == checked(shard, ahead) == 0
    ahead.wrong_ms = 60 * DAY_MS  # and when it jumps for a moment
    assert checked(shard, ahead) == 0
    ahead.wrong_ms = 0
    assert checked(shard, ahead) == 0


def test_offsets_expire_under_a_right_clock() -> None:
    log: list[tuple[bytes, bytes | None]] = []
    right = Machine()
    log += committed(group_shard(right, log), right)
    later = Machine(real_ms=BOOT_MS + 8 * DAY_MS)
    assert checked(group_shard(later, log), later) > 0


def test_a_jump_is_believed_when_it_lasts() -> None:
    machine = Machine()
    wall = WallTime(machine.wall_of)
    wall.begin(machine.now_ms)
    assert wall.believed_ms() == BOOT_MS
    machine.wrong_ms = DAY_MS
    wall.begin(machine.now_ms)
    assert wall.believed_ms() == BOOT_MS
    assert wall.believed_ms() == BOOT_MS + DAY_MS
    machine.wrong_ms = 0
    wall.begin(machine.now_ms)
    assert wall.believed_ms() == BOOT_MS, "backward at once: nothing expires too early by it"
