"""Zones as the controller sees them: who may lead while too few are in sync, and where leaders should be."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.core.cluster import NewTopic
from barnabas.core.cluster.internal_topics import internal_topic
from barnabas.core.cluster.items import ConfigChange, MorePartitions
from barnabas.core.cluster.partitions.placement import place
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import OFFSETS_TOPIC
from barnabas.model.settings import ResourceType, Settings
from tests.unit.cluster.partitions.test_placement import broker
from tests.unit.cluster.stage import Stage

# Of Stage: broker n is in the rack r(n % racks), so with three racks 1 and 4 share r1, 2 and 5 r2, 3 and 6 r0.


def stage_of(brokers: int = 3, racks: int = 3, **settings: str) -> Stage:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return Stage(brokers, racks, Settings(given))


def topic(stage: Stage, replicas: tuple[int, ...], **configs: str) -> None:
    pairs = [(name.replace("_", "."), value) for name, value in configs.items()]
    assert stage.do("create_topics", [NewTopic("t", assignments=[(0, replicas)], configs=pairs)])[0].code == 0


def altered(stage: Stage, name: str, value: str, resource: str = "t") -> ErrorCode:
    kind = ResourceType.TOPIC if resource == "t" else ResourceType.BROKER
    change = ConfigChange(kind, "" if resource == "all" else resource, [(name, 0, value)])
    code: ErrorCode = stage.do("incremental_alter_configs", [change])[0].code
    return code


def test_who_leaves_while_too_few_zones_are_in_sync_may_lead() -> None:
    stage = stage_of(4)
    topic(stage, (1, 4, 2), min_insync_zones="2")  # 1 and 4 share a zone
    stage.alter("t", 0, 1, 4)
    assert stage.partition("t").elr == (2,), "two are in sync, in one zone: nothing is committed without 2"
    stage.alter("t", 0, 1)
    assert stage.partition("t").elr == (2, 4)
    stage.alter("t", 0, 1, 2)
    assert stage.partition("t").elr == (), "two zones are in sync: they commit without 4"


def test_without_the_setting_zones_do_not_count() -> None:
    stage = stage_of(4)
    topic(stage, (1, 4, 2))
    stage.alter("t", 0, 1, 4)
    assert stage.partition("t").elr == ()


def test_fewer_zones_may_be_enough_after_a_change_of_the_setting() -> None:
    stage = stage_of(4)
    topic(stage, (1, 4, 2), min_insync_zones="2")
    stage.alter("t", 0, 1, 4)
    assert stage.partition("t").elr == (2,)
    assert altered(stage, "min.insync.zones", "1") is ErrorCode.NONE
    assert stage.partition("t").elr == ()


def test_the_setting_of_the_first_controller_becomes_that_of_the_cluster() -> None:
    stage = stage_of(3, min_insync_zones="2")
    assert stage.image.config(ResourceType.BROKER, "")["min.insync.zones"] == "2"
    assert altered(stage, "min.insync.zones", "1", "2") is ErrorCode.INVALID_CONFIG, "leaders would disagree"
    removal = ConfigChange(ResourceType.BROKER, "", [("min.insync.zones", 1, None)])
    assert stage.do("incremental_alter_configs", [removal])[0].code is ErrorCode.INVALID_CONFIG
    assert altered(stage, "min.insync.zones", "0", "all") is ErrorCode.INVALID_REQUEST
    assert altered(stage, "min.insync.zones", "1", "all") is ErrorCode.NONE
    assert "min.insync.zones" not in stage_of(3).image.config(ResourceType.BROKER, "")


@given(
    racks=st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=9),
    factor=st.integers(1, 4),
    preferred=st.lists(st.sampled_from(["a", "b", "c", "nowhere"]), unique=True, min_size=1, max_size=3),
    seed=st.integers(0, 99),
)
def test_leaders_are_placed_in_the_best_zone_there_is(
    racks: list[str], factor: int, preferred: list[str], seed: int
) -> None:
    brokers = [broker(i, rack) for i, rack in enumerate(racks)]
    if factor > len(brokers):
        return
    placed = place(brokers, 40, factor, Random(seed), preferred)
    best = next((rack for rack in preferred if rack in racks), None)
    leaders = Counter(replicas[0] for replicas in placed)
    if best is not None:
        assert {racks[leader] for leader in leaders} == {best}
        assert len(leaders) == racks.count(best)
    assert max(leaders.values()) - min(leaders.values()) <= 1
    for replicas in placed:
        assert len(set(replicas)) == factor
        assert len({racks[each] for each in replicas}) == min(factor, len(set(racks))), "still as many zones as can be"


def test_a_fenced_broker_of_the_preferred_zone_does_not_lead() -> None:
    brokers = [broker(1, "a", fenced=True), broker(2, "b"), broker(3, "c")]
    for replicas in place(brokers, 10, 3, Random(0), ["a"]):
        assert replicas[-1] == 1


def test_new_topics_and_partitions_have_leaders_in_the_preferred_zone() -> None:
    stage = stage_of(6, leader_preferred_racks="r2")
    stage.do("create_topics", [NewTopic("t", 6, 3), NewTopic("u", 6, 2, configs=[("leader.preferred.racks", "r0")])])
    stage.do("create_partitions", [MorePartitions("t", 12), MorePartitions("u", 12)])
    assert {each.leader for each in stage.image.topics["t"].partitions} == {2, 5}
    assert {each.leader for each in stage.image.topics["u"].partitions} == {3, 6}
    for name in "tu":
        for each in stage.image.topics[name].partitions:
            racks = {stage.image.brokers[b].rack for b in each.replicas}
            assert len(racks) == len(each.replicas)


def test_leaders_go_to_the_preferred_zone_when_the_setting_changes_and_when_it_is_back() -> None:
    stage = stage_of(3)
    topic(stage, (1, 2, 3))
    assert altered(stage, "leader.preferred.racks", "r0,r2") is ErrorCode.NONE
    assert stage.do("balance_leaders") == 1
    assert (stage.partition("t").leader, stage.partition("t").replicas) == (3, (3, 2, 1))
    assert stage.do("balance_leaders") == 0
    epoch = stage.image.brokers[3].broker_epoch
    stage.do("fence_broker", 3, epoch)
    assert stage.partition("t").leader == 2, "the next best zone"
    stage.beat(3)
    stage.alter("t", 0, 1, 2, 3)
    assert stage.do("balance_leaders") == 1
    assert stage.partition("t").leader == 3


def test_a_preferred_election_honours_the_setting() -> None:
    stage = stage_of(3)
    topic(stage, (1, 2, 3), leader_preferred_racks="r2")
    assert stage.do("elect_leaders", 0, [("t", 0)])[0].code is ErrorCode.NONE
    assert stage.partition("t").leader == 2
    assert stage.do("elect_leaders", 0, [("t", 0)])[0].code is ErrorCode.ELECTION_NOT_NEEDED
    assert stage.do("elect_leaders", 0, None) == []


def test_internal_topics_grow_into_other_zones() -> None:
    stage = Stage(0, settings=Settings({"offsets.topic.num.partitions": "4"}))
    for number, rack in ((1, "a"), (2, "a")):
        stage.register(number, rack=rack)
    made = internal_topic(OFFSETS_TOPIC, stage.controller.settings, stage.image)
    stage.do("create_topics", [made])
    for number, rack in ((3, "a"), (4, "b")):
        stage.register(number, rack=rack, fenced=True)
    stage.beat(4)
    racks = {number: known.rack for number, known in stage.image.brokers.items()}
    for each in stage.image.topics[OFFSETS_TOPIC].partitions:
        assert {racks[b] for b in each.replicas} == {"a", "b"}, each.replicas


def test_a_bad_list_of_racks_is_refused() -> None:
    with pytest.raises(KafkaError):
        Settings({"leader.preferred.racks": "a,,b"})["leader.preferred.racks"]
