"""Which value wins, and what DescribeConfigs says of where it comes from."""

import pytest

from barnabas.model.errors import KafkaError
from barnabas.model.settings import (
    ConfigSource,
    Settings,
    StaticValue,
    Synonym,
    cluster_entries,
    group_entries,
    group_settings,
    node_entries,
    topic_entries,
)


def test_the_strongest_source_wins() -> None:
    settings = Settings({"log.segment.bytes": "2000000"})
    assert settings["log.segment.bytes"] == 2_000_000
    assert settings.source("log.segment.bytes") is ConfigSource.STATIC
    for_all = settings.with_dynamic(cluster={"log.segment.bytes": "3000000"}, node={})
    assert for_all.int("log.segment.bytes") == 3_000_000
    assert for_all.source("log.segment.bytes") is ConfigSource.DYNAMIC_CLUSTER
    for_one = settings.with_dynamic(cluster={"log.segment.bytes": "3000000"}, node={"log.segment.bytes": "4000000"})
    assert for_one.int("log.segment.bytes") == 4_000_000
    assert for_one.source("log.segment.bytes") is ConfigSource.DYNAMIC_NODE
    assert settings["log.segment.bytes"] == 2_000_000  # the first one is as it was
    assert [s.source for s in for_one.synonyms("log.segment.bytes")] == [2, 3, 4, 5]


def test_a_topic_falls_back_to_the_node() -> None:
    settings = Settings({"log.segment.bytes": "2000000"})
    assert settings.topic({}).resolve("segment.bytes") == (2_000_000, ConfigSource.STATIC)
    assert settings.topic({"segment.bytes": "5000000"}).resolve("segment.bytes") == (5_000_000, ConfigSource.TOPIC)
    assert settings.topic({}).resolve("segment.ms") == (604_800_000, ConfigSource.DEFAULT)


@pytest.mark.parametrize(
    ("static", "retention_ms"),
    [
        ({"log.retention.hours": "1"}, 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2"}, 120_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2", "log.retention.ms": "3"}, 3),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.minutes": "-5"}, -1),
        ({}, 604_800_000),
    ],
)
def test_of_three_units_the_finest_wins(static: dict[str, str], retention_ms: int) -> None:
    assert Settings(static).topic({})["retention.ms"] == retention_ms


def test_a_dynamic_value_beats_a_static_one_of_another_unit() -> None:
    settings = Settings({"log.roll.hours": "5"}).with_dynamic(cluster={"log.roll.ms": "77"}, node={})
    assert settings.topic({}).resolve("segment.ms") == (77, ConfigSource.DYNAMIC_CLUSTER)


def test_synonyms_are_listed_as_kafka_lists_them() -> None:
    """Only from the setting's own name on: hours behind retention.ms are not shown, as long as no ms are set."""
    settings = Settings({"log.retention.hours": "1", "log.segment.bytes": "2000000"})
    assert settings.topic({}).synonyms("retention.ms") == []
    assert settings.topic({"retention.ms": "9"}).synonyms("retention.ms") == [
        Synonym("retention.ms", "9", ConfigSource.TOPIC)
    ]
    assert settings.topic({}).synonyms("segment.bytes") == [
        Synonym("log.segment.bytes", "2000000", ConfigSource.STATIC),
        Synonym("log.segment.bytes", "1073741824", ConfigSource.DEFAULT),
    ]


def test_broker_id_and_node_id_are_one() -> None:
    assert Settings({"broker.id": "7"}).int("node.id") == 7
    assert Settings({"node.id": "8"}).int("broker.id") == 8
    assert Settings({"broker.id": "7"}).with_dynamic(cluster={}, node={}).int("node.id") == 7


def test_a_bad_static_value_names_its_place() -> None:
    with pytest.raises(KafkaError, match=r"server\.properties:12: log\.segment\.bytes='5'"):
        Settings({"log.segment.bytes": StaticValue("5", "server.properties:12")})


def test_an_unreadable_dynamic_value_is_passed_over() -> None:
    settings = Settings().with_dynamic(cluster={"log.segment.bytes": "5", "unknown.name": "x"}, node={})
    assert settings.int("log.segment.bytes") == 1_073_741_824


def test_a_group_falls_back_to_the_node() -> None:
    settings = Settings({"group.consumer.session.timeout.ms": "50000"})
    assert group_settings(settings, {})["consumer.session.timeout.ms"] == 50_000
    assert group_settings(settings, {"consumer.session.timeout.ms": "46000"})["consumer.session.timeout.ms"] == 46_000


def test_listeners_leave_out_the_quorums_own() -> None:
    settings = Settings({"listeners": "PLAINTEXT://:9092, CONTROLLER://:9093,IPV6://[::1]:9094"} | _with_map("IPV6"))
    assert [(x.name, x.host, x.port) for x in settings.client_listeners()] == [
        ("PLAINTEXT", "", 9092),
        ("IPV6", "::1", 9094),
    ]


def _with_map(name: str) -> dict[str, str]:
    return {"listener.security.protocol.map": f"{name}:PLAINTEXT,PLAINTEXT:PLAINTEXT"}


@pytest.mark.parametrize(
    ("listeners", "complaint"),
    [
        ("PLAINTEXT//:9092", "is not NAME://host:port"),
        ("PLAINTEXT://:99999", "is not NAME://host:port"),
        ("PLAINTEXT://a:1,PLAINTEXT://b:2", "twice"),
        ("OTHER://:9092", "no protocol for listener OTHER"),
    ],
)
def test_a_bad_listener_is_one_clear_line(listeners: str, complaint: str) -> None:
    with pytest.raises(KafkaError, match=complaint):
        Settings({"listeners": listeners}).client_listeners()


def test_describing_shows_no_secret_and_no_unknown_value() -> None:
    settings = Settings({"ssl.key.password": "hunter2"})
    entries = {entry.name: entry for entry in node_entries(settings, {"plugin.key": "s3cret"})}
    assert entries["ssl.key.password"].value is None and entries["ssl.key.password"].sensitive
    assert all(synonym.value is None for synonym in entries["ssl.key.password"].synonyms)
    assert entries["plugin.key"].value is None and entries["plugin.key"].sensitive
    assert "s3cret" not in str(entries) and "hunter2" not in str(entries)


def test_describing_a_topic_lists_every_setting_once() -> None:
    entries = list(topic_entries(Settings(), {"retention.ms": "5"}))
    assert len(entries) == 33 == len({entry.name for entry in entries})
    (retention,) = [entry for entry in entries if entry.name == "retention.ms"]
    assert (retention.value, retention.source, retention.read_only) == ("5", ConfigSource.TOPIC, False)
    hidden = {entry.name for entry in topic_entries(Settings(), {"internal.segment.bytes": "5"})}
    assert "internal.segment.bytes" in hidden


def test_describing_all_brokers_lists_only_what_was_set() -> None:
    assert [(e.name, e.value) for e in cluster_entries({"log.retention.ms": "5", "who": "x"})] == [
        ("log.retention.ms", "5"),
        ("who", None),
    ]


def test_describing_a_group_shows_its_own_value_first() -> None:
    entries = {entry.name: entry for entry in group_entries(Settings(), {"consumer.session.timeout.ms": "46000"})}
    own = entries["consumer.session.timeout.ms"]
    assert (own.value, own.source) == ("46000", ConfigSource.GROUP)
    assert own.synonyms[1].name == "group.consumer.session.timeout.ms"
    assert entries["share.auto.offset.reset"].synonyms == [
        Synonym("share.auto.offset.reset", "latest", ConfigSource.DEFAULT)
    ]
