"""Answers about groups by a node that does not coordinate them, or does not serve their protocol; bad settings."""

import asyncio
from pathlib import Path

import pytest

from barnabas.broker.settings.sources import load_settings
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire import apis
from tests.unit.broker.cluster import Cluster, ask, run, until

JOIN = {"group_id": "g", "member_id": "m", "member_epoch": 0, "rebalance_timeout_ms": 1000}
JOIN |= {"subscribed_topic_names": ["t"], "topic_partitions": []}


def test_every_partition_of_an_old_offset_fetch_carries_the_error(tmp_path: Path) -> None:
    """OffsetFetch 1 has no other place for it: a client that finds no topics believes that nothing is committed."""

    async def story() -> None:
        cluster = Cluster(tmp_path, 1)
        await cluster.start()
        try:
            body = {"group_id": "g", "topics": [{"name": "t", "partition_indexes": [0, 3]}]}
            answer = await ask(cluster.nodes[1], apis.OFFSET_FETCH, 1, body)
            found = [
                (part.partition_index, part.error_code, part.committed_offset) for part in answer.topics[0].partitions
            ]
            assert found == [(0, ErrorCode.NOT_COORDINATOR, -1), (3, ErrorCode.NOT_COORDINATOR, -1)]
            assert (await ask(cluster.nodes[1], apis.OFFSET_FETCH, 5, body)).error_code
            answer = await ask(cluster.nodes[1], apis.JOIN_GROUP, 5, {"group_id": "g", "protocol_type": "consumer"})
            assert answer.error_code == ErrorCode.NOT_COORDINATOR
        finally:
            cluster.drop()

    run(story)


@pytest.mark.parametrize("way", ["setting", "feature"])
def test_the_consumer_protocol_can_be_turned_off(tmp_path: Path, way: str) -> None:
    async def story() -> None:
        protocols = "classic" if way == "setting" else "classic,consumer"
        cluster = Cluster(tmp_path, 1, group_coordinator_rebalance_protocols=protocols)
        await cluster.start()
        node = cluster.nodes[1]
        try:
            if way == "feature":
                update = {"feature": "group.version", "max_version_level": 0, "upgrade_type": 2}
                body = {"timeout_ms": 5_000, "feature_updates": [update], "validate_only": False}
                assert (await ask(node, apis.UPDATE_FEATURES, 1, body)).error_code == 0
                await until(lambda: node.image.features.get("group.version", 0) == 0)
            answer = await ask(node, apis.CONSUMER_GROUP_HEARTBEAT, 1, JOIN)
            assert (answer.error_code, answer.error_message) == (ErrorCode.UNSUPPORTED_VERSION, None)
            described = await ask(node, apis.CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": ["a", "b"]})
            told = [(group.group_id, group.error_code, group.error_message) for group in described.groups]
            assert told == [(name, ErrorCode.UNSUPPORTED_VERSION, None) for name in ("a", "b")]
            if way == "feature":
                update["max_version_level"], update["upgrade_type"] = 1, 1
                assert (await ask(node, apis.UPDATE_FEATURES, 1, body)).error_code == 0
                await ask(node, apis.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": ["g"]})
                async with asyncio.timeout(10):
                    while (await ask(node, apis.CONSUMER_GROUP_HEARTBEAT, 1, JOIN)).error_code:
                        await asyncio.sleep(0.02)
        finally:
            cluster.drop()

    run(story)


@pytest.mark.parametrize(
    "given",
    [
        "group.consumer.assignors=mine",
        "group.consumer.assignors=uniform,org.example.Mine",
        "group.consumer.assignors=",
        "group.coordinator.rebalance.protocols=consumer",
        "group.coordinator.rebalance.protocols=",
        "replica.selector.class=org.example.Nothing",
        "inter.broker.listener.name=NOPE",
        "group.consumer.session.timeout.ms=1",
        "group.consumer.heartbeat.interval.ms=60000",
        "group.min.session.timeout.ms=100000000",
        "group.consumer.assignment.interval.ms=20000",
        "offsets.topic.segment.bytes=1",  # a topic may not have it: no coordinator would ever be there
        "transaction.state.log.segment.bytes=1",
        "offset.metadata.max.bytes=-1",
        "default.replication.factor=0",
        "log.roll.ms=0",  # a segment for each batch
        "log.retention.ms=0",
        "log.retention.hours=0",
    ],
)
def test_what_would_fail_later_is_refused_at_the_start(given: str) -> None:
    name, _, value = given.partition("=")
    with pytest.raises(KafkaError) as refused:
        load_settings(flags={name: value}, environ={})
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    assert name in refused.value.message


def test_kafkas_own_class_names_are_taken() -> None:
    from barnabas.broker.coordinator.settings import group_config
    from barnabas.core.cluster import MetadataImage

    given = "org.apache.kafka.coordinator.group.assignor.RangeAssignor,uniform"
    settings = load_settings(flags={"group.consumer.assignors": given}, environ={}).settings
    assert group_config(settings, MetadataImage()).group_consumer_assignors == ("range", "uniform")
