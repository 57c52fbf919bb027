"""Creating, deleting and growing topics. The codes are those of a real Kafka 4.3 for the same requests."""

import pytest

from barnabas.core.cluster import MorePartitions, NewTopic, internal_topic
from barnabas.model import limits
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import OFFSETS_TOPIC, ZERO_UUID
from barnabas.model.settings import Settings
from tests.unit.cluster.stage import Stage

NONE = ErrorCode.NONE


def codes(results: list) -> dict[str, ErrorCode]:  # type: ignore[type-arg]
    return {result.name: result.code for result in results}


def test_some_invalid_entries_do_not_stop_the_rest() -> None:
    stage = Stage()
    stage.create("there")
    wanted = [NewTopic(n) for n in ("a", "there", "a b", "twice", "twice", "__cluster_metadata")]
    results = stage.do("create_topics", [*wanted, NewTopic("three", 1, 3), NewTopic("b", 4)])
    assert codes(results) == {
        "a": NONE,
        "there": ErrorCode.TOPIC_ALREADY_EXISTS,
        "a b": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "twice": ErrorCode.INVALID_REQUEST,
        "__cluster_metadata": ErrorCode.INVALID_REQUEST,
        "three": ErrorCode.INVALID_REPLICATION_FACTOR,
        "b": NONE,
    }
    assert set(stage.image.topics) == {"there", "a", "b"}
    assert len(stage.image.topics["b"].partitions) == 4


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (NewTopic("t", 0, 1), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("t", -2, 1), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", 1, -2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", 1, 1, [(0, [1])]), ErrorCode.INVALID_REQUEST),
        (NewTopic("t", -1, 1, [(0, [1])]), ErrorCode.INVALID_REQUEST),
        (NewTopic("t", assignments=[(0, [1]), (1, [1])]), NONE),
        (NewTopic("t", assignments=[(0, [1]), (2, [1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments=[(1, [1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments=[(0, [1]), (0, [1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments=[(0, [9])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments=[(0, [1, 1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments=[(0, [])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", configs=[("foo", "1")]), ErrorCode.INVALID_CONFIG),
        (NewTopic("t", configs=[("retention.ms", None)]), ErrorCode.INVALID_CONFIG),
        (NewTopic("t", configs=[("retention.ms", "-2")]), ErrorCode.INVALID_CONFIG),
        (NewTopic("t", configs=[("retention.ms", "1"), ("retention.ms", "2")]), NONE),
        (NewTopic("t", configs=[("remote.storage.enable", "true")]), ErrorCode.INVALID_CONFIG),
        (
            NewTopic("t", configs=[("min.compaction.lag.ms", "9"), ("max.compaction.lag.ms", "5")]),
            ErrorCode.INVALID_CONFIG,
        ),
        (NewTopic("t", 0, 1, configs=[("foo", "1")]), ErrorCode.INVALID_CONFIG),
        (NewTopic("", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic(".", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("x" * 250, 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("x" * 249, 1, 1), NONE),
    ],
)
def test_one_topic(wanted: NewTopic, code: ErrorCode) -> None:
    stage = Stage()
    (result,) = stage.do("create_topics", [wanted])
    assert result.code is code
    assert (wanted.name in stage.image.topics) == (code is NONE)
    assert (result.topic_id != ZERO_UUID) == (code is NONE)


def test_defaults_come_from_the_node() -> None:
    stage = Stage(3, settings=Settings({"num.partitions": "5", "default.replication.factor": "2"}))
    result = stage.create("t", -1, -1)
    assert (result.num_partitions, result.replication_factor) == (5, 2)


def test_a_dry_run_answers_and_changes_nothing() -> None:
    stage = Stage()
    (result,) = stage.do("create_topics", [NewTopic("t", 3, 1)], True)
    assert (result.code, result.num_partitions) == (NONE, 3)
    assert not stage.image.topics


def test_names_that_differ_in_dots_and_underscores_collide() -> None:
    stage = Stage()
    stage.create("a.b")
    results = stage.do("create_topics", [NewTopic(n) for n in ("a_b", "a-b", "x.y", "x_y", "z_1.bad name", "z.1_bad")])
    assert codes(results) == {
        "a_b": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "a-b": NONE,
        "x.y": NONE,
        "x_y": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "z_1.bad name": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "z.1_bad": NONE,
    }
    stage.do("delete_topics", [("a.b", ZERO_UUID)])
    assert stage.create("a_b").code is NONE


def test_a_request_has_a_most_of_partitions() -> None:
    stage = Stage()
    most = limits.PARTITIONS_PER_REQUEST_MAX
    assert codes(stage.do("create_topics", [NewTopic("t", most)], True)) == {"t": NONE}
    assert codes(stage.do("create_topics", [NewTopic("t", most), NewTopic("u")])) == {
        "t": ErrorCode.POLICY_VIOLATION,
        "u": ErrorCode.POLICY_VIOLATION,
    }
    assert codes(stage.do("create_topics", [NewTopic("t", 2**31 - 1)])) == {"t": ErrorCode.POLICY_VIOLATION}


def test_a_node_has_a_most_of_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.core.cluster.partitions.assignments.PARTITIONS_PER_NODE_MAX", 10)
    stage = Stage(2)
    assert stage.create("a", 8, 1).code is NONE
    assert stage.create("b", 12, 1).code is NONE
    assert stage.create("c", 1, 1).code is ErrorCode.INVALID_PARTITIONS
    (result,) = stage.do("create_partitions", [MorePartitions("a", 9)])
    assert result.code is ErrorCode.INVALID_PARTITIONS


def test_deleting_by_name_and_by_id() -> None:
    stage = Stage()
    for name in "abc":
        stage.create(name)
    b = stage.image.topics["b"].id
    unknown = bytes([9] * 16)
    results = stage.do("delete_topics", [("a", ZERO_UUID), (None, b), ("nope", ZERO_UUID), (None, unknown)])
    assert [(r.name, r.code) for r in results] == [
        ("a", NONE),
        ("b", NONE),
        ("nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
    ]
    assert set(stage.image.topics) == {"c"} and stage.image.topic_by_id(b) is None


def test_what_a_deletion_names_twice_or_not_at_all_stays() -> None:
    stage = Stage()
    stage.create("a")
    stage.create("b")
    a, b = stage.image.topics["a"].id, stage.image.topics["b"].id
    invalid = ErrorCode.INVALID_REQUEST
    for wanted, count in (
        ([("a", ZERO_UUID), ("a", ZERO_UUID)], 1),
        ([("a", ZERO_UUID), (None, a)], 1),
        ([("b", b)], 1),
        ([(None, ZERO_UUID)], 1),
    ):
        results = stage.do("delete_topics", wanted)
        assert [result.code for result in results] == [invalid] * count
    assert set(stage.image.topics) == {"a", "b"}


def test_deletion_can_be_forbidden() -> None:
    stage = Stage(settings=Settings({"delete.topic.enable": "false"}))
    stage.create("a")
    (result,) = stage.do("delete_topics", [("a", ZERO_UUID)])
    assert result.code is ErrorCode.TOPIC_DELETION_DISABLED and "a" in stage.image.topics


def test_a_topic_made_again_is_another_topic() -> None:
    stage = Stage()
    first = stage.create("a", retention_ms="5").topic_id
    stage.do("delete_topics", [("a", ZERO_UUID)])
    assert stage.create("a").topic_id != first
    assert stage.image.topics["a"].configs == {}


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (MorePartitions("t", 2), ErrorCode.INVALID_PARTITIONS),
        (MorePartitions("t", 1), ErrorCode.INVALID_PARTITIONS),
        (MorePartitions("t", -1), ErrorCode.INVALID_PARTITIONS),
        (MorePartitions("nope", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (MorePartitions("t", 4, [[1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("t", 4, []), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("t", 3, [[9]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("t", 3, [[1, 1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("t", 3, [[]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("t", 3, [[1, 2]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("t", 20_000), ErrorCode.POLICY_VIOLATION),
        (MorePartitions("t", 3, [[2]]), NONE),
        (MorePartitions("t", 5), NONE),
    ],
)
def test_growing_a_topic(wanted: MorePartitions, code: ErrorCode) -> None:
    stage = Stage(2)
    stage.create("t", 2)
    before = stage.image.topics["t"].partitions
    (result,) = stage.do("create_partitions", [wanted])
    assert result.code is code
    after = stage.image.topics["t"].partitions
    assert after[:2] == before and len(after) == (wanted.count if code is NONE else 2)


def test_growing_answers_for_each_topic() -> None:
    stage = Stage()
    for name in ("a", "b", "c"):
        stage.create(name)
    wanted = [MorePartitions("a", 3), MorePartitions("b", 3), MorePartitions("b", 4), MorePartitions("no", 3)]
    assert codes(stage.do("create_partitions", [*wanted, MorePartitions("c", 2)])) == {
        "a": NONE,
        "b": ErrorCode.INVALID_REQUEST,
        "no": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "c": NONE,
    }
    assert [len(stage.image.topics[name].partitions) for name in ("a", "b", "c")] == [3, 1, 2]


@pytest.mark.parametrize(("brokers", "factor"), [(1, 1), (2, 2), (5, 3)])
def test_an_internal_topic_has_as_many_replicas_as_there_can_be(brokers: int, factor: int) -> None:
    stage = Stage(brokers)
    wanted = internal_topic(OFFSETS_TOPIC, stage.controller.settings, stage.image)
    (result,) = stage.do("create_topics", [wanted])
    assert (result.num_partitions, result.replication_factor) == (50, factor)
    assert stage.image.topics[OFFSETS_TOPIC].configs["cleanup.policy"] == "compact"
