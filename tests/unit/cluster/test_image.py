"""The image: replaying the log rebuilds it, a snapshot rebuilds it, and nothing a reader holds ever changes.

A random life of a cluster (brokers fail and return, topics come, grow and go, settings change) is checked after every
step against the invariants of docs/reliability.md that concern the metadata.
"""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from barnabas.core.access.bindings import AclBinding
from barnabas.core.cluster import (
    EMPTY_IMAGE,
    ConfigChange,
    MetadataImage,
    MorePartitions,
    NewTopic,
    Reassignment,
    decode_record,
    encode_record,
)
from barnabas.core.cluster.records import PartitionRecord, TopicRecord
from barnabas.model.errors import KafkaError
from barnabas.model.ids import ZERO_UUID
from tests.unit.cluster.stage import Stage

NAMES = st.sampled_from(["a", "b", "c.d", "c_d", "e f"])
BROKERS = st.integers(1, 4)
CHANGES = st.sampled_from(
    [
        (2, "a", "retention.ms", 0, "46000"),
        (2, "a", "retention.ms", 1, None),
        (2, "a", "cleanup.policy", 2, "compact"),
        (2, "b", "cleanup.policy", 3, "delete"),
        (2, "b", "flush.ms", 0, "7"),
        (2, "b", "flush.ms", 0, "bad"),
        (2, "a", "min.insync.replicas", 0, "2"),
        (2, "a", "min.insync.replicas", 1, None),
        (4, "", "min.insync.replicas", 0, "2"),
        (4, "", "min.insync.replicas", 1, None),
        (2, "b", "flush.messages", 0, "1"),
        (4, "1", "log.retention.ms", 0, "5"),
        (4, "1", "log.retention.ms", 1, None),
        (4, "", "log.cleanup.policy", 2, "compact"),
        (32, "g", "consumer.session.timeout.ms", 0, "46000"),
        (32, "g", "consumer.session.timeout.ms", 1, None),
    ]
)


ACLS = st.builds(
    AclBinding,
    resource_type=st.sampled_from([2, 3]),
    resource_name=st.sampled_from(["a", "ab", "*"]),
    pattern_type=st.sampled_from([3, 4]),
    principal=st.sampled_from(["User:x", "User:*"]),
    host=st.just("*"),
    operation=st.integers(2, 4),
    permission=st.sampled_from([2, 3]),
)


class ClusterLife(RuleBasedStateMachine):
    @initialize(brokers=BROKERS, racks=st.integers(0, 2), seed=st.integers(0, 9))
    def begin(self, brokers: int, racks: int, seed: int) -> None:
        self.stage = Stage(brokers, racks, seed=seed)
        self.epochs: dict[tuple[bytes, int], int] = {}
        self.held: list[tuple[MetadataImage, str]] = []

    def attempt(self, method: str, *args: Any) -> None:
        with suppress(KafkaError):
            self.stage.do(method, *args)

    @rule(names=st.lists(NAMES, max_size=3), partitions=st.integers(1, 5), replicas=st.integers(-1, 3))
    def create(self, names: list[str], partitions: int, replicas: int) -> None:
        configs = [("retention.ms", "5")] if partitions == 3 else []
        self.attempt("create_topics", [NewTopic(name, partitions, replicas, configs=configs) for name in names])

    @rule(names=st.lists(NAMES, max_size=2))
    def delete(self, names: list[str]) -> None:
        self.attempt("delete_topics", [(name, ZERO_UUID) for name in names])

    @rule(name=NAMES, count=st.integers(0, 8))
    def grow(self, name: str, count: int) -> None:
        self.attempt("create_partitions", [MorePartitions(name, count)])

    @rule(changes=st.lists(CHANGES, max_size=3))
    def alter(self, changes: list[tuple[int, str, str, int, str | None]]) -> None:
        wanted = [ConfigChange(kind, name, [change]) for kind, name, *change in changes]  # type: ignore[list-item]
        self.attempt("incremental_alter_configs", wanted)

    @rule(broker_id=BROKERS, fence=st.booleans(), shutdown=st.booleans())
    def beat(self, broker_id: int, fence: bool, shutdown: bool) -> None:
        if broker_id in self.stage.image.brokers:
            self.stage.beat(broker_id, want_fence=fence, want_shutdown=shutdown)

    @rule(broker_id=BROKERS, fenced=st.booleans(), clean=st.booleans(), new_disk=st.booleans())
    def restart(self, broker_id: int, fenced: bool, clean: bool, new_disk: bool) -> None:
        self.stage.now_ms += 10_000
        self.stage.register(broker_id, fenced=fenced, clean=clean, new_disk=new_disk)

    @rule(name=NAMES, index=st.integers(0, 2), isr=st.lists(BROKERS, max_size=3), sender=BROKERS)
    def alter_partition(self, name: str, index: int, isr: list[int], sender: int) -> None:
        if self.stage.image.partition(name, index) is not None and sender in self.stage.image.brokers:
            self.stage.alter(name, index, *isr, leader=sender)

    @rule(name=NAMES, index=st.integers(0, 2), replicas=st.none() | st.lists(BROKERS, max_size=4))
    def reassign(self, name: str, index: int, replicas: list[int] | None) -> None:
        self.attempt("alter_reassignments", [Reassignment(name, index, replicas)])

    @rule()
    def balance(self) -> None:
        self.attempt("balance_leaders")

    @rule(later_ms=st.integers(0, 12_000))
    def silence(self, later_ms: int) -> None:
        self.stage.now_ms += later_ms
        self.attempt("fence_expired", self.stage.now_ms)

    @rule(broker_id=BROKERS)
    def unregister(self, broker_id: int) -> None:
        if not self.stage.image.is_alive(broker_id):
            self.attempt("unregister_broker", broker_id)

    @rule(kind=st.integers(0, 1))
    def elect(self, kind: int) -> None:
        self.attempt("elect_leaders", kind, None)

    @rule(broker_id=BROKERS)
    def producer_ids(self, broker_id: int) -> None:
        broker = self.stage.image.brokers.get(broker_id)
        if broker is not None:
            self.attempt("allocate_producer_ids", broker_id, broker.broker_epoch)

    @rule(wanted=st.lists(ACLS, max_size=3))
    def create_acls(self, wanted: list[AclBinding]) -> None:
        self.attempt("create_acls", wanted)
        assert set(wanted) <= set(self.stage.image.acls.ids)

    @rule(every=st.integers(1, 3))
    def delete_acls(self, every: int) -> None:
        ids = [*self.stage.image.acls.by_id][::every]
        self.attempt("delete_acls", [*ids, b"nobody's"])
        assert not set(ids) & set(self.stage.image.acls.by_id)

    @invariant()
    def the_log_rebuilds_the_state(self) -> None:
        if hasattr(self, "stage"):
            assert self.stage.replayed() == self.stage.image

    @invariant()
    def a_snapshot_rebuilds_the_state(self) -> None:
        if hasattr(self, "stage"):
            image = self.stage.image
            records = [decode_record(encode_record(record)) for record in image.to_records()]
            assert EMPTY_IMAGE.apply(records) == image

    @invariant()
    def leaders_are_in_sync_and_up_and_epochs_never_fall(self) -> None:
        if not hasattr(self, "stage"):
            return
        image = self.stage.image
        assert {topic.id: name for name, topic in image.topics.items()} == image.topic_names
        for topic in image.topics.values():
            for index, partition in enumerate(topic.partitions):
                groups = (partition.isr, partition.elr, partition.last_known_elr)
                together = {broker_id for group in groups for broker_id in group}
                assert len(set(partition.replicas)) == len(partition.replicas) == len(partition.directories)
                assert together <= set(partition.replicas)
                assert not set(partition.isr) & {*partition.elr, *partition.last_known_elr}
                if partition.leader != -1:
                    assert partition.leader in partition.isr and image.is_alive(partition.leader)
                else:
                    assert not partition.isr
                key = (topic.id, index)
                assert partition.leader_epoch >= self.epochs.get(key, 0)
                self.epochs[key] = partition.leader_epoch

    @invariant()
    def what_a_reader_holds_does_not_change(self) -> None:
        if hasattr(self, "stage"):
            for image, looked_like in self.held:
                assert repr(image) == looked_like
            self.held = [*self.held[-4:], (self.stage.image, repr(self.stage.image))]


TestClusterLife = ClusterLife.TestCase
TestClusterLife.settings = hypothesis_settings(max_examples=80, stateful_step_count=30, deadline=None)


def test_only_what_a_batch_touches_is_copied() -> None:
    stage = Stage()
    stage.create("a")
    stage.create("b", retention_ms="5")
    before = stage.image
    stage.do("create_partitions", [MorePartitions("a", 2)])
    after = stage.image
    assert after.topics["b"] is before.topics["b"] and after.topics["a"] is not before.topics["a"]
    assert after.topics["a"].partitions[0] is before.topics["a"].partitions[0]
    assert after.brokers is before.brokers and after.configs is before.configs
    assert len(before.topics["a"].partitions) == 1


def test_a_record_that_does_not_fit_stops_the_replay() -> None:
    with pytest.raises(KeyError):
        EMPTY_IMAGE.apply([PartitionRecord(topic_id=bytes(16), partition=0, replicas=(1,), isr=(1,), leader=1)])
    topic = TopicRecord(name="t", topic_id=bytes(16))
    with pytest.raises(AssertionError):
        EMPTY_IMAGE.apply([topic, topic])


def test_a_topic_can_be_replaced_within_one_batch() -> None:
    stage = Stage()
    stage.create("t", 2)
    removed, _ = stage.controller.delete_topics([("t", ZERO_UUID)])
    made = [TopicRecord(name="t", topic_id=b"n" * 16)]
    image = stage.image.apply([*removed, *made])
    assert image.topics["t"].id == b"n" * 16 and list(image.topic_names) == [b"n" * 16]
