"""What members may bring: no record larger than its topic takes, and a sum for the node."""

import random
from typing import Any

import pytest

from barnabas.broker.coordinator.batches import RecordTooLarge, batches_of
from barnabas.core.groups import GroupConfig, GroupShard
from barnabas.core.groups.budget import MetadataBudget
from barnabas.model.errors import ErrorCode
from barnabas.model.limits import GROUP_MEMBER_METADATA_MAX_BYTES, GROUP_RECORD_MAX_BYTES
from tests.unit.groups.stage import Bench, ClassicClient, ConsumerClient, FakeTopics, join_body, stable_group

BATCH_MAX = 1_048_588


def largest(bench: Bench) -> int:
    return max(len(key) + len(value or b"") for key, value in bench.log)


def metadata(size: int) -> list[dict[str, Any]]:
    return [{"name": "range", "metadata": bytes(size)}]


def test_joins_of_95_megabytes_are_refused() -> None:
    bench = Bench()
    for _ in range(3):
        answer = bench.call("join", join_body(protocols=metadata(95_000_000)), version=3)
        assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert bench.log == []
    assert GROUP_MEMBER_METADATA_MAX_BYTES < 95_000_000


def test_a_group_whose_record_would_be_too_large_takes_no_further_member() -> None:
    bench = Bench()
    members = [ClassicClient(bench, protocols=metadata(300_000)).start() for _ in range(3)]
    full = bench.call("join", join_body(protocols=metadata(300_000)))
    assert full.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    small = ClassicClient(bench, protocols=metadata(100)).start()
    stable_group(bench, *members, small)
    assert 900_000 < largest(bench) < BATCH_MAX
    bench.reload()


def test_an_assignment_that_fits_no_record_is_refused_for_everybody() -> None:
    bench = Bench()
    one, two = ClassicClient(bench).start(), ClassicClient(bench).start()
    bench.advance(4_000)
    leader, other = (one, two) if one.joined().leader == one.joined().member_id else (two, one)
    leader.joined()
    other.joined()
    waits = other.sync()
    given = leader.sync({leader.member_id: bytes(600_000), other.member_id: bytes(600_000)})
    assert bench.answers[waits].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert bench.answers[given].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert largest(bench) < GROUP_RECORD_MAX_BYTES
    assert other.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    leader.rejoin()
    other.rejoin()
    stable_group(bench, leader, other)


def test_a_subscription_that_fits_no_record_is_refused() -> None:
    bench = Bench()
    names = [f"{number:0200}" for number in range(6_000)]
    answer = ConsumerClient(bench, "m").join(subscribed_topic_names=names)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert bench.log == []


def test_an_expression_that_stands_for_very_many_topics_is_still_loaded() -> None:
    topics = FakeTopics(**{"t" + "x" * 200 + str(number): 1 for number in range(6_000)})
    bench = Bench(topics)
    member = ConsumerClient(bench, "m", topics=())
    answer = member.join(subscribed_topic_names=None, subscribed_topic_regex="t.*")
    assert answer.error_code == 0
    member.beat()  # a thread matched the names
    member.beat()  # and another one made the assignment
    assert sum(map(len, member.owned.values())) == 6_000
    assert all(len(value or b"") < BATCH_MAX for key, value in bench.log if key[:2] == b"\x00\x10")
    bench.reload()
    assert member.beat().error_code == 0
    assert sum(map(len, member.owned.values())) == 6_000


def test_the_sum_of_the_node_is_bounded_and_what_goes_away_is_noticed() -> None:
    shards: list[GroupShard] = []
    budget = MetadataBudget(lambda: sum(shard.metadata_bytes() for shard in shards), limit=1_000_000)
    bench = Bench(FakeTopics(alpha=4))
    bench.shard = GroupShard(GroupConfig(), bench.topics, random.Random(1), budget)
    shards.append(bench.shard)
    members = [
        ClassicClient(bench, group=f"g{number}", protocols=metadata(300_000)).start(version=3) for number in range(3)
    ]
    more = join_body("another", protocols=metadata(300_000))
    assert bench.call("join", more, version=3).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    for member in members:
        stable_group(bench, member)
    members[0].leave()
    bench.advance(2_000)
    again = ClassicClient(bench, group="another", protocols=metadata(300_000)).start(version=3)
    stable_group(bench, again)


def test_a_step_that_writes_much_writes_several_batches() -> None:
    records = [(b"k" * 20, b"v" * 80) for _ in range(30_000)]
    parts = list(batches_of(records, BATCH_MAX))
    assert len(parts) > 1
    assert [record for part in parts for record in part] == records
    assert all(sum(len(key) + len(value or b"") for key, value in part) < BATCH_MAX for part in parts)
    assert list(batches_of(records[:5], BATCH_MAX)) == [records[:5]]
    with pytest.raises(RecordTooLarge):
        list(batches_of([(b"k", b"v" * 2_000_000)], BATCH_MAX))
