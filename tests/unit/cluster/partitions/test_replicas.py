"""Who is in sync, who may lead, who moves where: the decisions about replicas, each with Kafka's error code."""

import pytest

from barnabas.core.cluster import PartitionAlteration, Reassignment, ReplicaDirectory
from barnabas.core.cluster.items import NewTopic
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import LOST_DIRECTORY
from barnabas.model.settings import Settings
from tests.unit.cluster.stage import Stage


def cluster(*replicas: int, brokers: int = 3, **configs: str) -> Stage:
    stage = Stage(brokers)
    pairs = [(key.replace("_", "."), value) for key, value in configs.items()]
    (made,) = stage.do("create_topics", [NewTopic("t", assignments=[(0, replicas)], configs=pairs)])
    assert made.code is ErrorCode.NONE
    return stage


def shown(stage: Stage) -> tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    partition = stage.partition("t")
    return partition.leader, partition.isr, partition.elr, partition.last_known_elr


# --- AlterPartition -------------------------------------------------------------------------------------------------


def test_a_leader_says_who_is_in_sync() -> None:
    stage = cluster(1, 2, 3)
    before = stage.partition("t")
    assert stage.alter("t", 0, 1, 2) is ErrorCode.NONE
    partition = stage.partition("t")
    assert (partition.isr, partition.leader_epoch, partition.partition_epoch) == ((1, 2), 0, before.partition_epoch + 1)
    assert stage.alter("t", 0, 1, 2, 3) is ErrorCode.NONE
    assert stage.partition("t").isr == (1, 2, 3)


def test_what_a_leader_may_not_say() -> None:
    stage = cluster(1, 2, 3, brokers=4)
    stage.alter("t", 0, 1, 2)  # partition epoch 1
    topic_id = stage.image.topics["t"].id
    epochs = {b: stage.image.brokers[b].broker_epoch for b in (1, 2, 3, 4)}

    def code(sender: int = 1, *isr: int, leader: int = 0, version: int = 1, topic: bytes = topic_id, index: int = 0,
             epoch_of: int | None = None) -> ErrorCode:  # fmt: skip
        states = [(b, epochs.get(b, 0) + (b == epoch_of)) for b in isr or (1, 2, 3)]
        item = PartitionAlteration(topic, index, leader, version, states)
        (result,) = stage.do("alter_partition", sender, epochs[sender], [item])
        found: ErrorCode = result.code
        return found

    assert code(topic=b"?" * 16) is ErrorCode.UNKNOWN_TOPIC_ID
    assert code(index=7) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code(leader=9) is ErrorCode.NOT_CONTROLLER  # the leader knows more than this controller
    assert code(version=9) is ErrorCode.NOT_CONTROLLER
    assert code(2) is ErrorCode.INVALID_REQUEST  # it does not lead
    assert code(version=0) is ErrorCode.INVALID_UPDATE_VERSION
    assert code(1, 2, 3) is ErrorCode.INVALID_REQUEST  # without itself
    assert code(1, 1, 4) is ErrorCode.INVALID_REQUEST  # not a replica
    assert code(1, 1, 2, 2) is ErrorCode.INVALID_REQUEST
    assert code(1, 1, 2, 3, epoch_of=3) is ErrorCode.INELIGIBLE_REPLICA  # another life of broker 3
    stage.fence(3)
    assert code() is ErrorCode.INELIGIBLE_REPLICA
    stage.unfence(3)
    stage.beat(3, want_shutdown=True)
    assert code() is ErrorCode.INELIGIBLE_REPLICA
    with pytest.raises(KafkaError) as stale:
        stage.do("alter_partition", 1, epochs[1] + 1, [])
    assert stale.value.code is ErrorCode.STALE_BROKER_EPOCH
    with pytest.raises(KafkaError) as unknown:
        stage.do("alter_partition", 9, 0, [])
    assert unknown.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED
    stage.fence(1)
    stage.unfence(1)
    assert code() is ErrorCode.FENCED_LEADER_EPOCH
    assert stage.partition("t").leader == 2


# --- eligible leader replicas (KIP-966) -----------------------------------------------------------------------------


def test_with_too_few_in_sync_whoever_leaves_stays_eligible() -> None:
    stage = cluster(1, 2, 3, min_insync_replicas="2")
    stage.fence(3)
    assert shown(stage) == (1, (1, 2), (), ())  # two are enough: 3 misses what they commit
    stage.fence(2)
    assert shown(stage) == (1, (1,), (2,), ())  # one is not: 2 misses nothing
    stage.fence(1)
    assert shown(stage) == (-1, (), (2, 1), (1,))
    stage.unfence(3)
    assert shown(stage)[0] == -1
    stage.unfence(2)
    assert shown(stage) == (2, (2,), (1,), ())
    stage.unfence(1)
    assert stage.alter("t", 0, 2, 1) is ErrorCode.NONE
    assert shown(stage) == (2, (2, 1), (), ())


def test_a_power_loss_makes_a_replica_doubtful_and_the_last_one_leads_again() -> None:
    stage = cluster(1, 2, 3, min_insync_replicas="2")
    stage.fence(3)
    stage.fence(2)
    stage.fence(1)
    stage.register(2, fenced=True, clean=False)
    assert shown(stage) == (-1, (), (1,), (1, 2))
    stage.unfence(2)
    assert shown(stage)[0] == -1  # 1 may have more
    stage.register(1, fenced=True, clean=False)
    assert shown(stage) == (-1, (), (), (1, 2))
    stage.unfence(1)
    assert shown(stage) == (1, (1,), (), ())  # it led last, and nobody knows more


def test_a_kill_keeps_what_was_written_and_a_flushed_topic_keeps_it_also_without_power() -> None:
    for clean, flush in ((True, "1000"), (False, "1")):
        stage = cluster(1, 2, 3, min_insync_replicas="2", flush_messages=flush)
        for broker_id in (3, 2, 1):
            stage.fence(broker_id)
        stage.register(2, fenced=True, clean=clean)
        assert shown(stage) == (-1, (), (2, 1), (1,))
        stage.unfence(2)
        assert shown(stage) == (2, (2,), (1,), ())


def test_a_broker_that_was_in_sync_and_lost_power_leads_no_more() -> None:
    stage = cluster(1, 2, 3)
    stage.register(1, fenced=True, clean=False)
    assert shown(stage) == (2, (2, 3), (), ())


def test_a_new_disk_holds_nothing() -> None:
    stage = cluster(1, 2)
    stage.now_ms = 60_000
    stage.register(1, fenced=True, new_disk=True)
    partition = stage.partition("t")
    assert shown(stage) == (2, (2,), (), ()) and partition.directories[0] == stage.image.brokers[1].directories[0]
    stage.fence(2)
    stage.now_ms = 120_000
    stage.register(2, fenced=True, new_disk=True)
    stage.unfence(2)
    assert shown(stage) == (-1, (), (), ())  # nobody is known to have anything: a person must decide
    (asked,) = stage.do("elect_leaders", 1, [("t", 0)])
    assert asked.code is ErrorCode.NONE and shown(stage) == (2, (2,), (), ())


def test_fewer_in_sync_replicas_asked_for_end_eligibility() -> None:
    from barnabas.core.cluster import ConfigChange

    for kind, name in ((2, "t"), (4, "")):
        stage = Stage(3)
        stage.do("incremental_alter_configs", [ConfigChange(4, "", [("min.insync.replicas", 0, "2")])])
        stage.do("create_topics", [NewTopic("t", assignments=[(0, [1, 2, 3])])])
        stage.fence(3)
        stage.fence(2)
        assert shown(stage) == (1, (1,), (2,), ())
        stage.do("incremental_alter_configs", [ConfigChange(kind, name, [("min.insync.replicas", 0, "1")])])
        assert shown(stage) == (1, (1,), (), ())  # 1 commits alone now: 2 misses that
    (refused,) = stage.do("incremental_alter_configs", [ConfigChange(4, "1", [("min.insync.replicas", 0, "2")])])
    assert refused.code is ErrorCode.INVALID_CONFIG


def test_a_damaged_log_is_given_up_where_another_has_it() -> None:
    stage = cluster(1, 2, 3)
    topic_id = stage.image.topics["t"].id

    def lost(broker_id: int) -> ErrorCode:
        epoch = stage.image.brokers[broker_id].broker_epoch
        (result,) = stage.do("assign_directories", broker_id, epoch, [ReplicaDirectory(LOST_DIRECTORY, topic_id, 0)])
        code: ErrorCode = result.code
        return code

    assert lost(1) is ErrorCode.NONE
    assert shown(stage) == (2, (2, 3), (), ())
    assert lost(3) is ErrorCode.NONE
    assert lost(2) is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert shown(stage) == (2, (2,), (), ())


def test_the_last_that_stood_stands_also_with_a_log_that_was_cut() -> None:
    """Every machine loses power, and every log its end: the partition comes back without being asked."""
    stage = cluster(1, 2, 3)
    topic_id = stage.image.topics["t"].id
    for broker_id in (1, 2, 3):
        epoch = stage.register(broker_id, fenced=True, clean=False)
        (told,) = stage.do("assign_directories", broker_id, epoch, [ReplicaDirectory(LOST_DIRECTORY, topic_id, 0)])
        assert told.code is (ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE if broker_id == 3 else ErrorCode.NONE)
    assert shown(stage) == (-1, (), (), (3,))
    for broker_id in (1, 2, 3):
        stage.unfence(broker_id)
    assert shown(stage) == (3, (3,), (), ())


# --- reassignment ---------------------------------------------------------------------------------------------------


def test_a_move_adds_then_removes() -> None:
    stage = cluster(1, 2, brokers=4)
    assert stage.move("t", 0, 3, 4) is ErrorCode.NONE
    partition = stage.partition("t")
    assert (partition.replicas, partition.adding_replicas, partition.removing_replicas) == (
        (3, 4, 1, 2),
        (3, 4),
        (1, 2),
    )
    assert (partition.leader, partition.isr, partition.leader_epoch) == (1, (1, 2), 0)
    (move,) = stage.do("list_reassignments", None)
    assert (move.topic, move.partition, move.adding, move.removing) == ("t", 0, (3, 4), (1, 2))
    assert stage.do("list_reassignments", [("t", [1]), ("no", [0])]) == []
    assert stage.alter("t", 0, 1, 2, 3) is ErrorCode.NONE
    assert stage.partition("t").is_moving
    assert stage.alter("t", 0, 1, 2, 3, 4) is ErrorCode.NEW_LEADER_ELECTED
    partition = stage.partition("t")
    assert (partition.replicas, partition.isr, partition.leader, partition.leader_epoch) == ((3, 4), (3, 4), 3, 1)
    assert not partition.is_moving and len(partition.directories) == 2
    assert stage.do("list_reassignments", None) == []


def test_a_move_that_only_takes_away_waits_until_all_that_stay_are_in_sync() -> None:
    stage = cluster(1, 2, 3)
    stage.alter("t", 0, 1, 3)
    assert stage.move("t", 0, 1, 2) is ErrorCode.NONE
    partition = stage.partition("t")
    assert (partition.replicas, partition.removing_replicas, partition.leader_epoch) == ((1, 2, 3), (3,), 0)
    stage.alter("t", 0, 1, 2)
    assert stage.partition("t").replicas == (1, 2)


def test_a_move_that_only_takes_away_is_done_at_once_and_begins_a_new_epoch() -> None:
    stage = cluster(1, 2, 3)
    assert stage.move("t", 0, 1, 2) is ErrorCode.NONE
    partition = stage.partition("t")
    assert (partition.replicas, partition.isr, partition.leader, partition.leader_epoch) == ((1, 2), (1, 2), 1, 1)


def test_a_new_order_changes_the_preferred_leader_only() -> None:
    stage = cluster(1, 2, 3)
    assert stage.move("t", 0, 3, 2, 1) is ErrorCode.NONE
    partition = stage.partition("t")
    assert (partition.replicas, partition.leader, partition.leader_epoch) == ((3, 2, 1), 1, 0)
    assert stage.do("balance_leaders") == 1
    assert (stage.partition("t").leader, stage.partition("t").leader_epoch) == (3, 1)
    assert stage.do("balance_leaders") == 0


def test_a_move_is_taken_back_or_replaced() -> None:
    stage = cluster(1, 2, brokers=5)

    def cancel() -> ErrorCode:
        (result,) = stage.do("alter_reassignments", [Reassignment("t", 0, None)])
        code: ErrorCode = result.code
        return code

    assert cancel() is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    stage.move("t", 0, 3, 4)
    assert cancel() is ErrorCode.NONE
    assert (stage.partition("t").replicas, stage.partition("t").is_moving) == ((1, 2), False)
    stage.move("t", 0, 3, 4)
    assert stage.move("t", 0, 4, 5) is ErrorCode.NONE
    partition = stage.partition("t")
    assert (set(partition.adding_replicas), set(partition.removing_replicas)) == ({4, 5}, {1, 2, 3})
    stage.alter("t", 0, 1, 2, 4, 5)
    assert stage.partition("t").replicas == (4, 5)


def test_taking_a_move_back_does_not_lose_what_only_the_new_ones_have() -> None:
    stage = cluster(1, brokers=3)
    stage.move("t", 0, 2, 3)
    stage.alter("t", 0, 1, 2)
    stage.fence(1)  # min.insync.replicas=1: 2 commits alone now
    assert shown(stage)[:2] == (2, (2,))
    (result,) = stage.do("alter_reassignments", [Reassignment("t", 0, None)])
    assert result.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT and stage.partition("t").is_moving


def test_moves_that_are_refused() -> None:
    stage = cluster(1, 2)
    assert stage.move("no", 0, 1) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert stage.move("t", 4, 1) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert stage.move("t", 0) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert stage.move("t", 0, 1, 1) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert stage.move("t", 0, 9) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    (result,) = stage.do("alter_reassignments", [Reassignment("t", 0, [1, 2, 3])], False)
    assert result.code is ErrorCode.INVALID_REPLICATION_FACTOR
    assert result.message == "The replication factor is changed from 2 to 3"  # Kafka's tool shows it


# --- brokers --------------------------------------------------------------------------------------------------------


def test_a_closed_connection_fences_at_once_but_not_another_life() -> None:
    stage = cluster(1, 2)
    epoch = stage.image.brokers[1].broker_epoch
    assert stage.do("fence_broker", 1, epoch - 1) is False
    assert stage.do("fence_broker", 1, epoch) is True
    assert shown(stage)[:2] == (2, (2,)) and not stage.image.is_alive(1)
    assert stage.do("fence_broker", 1, epoch) is False


def test_the_default_replication_factor_follows_the_size_of_the_cluster() -> None:
    for brokers, factor in ((1, 1), (2, 2), (3, 3), (5, 3)):
        stage = Stage(brokers)
        assert stage.create("t", 1, -1).replication_factor == factor
    assert Stage(3, settings=Settings({"default.replication.factor": "1"})).create("t", 1, -1).replication_factor == 1
    voters = Settings({"controller.quorum.voters": "1@a:1,2@b:1,3@c:1"})
    assert Stage(1, settings=voters).create("t", 1, -1).code is ErrorCode.INVALID_REPLICATION_FACTOR
    assert Stage(1, settings=voters).create("t", 1, 1).code is ErrorCode.NONE


def test_a_new_controller_finishes_a_decision_that_was_half_written() -> None:
    stage = cluster(1, 2, 3)
    records, _ = stage.controller.fence_broker(1, stage.image.brokers[1].broker_epoch)
    stage.write(records[:1])
    assert stage.partition("t").leader == 1
    stage.do("finish_predecessor")
    assert shown(stage)[:2] == (2, (2, 3))
    assert stage.controller.finish_predecessor() == ([], None)


def test_the_clusters_own_topics_grow_with_it() -> None:
    from barnabas.core.cluster import internal_topic
    from barnabas.model.ids import OFFSETS_TOPIC, TRANSACTION_TOPIC

    stage = Stage(1, racks=1)
    for name in (OFFSETS_TOPIC, TRANSACTION_TOPIC):
        stage.do("create_topics", [internal_topic(name, Settings(), stage.image)])
    assert {p.replicas for p in stage.image.topics[OFFSETS_TOPIC].partitions} == {(1,)}
    for broker_id, rack in ((2, "r0"), (3, "r1"), (4, "r2")):
        stage.register(broker_id, rack=rack, fenced=True)
        stage.unfence(broker_id)
        for name in (OFFSETS_TOPIC, TRANSACTION_TOPIC):
            for index in range(50):
                stage.alter(name, index, *stage.partition(name, index).replicas)
    for name in (OFFSETS_TOPIC, TRANSACTION_TOPIC):
        partitions = stage.image.topics[name].partitions
        assert {len(p.replicas) for p in partitions} == {3} and not any(p.is_moving for p in partitions)
        assert {p.isr == p.replicas for p in partitions} == {True} and {p.leader for p in partitions} == {1}
    stage.fence(2)
    before = stage.image.topics
    stage.unfence(2)
    assert stage.image.topics is before, "nothing grows that has enough"
