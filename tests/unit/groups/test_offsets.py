"""Committed offsets: kept, returned unchanged, forgotten when their time has come."""

from barnabas.core.groups import GroupConfig
from tests.unit.groups.stage import Bench, ClassicClient, ConsumerClient, FakeTopics, commit, fetch, stable_group

MINUTE_MS = 60_000


def test_metadata_and_leader_epoch_come_back_unchanged() -> None:
    bench = Bench()
    text = "état: ✓ {json: 1}"
    assert commit(bench, "simple", {("alpha", 1): 42}, metadata=text) == [0]
    found = fetch(bench, "simple", "alpha", 1)
    assert (found.committed_offset, found.metadata, found.committed_leader_epoch) == (42, text, 3)
    bench.reload()
    assert fetch(bench, "simple", "alpha", 1) == found
    missing = fetch(bench, "simple", "alpha", 0)
    assert (missing.committed_offset, missing.metadata, missing.error_code) == (-1, "", 0)
    assert fetch(bench, "nobody", "alpha", 0).committed_offset == -1


def test_every_version_commits() -> None:
    bench = Bench()
    for version in range(2, 11):
        assert commit(bench, "g", {("alpha", 0): version}, version=version) == [0]
        assert fetch(bench, "g", "alpha", 0).committed_offset == version


def test_every_version_fetches() -> None:
    bench = Bench()
    commit(bench, "g", {("alpha", 0): 5, ("beta", 1): 6})
    alpha, beta = bench.topics.ids["alpha"], bench.topics.ids["beta"]
    for version in range(1, 11):
        topic = {"name": "alpha", "partition_indexes": [0]} | ({"topic_id": alpha} if version >= 8 else {})
        one = {"group_id": "g", "topics": [topic]}
        answer = bench.call("offset_fetch", one if version < 8 else {"groups": [one]}, version)
        topics = answer.topics if version < 8 else answer.groups[0].topics
        assert topics[0].partitions[0].committed_offset == 5
        if version >= 2:
            every = {"group_id": "g", "topics": None}
            answer = bench.call("offset_fetch", every if version < 8 else {"groups": [every]}, version)
            topics = answer.topics if version < 8 else answer.groups[0].topics
            assert {topic.topic_id if version >= 10 else topic.name for topic in topics} == (
                {alpha, beta} if version >= 10 else {"alpha", "beta"}
            )


def test_each_partition_is_answered_for_itself() -> None:
    bench = Bench(config=GroupConfig(offset_metadata_max_bytes=4))
    assert commit(bench, "g", {("alpha", 0): 1, ("alpha", 9): 1, ("nope", 0): 1}) == [0, 3, 3]
    assert commit(bench, "g", {("alpha", 0): 1, ("nope", 0): 1}, version=10) == [0, 100]
    assert commit(bench, "g", {("alpha", 1): 1}, metadata="12345") == [12]
    assert fetch(bench, "g", "alpha", 1).committed_offset == -1
    body = {"groups": [{"group_id": "g", "topics": [{"topic_id": b"?" * 16, "partition_indexes": [0]}]}]}
    assert bench.call("offset_fetch", body, 10).groups[0].topics[0].partitions[0].error_code == 100


def test_a_generation_without_a_group() -> None:
    bench = Bench()
    assert commit(bench, "none", {("alpha", 0): 1}, "m", 5, version=8) == [22]
    assert commit(bench, "none", {("alpha", 0): 1}, "m", 5, version=9) == [69]
    assert not bench.shard.groups


def test_offsets_may_go_back_when_committed_so() -> None:
    bench = Bench()
    commit(bench, "g", {("alpha", 0): 100})
    commit(bench, "g", {("alpha", 0): 7})
    bench.reload()
    assert fetch(bench, "g", "alpha", 0).committed_offset == 7


def test_simple_offsets_expire_after_their_commit() -> None:
    bench = Bench(config=GroupConfig(offsets_retention_minutes=60))
    commit(bench, "g", {("alpha", 0): 1})
    bench.advance(40 * MINUTE_MS)
    commit(bench, "g", {("alpha", 1): 2})
    bench.advance(30 * MINUTE_MS)
    assert fetch(bench, "g", "alpha", 0).committed_offset == -1
    assert fetch(bench, "g", "alpha", 1).committed_offset == 2
    bench.advance(60 * MINUTE_MS)
    assert not bench.shard.groups, "a group without offsets and members is no group"
    bench.reload(compacted=False)
    assert not bench.shard.groups


def test_offsets_of_a_group_expire_after_it_became_empty() -> None:
    bench = Bench(config=GroupConfig(offsets_retention_minutes=60))
    one = ClassicClient(bench, session_timeout_ms=1_800_000, topics=("alpha",)).start()
    stable_group(bench, one)
    one.commit({("alpha", 0): 1, ("beta", 0): 1})
    for _ in range(4):
        bench.advance(20 * MINUTE_MS)
        assert one.heartbeat() == 0
    assert fetch(bench, "g", "alpha", 0).committed_offset == 1
    assert fetch(bench, "g", "beta", 0).committed_offset == -1, "nobody reads it any more"
    one.leave()
    bench.advance(50 * MINUTE_MS)
    bench.reload()
    assert fetch(bench, "g", "alpha", 0).committed_offset == 1
    bench.advance(21 * MINUTE_MS)
    assert fetch(bench, "g", "alpha", 0).committed_offset == -1
    assert not bench.shard.groups


def test_a_commit_may_bring_its_own_retention() -> None:
    bench = Bench()
    topic = {"name": "alpha", "partitions": [{"partition_index": 0, "committed_offset": 5}]}
    body = {"group_id": "g", "topics": [topic], "retention_time_ms": 5 * MINUTE_MS}
    assert bench.call("offset_commit", body, 3).topics[0].partitions[0].error_code == 0
    bench.reload()
    assert fetch(bench, "g", "alpha", 0).committed_offset == 5
    bench.advance(11 * MINUTE_MS)
    assert fetch(bench, "g", "alpha", 0).committed_offset == -1


def test_topics_that_are_read_keep_their_offsets() -> None:
    bench = Bench(config=GroupConfig(offsets_retention_minutes=1, offsets_retention_check_interval_ms=MINUTE_MS))
    one = ConsumerClient(bench, "one")
    one.join()
    one.commit({("alpha", 0): 1, ("beta", 0): 1})
    for _ in range(5):
        bench.advance(30_000)
        one.beat()
    assert fetch(bench, "g", "alpha", 0).committed_offset == 1
    assert fetch(bench, "g", "beta", 0).committed_offset == -1


def test_deleted_topics_take_their_offsets_along() -> None:
    bench = Bench()
    commit(bench, "g", {("alpha", 0): 1, ("beta", 0): 2})
    bench.topics.delete("alpha")
    bench.topics_changed()
    assert fetch(bench, "g", "alpha", 0).committed_offset == -1
    assert fetch(bench, "g", "beta", 0).committed_offset == 2
    bench.topics.delete("beta")
    bench.topics.create("beta", 2)  # deleted and created again while no coordinator was looking
    bench.reload()
    assert fetch(bench, "g", "beta", 0).committed_offset == -1
    bench.reload(compacted=False)
    assert fetch(bench, "g", "beta", 0).committed_offset == -1


def delete(bench: Bench, group: str, topic: str, number: int) -> tuple[int, int]:
    body = {"group_id": group, "topics": [{"name": topic, "partitions": [{"partition_index": number}]}]}
    answer = bench.call("offset_delete", body)
    return answer.error_code, answer.topics[0].partitions[0].error_code if answer.topics else 0


def test_deleting_offsets() -> None:
    bench = Bench()
    assert delete(bench, "none", "alpha", 0) == (69, 0)
    one = ClassicClient(bench, topics=("alpha",)).start()
    stable_group(bench, one)
    one.commit({("alpha", 0): 1, ("beta", 0): 1})
    assert delete(bench, "g", "alpha", 0) == (0, 86)
    assert delete(bench, "g", "beta", 0) == (0, 0)
    assert delete(bench, "g", "nope", 0) == (0, 3)
    assert fetch(bench, "g", "beta", 0).committed_offset == -1
    one.leave()
    assert delete(bench, "g", "alpha", 0) == (0, 0)
    bench.reload(compacted=False)
    assert fetch(bench, "g", "alpha", 0).committed_offset == -1


def test_deleting_offsets_of_members_that_do_not_say_what_they_read() -> None:
    bench = Bench(topics=FakeTopics(alpha=1))
    worker = ClassicClient(bench, protocol_type="connect", protocols=[{"name": "x", "metadata": b""}]).start()
    stable_group(bench, worker)
    assert delete(bench, "g", "alpha", 0) == (68, 0)


def test_groups_are_deleted_when_nobody_is_in_them() -> None:
    bench = Bench()
    one = ClassicClient(bench).start()
    stable_group(bench, one)
    one.commit({("alpha", 0): 1})
    results = bench.call("delete", {"groups_names": ["g", "none"]}).results
    assert [result.error_code for result in results] == [68, 69]
    one.leave()
    assert bench.call("delete", {"groups_names": ["g"]}).results[0].error_code == 0
    bench.reload()
    assert not bench.shard.groups
    for version, code in ((5, 0), (6, 69)):
        (group,) = bench.call("describe", {"groups": ["g"]}, version).groups
        assert (group.error_code, group.group_state) == (code, "Dead")


def test_very_many_offsets_expire_a_step_at_a_time() -> None:
    """A million of them in one step would hold the node for seconds."""
    bench = Bench(FakeTopics(alpha=50))
    for number in range(300):
        assert set(commit(bench, f"g{number}", {("alpha", part): 1 for part in range(50)})) == {0}
    before = len(bench.log)
    bench.now_ms += 8 * 24 * 3_600_000
    steps = []
    while bench.shard.groups:
        deadline = bench.shard.next_deadline_ms()
        assert deadline is not None
        bench.now_ms = max(bench.now_ms, deadline)
        written = len(bench.log)
        bench.take(bench.shard.tick(bench.now_ms))
        steps.append(len(bench.log) - written)
    assert len(steps) >= 7
    assert max(steps) < 2_200
    assert len(bench.log) - before == 300 * 51, "a tombstone for each offset and each group"
