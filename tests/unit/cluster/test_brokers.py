"""Brokers come and go, and leadership follows: the last in-sync replica is never forgotten."""

import pytest

from barnabas.core.cluster import FeatureUpdate, Heartbeat, NewTopic
from barnabas.core.cluster.features import DEFAULT_LEVELS
from barnabas.model.errors import ErrorCode, KafkaError
from tests.unit.cluster.stage import Stage

PREFERRED, UNCLEAN = 0, 1


def manual(stage: Stage, name: str, *replicas: list[int], **configs: str) -> None:
    pairs = [(key.replace("_", "."), value) for key, value in configs.items()]
    (result,) = stage.do("create_topics", [NewTopic(name, assignments=list(enumerate(replicas)), configs=pairs)])
    assert result.code is ErrorCode.NONE


def test_a_new_cluster_settles_its_features_with_its_first_broker() -> None:
    assert dict(Stage().image.features) == DEFAULT_LEVELS


def test_a_leader_that_goes_is_replaced_by_an_in_sync_replica() -> None:
    stage = Stage(3)
    manual(stage, "t", [1, 2, 3])
    assert stage.partition("t").leader == 1
    stage.fence(1)
    partition = stage.partition("t")
    assert (partition.leader, partition.isr, partition.leader_epoch) == (2, (2, 3), 1)
    stage.fence(2)
    stage.fence(3)
    partition = stage.partition("t")
    assert (partition.leader, partition.isr, partition.elr) == (-1, (), (3,))  # only 3 is known to have everything
    stage.unfence(1)
    assert stage.partition("t").leader == -1
    stage.unfence(3)
    partition = stage.partition("t")
    assert (partition.leader, partition.isr, partition.elr) == (3, (3,), ())


def test_an_unclean_election_needs_permission() -> None:
    stage = Stage(2)
    manual(stage, "careful", [1, 2])
    manual(stage, "careless", [1, 2], unclean_leader_election_enable="true")
    stage.fence(2)
    stage.fence(1)
    stage.unfence(2)
    assert (stage.partition("careful").leader, stage.partition("careful").elr) == (-1, (1,))
    assert (stage.partition("careless").leader, stage.partition("careless").isr) == (2, (2,))


def test_a_restart_of_the_only_node_keeps_leadership_and_an_unclean_one_begins_a_new_epoch() -> None:
    stage = Stage(1)
    stage.create("t", 3)
    stage.now_ms = 1_000_000
    first = stage.image.brokers[1].broker_epoch
    assert stage.register(1) > first
    assert [p.leader_epoch for p in stage.image.topics["t"].partitions] == [0, 0, 0]
    stage.now_ms = 2_000_000
    stage.register(1, clean=False)
    partitions = stage.image.topics["t"].partitions
    assert [(p.leader, p.leader_epoch, p.isr) for p in partitions] == [(1, 1, (1,))] * 3


def test_a_second_broker_with_the_same_id_is_refused_while_the_first_lives() -> None:
    stage = Stage(1)
    stage.register(1)  # the same directory: nobody else can hold it, so this is the first one, started again
    with pytest.raises(KafkaError) as refused:
        stage.register(1, new_disk=True)
    assert refused.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    stage.now_ms = 9_000  # broker.session.timeout.ms
    stage.register(1, new_disk=True)


def test_a_registered_broker_is_unfenced_once_it_has_caught_up() -> None:
    stage = Stage(1)
    epoch = stage.register(2, fenced=True)
    behind = stage.do("heartbeat", Heartbeat(2, epoch, epoch - 1), 0)
    assert (behind.is_caught_up, behind.is_fenced) == (False, True)
    ready = stage.do("heartbeat", Heartbeat(2, epoch, epoch), 0)
    assert (ready.is_caught_up, ready.is_fenced) == (True, False)
    assert stage.image.is_alive(2)


def test_a_broker_that_falls_silent_is_fenced() -> None:
    stage = Stage(2)
    manual(stage, "t", [1, 2])
    stage.now_ms = 5_000
    stage.beat(2)
    assert stage.do("fence_expired", 8_999) == []
    assert stage.do("fence_expired", 9_000) == [1]
    assert stage.partition("t").leader == 2
    assert stage.do("fence_expired", 13_999) == []


def test_heartbeats_of_strangers_are_refused() -> None:
    stage = Stage(1)
    with pytest.raises(KafkaError) as unknown:
        stage.do("heartbeat", Heartbeat(7, 0, 0), 0)
    assert unknown.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED
    with pytest.raises(KafkaError) as stale:
        stage.do("heartbeat", Heartbeat(1, 999, 0), 0)
    assert stale.value.code is ErrorCode.STALE_BROKER_EPOCH


def test_a_controlled_shutdown_gives_leadership_away_first() -> None:
    stage = Stage(2)
    manual(stage, "t", [1, 2])
    result = stage.beat(1, want_shutdown=True)
    assert result.should_shut_down and not result.is_fenced
    assert (stage.partition("t").leader, stage.partition("t").isr) == (2, (2,))
    assert stage.create("new", 4).code is ErrorCode.NONE
    assert {p.leader for p in stage.image.topics["new"].partitions} == {2}


def test_unregistering_forgets_a_broker() -> None:
    stage = Stage(2)
    manual(stage, "t", [1, 2])
    stage.fence(1)
    stage.do("unregister_broker", 1)
    assert set(stage.image.brokers) == {2} and stage.partition("t").leader == 2
    with pytest.raises(KafkaError) as refused:
        stage.do("unregister_broker", 1)
    assert refused.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED


# --- ElectLeaders ---------------------------------------------------------------------------------------------------


def test_preferred_leaders_return_on_request() -> None:
    stage = Stage(2)
    manual(stage, "t", [1, 2], [2, 1])
    stage.fence(1)
    stage.unfence(1)
    assert [p.leader for p in stage.image.topics["t"].partitions] == [2, 2]

    def elect(*partitions: tuple[str, int]) -> list[ErrorCode]:
        return [result.code for result in stage.do("elect_leaders", PREFERRED, partitions)]

    not_available, not_needed = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, ErrorCode.ELECTION_NOT_NEEDED
    assert elect(("t", 0), ("t", 1)) == [not_available, not_needed]  # 1 is up but not in sync
    assert elect(("t", 9), ("no", 0)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2
    assert stage.do("elect_leaders", PREFERRED, None)[0].code is not_available  # those not needed are left out
    assert len(stage.do("elect_leaders", PREFERRED, None)) == 1


def test_an_unclean_election_on_request() -> None:
    stage = Stage(2)
    manual(stage, "t", [1, 2])
    assert [r.code for r in stage.do("elect_leaders", UNCLEAN, [("t", 0)])] == [ErrorCode.ELECTION_NOT_NEEDED]
    stage.fence(2)
    stage.fence(1)
    results = stage.do("elect_leaders", UNCLEAN, [("t", 0)])
    assert [r.code for r in results] == [ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE]
    stage.unfence(2)
    assert [r.code for r in stage.do("elect_leaders", UNCLEAN, [("t", 0)])] == [ErrorCode.NONE]
    assert (stage.partition("t").leader, stage.partition("t").isr) == (2, (2,))
    with pytest.raises(KafkaError) as refused:
        stage.do("elect_leaders", 7, [("t", 0)])
    assert refused.value.code is ErrorCode.INVALID_REQUEST


# --- producer ids, features -----------------------------------------------------------------------------------------


def test_producer_ids_come_in_blocks_nobody_shares() -> None:
    stage = Stage(2)
    epochs = {broker_id: stage.image.brokers[broker_id].broker_epoch for broker_id in (1, 2)}
    blocks = [stage.do("allocate_producer_ids", broker_id, epochs[broker_id]) for broker_id in (1, 2, 1)]
    assert blocks == [(0, 1000), (1000, 1000), (2000, 1000)]
    assert stage.replayed().next_producer_id == 3000
    with pytest.raises(KafkaError) as stale:
        stage.do("allocate_producer_ids", 1, epochs[1] + 1)
    assert stale.value.code is ErrorCode.STALE_BROKER_EPOCH


@pytest.mark.parametrize(
    ("name", "level", "kind", "accepted"),
    [
        ("group.version", 1, 1, True),
        ("group.version", 0, 1, False),
        ("group.version", 0, 2, True),
        ("group.version", 1, 2, True),
        ("group.version", 9, 1, False),
        ("group.version", -1, 1, False),
        ("group.version", 1, 0, False),
        ("foo", 1, 1, False),
        ("foo", 0, 2, False),
        ("kraft.version", 1, 1, True),
        ("kraft.version", 0, 2, False),
        ("metadata.version", 29, 2, False),
        ("metadata.version", 3, 3, False),
    ],
)
def test_feature_levels(name: str, level: int, kind: int, accepted: bool) -> None:
    stage = Stage()
    updates = [FeatureUpdate("group.version", 1), FeatureUpdate(name, level, kind)]
    if accepted:
        stage.do("update_features", updates)
        assert stage.image.features.get(name, 0) == level
    else:
        before = stage.image
        with pytest.raises(KafkaError) as refused:
            stage.do("update_features", updates)
        assert refused.value.code is ErrorCode.INVALID_UPDATE_VERSION and stage.image == before
