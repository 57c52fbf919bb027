"""Linked topics in the controller: leader epochs above the source's, promotion, a topic that is given back."""

import pytest

from barnabas.core.cluster import ConfigChange, MorePartitions, NewTopic
from barnabas.core.cluster.links import promoted_topics
from barnabas.core.cluster.name_patterns import NamePatterns
from barnabas.model import limits
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.linked_topics import EPOCHS_OF_A_CLUSTER, epoch_block_above
from tests.unit.cluster.stage import Stage

SET, DELETE = 0, 1
TOPIC, LINK = 2, 64
NONE, CONFIG, POLICY = ErrorCode.NONE, ErrorCode.INVALID_CONFIG, ErrorCode.POLICY_VIOLATION
BLOCK = EPOCHS_OF_A_CLUSTER


def alter(stage: Stage, kind: int, name: str, **changes: str | None) -> ErrorCode:
    made = [(key.replace("_", "."), DELETE if value is None else SET, value) for key, value in changes.items()]
    (result,) = stage.do("incremental_alter_configs", [ConfigChange(kind, name, made)])
    code: ErrorCode = result.code
    return code


def linked(stage: Stage, epoch: int = BLOCK) -> None:
    configs = [("link.name", "east"), ("link.leader.epoch", str(epoch))]
    (result,) = stage.do("create_topics", [NewTopic("t", num_partitions=2, replication_factor=1, configs=configs)])
    assert result.code is NONE


def epochs(stage: Stage) -> list[int]:
    return [partition.leader_epoch for partition in stage.image.topics["t"].partitions]


def test_a_block_of_epochs_is_above_all_of_the_source() -> None:
    assert epoch_block_above(0) == BLOCK
    assert epoch_block_above(BLOCK - 1) == BLOCK
    assert epoch_block_above(BLOCK) == 2 * BLOCK


def test_partitions_begin_in_their_block_and_are_promoted_by_a_new_epoch() -> None:
    stage = Stage()
    linked(stage)
    assert epochs(stage) == [BLOCK, BLOCK]
    (result,) = stage.do("create_partitions", [MorePartitions("t", 3)], linked=True)
    assert result.code is NONE and epochs(stage) == [BLOCK] * 3
    assert alter(stage, TOPIC, "t", link_name=None) is NONE
    assert epochs(stage) == [BLOCK + 1] * 3
    assert stage.image.config(TOPIC, "t") == {"link.leader.epoch": str(BLOCK)}
    assert stage.replayed() == stage.image


@pytest.mark.parametrize("told", ["SOURCE", None])
def test_promoted_topics_are_known_by_the_id_of_the_source(told: str | None) -> None:
    """An older link does not have it in its settings: then a topic that it still fills says it."""
    stage = Stage()
    for topic, settings in {
        "filled": {"link.name": "east", "link.cluster.id": "SOURCE"},
        "was": {"link.cluster.id": "SOURCE"},
        "other": {"link.cluster.id": "ELSEWHERE"},
        "own": {},
    }.items():
        new = NewTopic(topic, num_partitions=1, replication_factor=1, configs=list(settings.items()))
        assert stage.do("create_topics", [new])[0].code is NONE
    given = {} if told is None else {"source_cluster_id": told}
    assert alter(stage, LINK, "east", bootstrap_servers="h:1", **given) is NONE
    assert alter(stage, LINK, "west", bootstrap_servers="h:2", source_cluster_id="NOWHERE") is NONE
    assert promoted_topics(stage.image, ["east", "west"]) == {"east": ["was"], "west": []}


def test_clients_neither_grow_nor_delete_it() -> None:
    stage = Stage()
    linked(stage)
    (grown,) = stage.do("create_partitions", [MorePartitions("t", 3)])
    (deleted,) = stage.do("delete_topics", [("t", bytes(16))])
    assert grown.code is deleted.code is POLICY
    (deleted,) = stage.do("delete_topics", [("t", bytes(16))], linked=True)
    assert deleted.code is NONE and "t" not in stage.image.topics


def test_a_topic_is_given_back_with_epochs_above_its_own() -> None:
    stage = Stage()
    stage.create("t", 2)
    assert alter(stage, TOPIC, "t", link_name="east", link_leader_epoch="0") is CONFIG
    assert epochs(stage) == [0, 0]
    assert alter(stage, TOPIC, "t", link_name="east", link_leader_epoch=str(2 * BLOCK)) is NONE
    assert epochs(stage) == [2 * BLOCK, 2 * BLOCK]
    assert alter(stage, TOPIC, "t", link_name="west", link_leader_epoch=str(3 * BLOCK)) is POLICY
    assert alter(stage, TOPIC, "t", link_leader_epoch="2147483648") is CONFIG
    assert stage.replayed() == stage.image


def test_a_cluster_with_a_link_has_producer_ids_of_its_own() -> None:
    stage = Stage()
    assert alter(stage, LINK, "east", bootstrap_servers="a:1") is NONE
    first = stage.image.next_producer_id
    assert first >= 1 << 40
    assert alter(stage, LINK, "west", bootstrap_servers="b:1") is NONE
    assert stage.image.next_producer_id == first, "once is enough"


def test_a_link_that_cannot_be_used_is_refused() -> None:
    stage = Stage()
    assert alter(stage, LINK, "east", topics="t") is CONFIG, "without bootstrap.servers"
    assert alter(stage, LINK, "east", bootstrap_servers="a:1", topics="(") is CONFIG
    assert alter(stage, LINK, "east", bootstrap_servers="a:1", unknown="x") is CONFIG
    assert alter(stage, LINK, "a b", bootstrap_servers="a:1") is ErrorCode.INVALID_REQUEST
    assert not any(kind == LINK for kind, _ in stage.image.configs)


def test_there_is_a_most_of_links(monkeypatch: pytest.MonkeyPatch) -> None:
    from barnabas.core.cluster import configs

    monkeypatch.setattr(configs, "LINKS_MAX", 1)
    stage = Stage()
    assert alter(stage, LINK, "east", bootstrap_servers="a:1") is NONE
    assert alter(stage, LINK, "west", bootstrap_servers="a:1") is POLICY


def test_patterns_are_of_whole_names_and_bounded() -> None:
    patterns = NamePatterns.of(["orders.*", "x"], "topics")
    assert patterns.match("orders") and patterns.match("orders.eu") and patterns.match("x")
    assert not patterns.match("my.orders") and not patterns.match("xy")
    for wrong in (["("], ["a" * (limits.LINK_PATTERN_MAX_CHARS + 1)], ["a"] * (limits.LINK_PATTERNS_MAX + 1)):
        with pytest.raises(KafkaError):
            NamePatterns.of(wrong, "topics")
