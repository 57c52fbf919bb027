"""Changing settings: set, delete, append, subtract, replace; a resource changes whole or not at all."""

import pytest

from barnabas.core.cluster import ConfigChange, FeatureUpdate
from barnabas.model import limits
from barnabas.model.errors import ErrorCode
from barnabas.model.settings import ResourceType, Settings
from tests.unit.cluster.stage import Stage

SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
NONE, INVALID, CONFIG = ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CONFIG


def alter(stage: Stage, kind: int, name: str, *changes: tuple[str, int, str | None]) -> ErrorCode:
    (result,) = stage.do("incremental_alter_configs", [ConfigChange(kind, name, changes)])
    code: ErrorCode = result.code
    return code


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.create("t")
    return stage


def test_set_and_delete(stage: Stage) -> None:
    assert alter(stage, TOPIC, "t", ("retention.ms", SET, "5"), ("flush.ms", SET, "6")) is NONE
    assert stage.image.config(TOPIC, "t") == {"retention.ms": "5", "flush.ms": "6"}
    assert alter(stage, TOPIC, "t", ("retention.ms", DELETE, None), ("nope", DELETE, None)) is NONE
    assert stage.image.config(TOPIC, "t") == {"flush.ms": "6"}


def test_append_begins_with_the_default_and_adds_nothing_twice(stage: Stage) -> None:
    assert alter(stage, TOPIC, "t", ("cleanup.policy", APPEND, "compact")) is NONE
    assert stage.image.config(TOPIC, "t") == {"cleanup.policy": "delete,compact"}
    assert alter(stage, TOPIC, "t", ("cleanup.policy", APPEND, "compact")) is NONE
    assert stage.image.config(TOPIC, "t") == {"cleanup.policy": "delete,compact"}
    assert alter(stage, TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete")) is NONE
    assert stage.image.config(TOPIC, "t") == {"cleanup.policy": "compact"}
    assert alter(stage, TOPIC, "t", ("cleanup.policy", SUBTRACT, "compact,delete")) is NONE
    assert stage.image.config(TOPIC, "t") == {"cleanup.policy": ""}


@pytest.mark.parametrize(
    ("kind", "name", "change", "code"),
    [
        (TOPIC, "t", ("retention.ms", SET, None), INVALID),
        (TOPIC, "t", ("cleanup.policy", APPEND, None), INVALID),
        (TOPIC, "t", ("retention.ms", APPEND, "5"), CONFIG),
        (TOPIC, "t", ("nope", SET, "5"), CONFIG),
        (TOPIC, "t", ("nope", APPEND, "5"), CONFIG),
        (TOPIC, "t", ("retention.ms", SET, "-5"), CONFIG),
        (TOPIC, "t", ("retention.ms", 9, "5"), INVALID),
        (TOPIC, "no", ("retention.ms", SET, "5"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "n o", ("retention.ms", SET, "5"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "", ("retention.ms", SET, "5"), INVALID),
        (0, "t", ("a", SET, "1"), INVALID),
        (99, "t", ("a", SET, "1"), INVALID),
        (LOGGER, "1", ("a", SET, "INFO"), INVALID),
        (BROKER, "1", ("num.partitions", SET, "3"), INVALID),
        (BROKER, "1", ("log.cleaner.threads", SET, "3"), NONE),
        (BROKER, "1", ("plugin.name", SET, "3"), NONE),
        (BROKER, "9", ("log.cleaner.threads", SET, "3"), INVALID),
        (BROKER, "x", ("log.cleaner.threads", SET, "3"), INVALID),
        (BROKER, "-1", ("log.cleaner.threads", SET, "3"), INVALID),
        (BROKER, "", ("log.retention.ms", SET, "5"), NONE),
        (BROKER, "", ("ssl.keystore.location", SET, "x"), INVALID),
        (BROKER, "1", ("ssl.keystore.location", SET, "x"), INVALID),
        (BROKER, "1", ("listener.name.a.ssl.keystore.location", SET, "x"), NONE),
        (BROKER, "", ("listener.name.a.ssl.keystore.location", SET, "x"), INVALID),
        (BROKER, "", ("log.cleaner.threads", SET, "200"), INVALID),
        (BROKER, "", ("log.retention.ms", SET, "abc"), INVALID),
        (BROKER, "", ("log.retention.hours", SET, "3"), INVALID),
        (GROUP, "g", ("consumer.session.timeout.ms", SET, "46000"), NONE),
        (GROUP, "g", ("consumer.session.timeout.ms", SET, "1000"), CONFIG),
        (GROUP, "g", ("consumer.session.timeout.ms", SET, "70000"), CONFIG),
        (GROUP, "g", ("consumer.session.timeout.ms", SET, "x"), CONFIG),
        (GROUP, "g", ("foo", SET, "1"), CONFIG),
        (GROUP, "", ("consumer.session.timeout.ms", SET, "46000"), INVALID),
        (METRICS, "m", ("interval.ms", SET, "10000"), NONE),
        (METRICS, "m", ("interval.ms", SET, "1"), INVALID),
        (METRICS, "m", ("match", SET, "foo=bar"), CONFIG),
        (METRICS, "m", ("match", SET, "client_id=b.*"), NONE),
        (METRICS, "m", ("x", SET, "1"), INVALID),
        (METRICS, "", ("interval.ms", SET, "10000"), INVALID),
    ],
)
def test_one_change(stage: Stage, kind: int, name: str, change: tuple[str, int, str | None], code: ErrorCode) -> None:
    before = stage.image
    assert alter(stage, kind, name, change) is code
    assert (stage.image == before) == (code is not NONE)


def test_a_resource_changes_whole_or_not_at_all(stage: Stage) -> None:
    assert alter(stage, TOPIC, "t", ("retention.ms", SET, "5"), ("retention.bytes", SET, "x")) is CONFIG
    assert stage.image.config(TOPIC, "t") == {}


def test_one_bad_resource_does_not_stop_the_others(stage: Stage) -> None:
    good = ConfigChange(TOPIC, "t", [("retention.ms", SET, "5")])
    bad = ConfigChange(TOPIC, "no", [("retention.ms", SET, "5")])
    results = stage.do("incremental_alter_configs", [bad, good])
    assert [result.code for result in results] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NONE]
    assert stage.image.config(TOPIC, "t") == {"retention.ms": "5"}


@pytest.mark.parametrize("method", ["incremental_alter_configs", "alter_configs"])
def test_what_stands_there_twice_is_refused(stage: Stage, method: str) -> None:
    once = ConfigChange(TOPIC, "t", [("retention.ms", SET, "5")])
    assert [result.code for result in stage.do(method, [once, once])] == [INVALID, INVALID]
    twice = ConfigChange(TOPIC, "t", [("retention.ms", SET, "5"), ("retention.ms", SET, "6")])
    assert [result.code for result in stage.do(method, [twice])] == [INVALID]
    assert stage.image.config(TOPIC, "t") == {}


def test_replacing_forgets_what_is_not_named(stage: Stage) -> None:
    alter(stage, TOPIC, "t", ("retention.ms", SET, "5"), ("flush.ms", SET, "6"))
    (result,) = stage.do("alter_configs", [ConfigChange(TOPIC, "t", [("flush.ms", SET, "7")])])
    assert result.code is NONE and stage.image.config(TOPIC, "t") == {"flush.ms": "7"}
    (result,) = stage.do("alter_configs", [ConfigChange(TOPIC, "t", [("flush.ms", SET, None)])])
    assert result.code is INVALID
    stage.do("alter_configs", [ConfigChange(TOPIC, "t", [])])
    assert stage.image.config(TOPIC, "t") == {}


def test_a_dry_run_and_a_change_to_the_same_write_nothing(stage: Stage) -> None:
    alter(stage, TOPIC, "t", ("retention.ms", SET, "5"))
    written = len(stage.log)
    alter(stage, TOPIC, "t", ("retention.ms", SET, "5"))
    stage.do("incremental_alter_configs", [ConfigChange(TOPIC, "t", [("retention.ms", SET, "9")])], True)
    assert len(stage.log) == written


def test_values_and_their_number_are_bounded(stage: Stage) -> None:
    longest = "x" * limits.CONFIG_VALUE_MAX_CHARS
    assert alter(stage, BROKER, "1", ("plugin", SET, longest)) is NONE
    assert alter(stage, BROKER, "1", ("plugin", SET, longest + "x")) is CONFIG
    many = [(f"p{i}", SET, "1") for i in range(limits.CONFIGS_PER_RESOURCE_MAX - 1)]
    assert alter(stage, BROKER, "1", *many) is NONE
    assert alter(stage, BROKER, "1", ("one.more", SET, "1")) is CONFIG


def test_the_last_setting_of_a_group_takes_its_entry_along(stage: Stage) -> None:
    alter(stage, GROUP, "g", ("consumer.session.timeout.ms", SET, "46000"))
    assert (ResourceType.GROUP, "g") in stage.image.configs
    alter(stage, GROUP, "g", ("consumer.session.timeout.ms", DELETE, None))
    assert (ResourceType.GROUP, "g") not in stage.image.configs


def test_a_node_that_is_only_a_controller_can_be_configured() -> None:
    stage = Stage(1, controllers=lambda: (1, 3000))
    assert alter(stage, BROKER, "3000", ("log.cleaner.threads", SET, "3")) is NONE
    assert stage.image.config(ResourceType.BROKER, "3000") == {"log.cleaner.threads": "3"}
    assert alter(stage, BROKER, "3001", ("log.cleaner.threads", SET, "3")) is INVALID


def test_the_cluster_has_a_min_insync_replicas_with_eligible_leader_replicas() -> None:
    """KIP-966: leaders and the controller must agree on it, so it is set when the cluster is made, and stays set."""
    stage = Stage(1, settings=Settings({"min.insync.replicas": "2"}))
    assert stage.image.config(ResourceType.BROKER, "") == {"min.insync.replicas": "2"}
    assert alter(stage, BROKER, "", ("min.insync.replicas", DELETE, None)) is CONFIG
    assert alter(stage, BROKER, "1", ("min.insync.replicas", SET, "2")) is CONFIG
    assert alter(stage, BROKER, "", ("min.insync.replicas", SET, "1")) is NONE
    stage.do("update_features", [FeatureUpdate("eligible.leader.replicas.version", 0, 2)])
    assert alter(stage, BROKER, "", ("min.insync.replicas", DELETE, None)) is NONE
    stage.do("update_features", [FeatureUpdate("eligible.leader.replicas.version", 1, 1)])
    assert stage.image.config(ResourceType.BROKER, "") == {"min.insync.replicas": "2"}


def test_the_features_of_a_release_can_be_set() -> None:
    """What `kafka-features upgrade --release-version 4.3` asks for."""
    stage = Stage(1)
    wanted = {
        "metadata.version": 30, "kraft.version": 1, "transaction.version": 2, "group.version": 1,
        "eligible.leader.replicas.version": 1, "share.version": 1, "streams.version": 1,
    }  # fmt: skip
    stage.do("update_features", [FeatureUpdate(name, level, 1) for name, level in wanted.items()], True)
    assert "share.version" not in stage.image.features
    stage.do("update_features", [FeatureUpdate(name, level, 1) for name, level in wanted.items()])
    assert wanted.items() <= stage.image.features.items()
