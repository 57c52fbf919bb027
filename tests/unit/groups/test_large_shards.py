"""What one turn of the loop takes when a coordinator has thousands of groups, members or offsets."""

import gc
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas.core.groups import GroupConfig, GroupShard
from barnabas.core.groups.records.offset_commit import NO_EXPIRY, CommittedOffset
from tests.unit.groups.stage import Bench, ClassicClient, FakeTopics, commit, fetch

TURN_SECONDS = 0.05
GROUPS, TOPICS = 20_000, 10


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    gc.disable()  # the garbage of other tests is not what is measured
    yield
    gc.enable()


def seconds(work: Callable[[], Any]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def test_a_shard_with_200_000_offsets_is_loaded_in_steps() -> None:
    topics = FakeTopics(**{f"t{number}": 1 for number in range(TOPICS)})
    shard = GroupShard(GroupConfig(), topics, random.Random(1))
    values = {name: CommittedOffset(5, -1, "", 1_000, NO_EXPIRY, topic_id) for name, topic_id in topics.ids.items()}
    for number in range(GROUPS):
        for topic, value in values.items():
            shard._world.offsets.put(f"g{number}", topic, 0, value)  # as a replay does it
    steps = shard.loading(1_000_000)
    took = []
    while True:
        begun = time.process_time()
        if next(steps, 0) == 0:
            break
        took.append(time.process_time() - begun)
    assert len(took) == GROUPS // 1_000
    took.append(seconds(lambda: shard.loaded(1_000_000)))
    while (deadline := shard.next_deadline_ms()) is not None and deadline < 1_001_000:
        took.append(seconds(lambda: shard.tick(1_001_000)))
    assert max(took) < TURN_SECONDS
    assert len(shard.groups) == GROUPS


def test_offsets_of_a_deleted_topic_are_forgotten_in_steps_and_told_to_nobody_meanwhile() -> None:
    bench = Bench(FakeTopics(alpha=1, beta=1))
    for number in range(5_000):
        commit(bench, f"g{number}", {("alpha", 0): 5, ("beta", 0): 6})
    bench.topics.delete("alpha")
    bench.topics.create("alpha", 1)
    written = len(bench.log)
    bench.topics_changed()
    assert 0 < len(bench.log) - written <= 2_000
    commit(bench, "g0", {("alpha", 0): 7})
    assert [fetch(bench, f"g{number}", "alpha", 0).committed_offset for number in (0, 1, 4_999)] == [7, -1, -1]
    assert fetch(bench, "g1", "beta", 0).committed_offset == 6
    bench.advance(10)
    assert fetch(bench, "g0", "alpha", 0).committed_offset == 7
    assert sum(value is None for _, value in bench.log) in (4_999, 5_000), "g0 may have been looked at before it came"


def begins_generation() -> float:
    names = [f"t{number}" for number in range(20)]
    bench = Bench(FakeTopics(**dict.fromkeys(names, 10)))
    for number in range(1_000):
        ClassicClient(bench, name=f"app{number}", topics=names).start()
    begun = time.process_time()
    effects = bench.shard.tick(bench.now_ms + 200)
    took = time.process_time() - begun
    assert len(effects.replies) == 1_000
    return took


def test_a_classic_group_of_a_thousand_begins_its_generation_in_one_turn() -> None:
    assert min(begins_generation() for _ in range(2)) < TURN_SECONDS / 2, "most of it was reading subscriptions"
