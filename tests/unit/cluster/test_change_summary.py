"""Changes of the cluster as an operator reads them: a few lines, however many there are, and no secrets."""

from barnabas.core.cluster.change_summary import NAMES_MAX, ChangeSummary
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.records import (
    AccessControlEntry,
    ChangeBroker,
    ConfigRecord,
    PartitionChange,
    PartitionRecord,
    Record,
    RemoveAccessControlEntry,
    RemoveTopic,
    TopicRecord,
)
from barnabas.model.settings import ResourceType

ID = bytes(15) + b"\1"


def _topic(partitions: int, name: str = "orders") -> list[Record]:
    made: list[Record] = [TopicRecord(name=name, topic_id=ID)]
    for index in range(partitions):
        made.append(PartitionRecord(topic_id=ID, partition=index, replicas=(1, 2, 3), isr=(1, 2, 3), leader=1))
    return made


def _lines(records: list[Record], before: MetadataImage) -> list[str]:
    summary = ChangeSummary()
    summary.add(records, before)
    lines = [text for _, text in summary.lines()]
    assert summary.lines() == []  # it begins anew
    return lines


def test_topics_created_grown_and_deleted() -> None:
    empty = MetadataImage()
    assert _lines(_topic(6), empty) == ["1 topic created: orders (6 partitions, 3 replicas)"]
    image = empty.apply(_topic(1))
    more = [PartitionRecord(topic_id=ID, partition=1, replicas=(1,), isr=(1,), leader=1)]
    assert _lines(list(more), image) == ["1 topic has grown: orders (1 more)"]
    assert _lines([RemoveTopic(topic_id=ID)], image) == ["1 topic deleted: orders"]


def test_a_failover_of_thousands_of_partitions_is_two_lines() -> None:
    image = MetadataImage().apply(_topic(5_000))
    changes: list[Record] = [
        PartitionChange(topic_id=ID, partition=index, leader=2, isr=(2, 3)) for index in range(5_000)
    ]
    leaders, in_sync = _lines(changes, image)
    assert leaders.startswith("5,000 partitions have another leader: orders-0 from 1 to 2, orders-1 from 1 to 2")
    assert leaders.endswith(f"and {5_000 - NAMES_MAX:,} more")
    assert in_sync.startswith("5,000 partitions have fewer replicas in sync: orders-0 [2,3] of [1,2,3]")
    assert len(leaders) < 300
    assert len(in_sync) < 300


def test_a_partition_without_a_leader_needs_attention() -> None:
    image = MetadataImage().apply(_topic(1))
    summary = ChangeSummary()
    summary.add([PartitionChange(topic_id=ID, partition=0, leader=-1)], image)
    assert summary.lines() == [(True, "1 partition has no leader: orders-0")]


def test_replicas_that_come_back_into_sync() -> None:
    image = MetadataImage().apply([*_topic(1), PartitionChange(topic_id=ID, partition=0, isr=(1,))])
    change = PartitionChange(topic_id=ID, partition=0, isr=(1, 2))
    assert _lines([change], image) == ["1 partition has more replicas in sync: orders-0 [1,2] of [1,2,3]"]


def test_settings_are_shown_unless_they_may_be_secret() -> None:
    def changed(kind: ResourceType, name: str, setting: str, value: str | None) -> ConfigRecord:
        return ConfigRecord(resource_type=int(kind), resource_name=name, name=setting, value=value)

    assert _lines(
        [
            changed(ResourceType.TOPIC, "orders", "retention.ms", "1000"),
            changed(ResourceType.TOPIC, "orders", "cleanup.policy", None),
            changed(ResourceType.BROKER, "", "ssl.keystore.password", "hunter2"),
            changed(ResourceType.BROKER, "3", "of.a.plugin", "hunter2"),
        ],
        MetadataImage(),
    ) == [
        "settings of topic orders changed: retention.ms=1000, cleanup.policy back to its default",
        "settings of every broker changed: ssl.keystore.password (value not shown)",
        "settings of broker 3 changed: of.a.plugin (value not shown)",
    ]


def test_brokers_that_come_and_go() -> None:
    told = _lines(
        [
            ChangeBroker(broker_id=2, broker_epoch=7, fenced=True),
            ChangeBroker(broker_id=3, broker_epoch=8, in_controlled_shutdown=True),
        ],
        MetadataImage(),
    )
    assert told == ["broker 2 is fenced", "broker 3 is being shut down"]


def test_rules_added_and_removed() -> None:
    rule = AccessControlEntry(
        id=ID,
        resource_type=2,
        resource_name="orders",
        pattern_type=3,
        principal="User:alice",
        host="10.0.0.1",
        operation=3,
        permission=3,
    )
    empty = MetadataImage()
    told = "ALLOW User:alice from 10.0.0.1 READ on TOPIC 'orders'"
    assert _lines([rule], empty) == [f"1 rule (ACL) added: {told}"]
    assert _lines([RemoveAccessControlEntry(id=ID)], empty.apply([rule])) == [f"1 rule (ACL) removed: {told}"]
