"""What a client remembers of a cluster, and when it forgets it."""

from __future__ import annotations

from barnabas.link.codes import Remedy, is_retriable, name_of, remedy
from barnabas.link.view import GROUP_KEY, TRANSACTION_KEY, ClientMetadata, Leader
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages import (
    Coordinator,
    DescribeClusterBroker,
    DescribeClusterResponse,
    FindCoordinatorResponse,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def metadata(*partitions: tuple[int, int, int], topic_id: bytes = b"1" * 16, error_code: int = 0) -> MetadataResponse:
    """Topic `t` with (partition, leader, leader epoch)."""
    told = [
        MetadataResponsePartition(
            partition_index=index, leader_id=leader, leader_epoch=epoch, error_code=0 if leader >= 0 else 5
        )
        for index, leader, epoch in partitions
    ]
    topic = MetadataResponseTopic(name="t", topic_id=topic_id, error_code=error_code, partitions=told)
    brokers = [MetadataResponseBroker(node_id=each, host=f"h{each}", port=9092) for each in (1, 2)]
    return MetadataResponse(brokers=brokers, topics=[topic])


def test_leaders_are_learned_and_forgotten() -> None:
    view = ClientMetadata()
    assert view.leader("t", 0) is None and not view.knows_topic("t") and view.partition_count("t") == 0
    view.learn_metadata(metadata((0, 1, 4), (1, 2, 7), (2, -1, 3)))
    assert view.leader("t", 0) == Leader(1, 4) and view.leader("t", 1) == Leader(2, 7)
    assert view.leader("t", 2) is None and view.leader("t", 3) is None and view.partition_count("t") == 3
    assert view.addresses == {1: ("h1", 9092), 2: ("h2", 9092)}
    view.forget_leader("t", 0)
    assert view.leader("t", 0) is None and view.leader("t", 1) is not None and view.knows_topic("t")
    view.forget_topic("t")
    assert view.leader("t", 1) is None and not view.knows_topic("t")
    view.forget_leader("unknown", 0)
    view.forget_topic("unknown")


def test_an_older_epoch_does_not_count() -> None:
    view = ClientMetadata()
    view.learn_metadata(metadata((0, 1, 4)))
    view.learn_metadata(metadata((0, 2, 3)))  # from a node that has not heard of the election
    assert view.leader("t", 0) == Leader(1, 4)
    view.forget_topic("t")
    view.learn_metadata(metadata((0, 2, 3)))
    assert view.leader("t", 0) is None and view.partition_count("t") == 1
    view.learn_metadata(metadata((0, -1, 5)))
    assert view.leader("t", 0) is None
    view.learn_metadata(metadata((0, 2, 5)))
    assert view.leader("t", 0) == Leader(2, 5)


def test_a_topic_of_another_id_begins_anew() -> None:
    view = ClientMetadata()
    view.learn_metadata(metadata((0, 1, 9)))
    view.learn_metadata(metadata((0, 2, 0), topic_id=b"2" * 16))
    assert view.leader("t", 0) == Leader(2, 0)
    view.learn_metadata(metadata(error_code=3))
    assert view.leader("t", 0) is None and not view.knows_topic("t")


def test_coordinators_by_kind() -> None:
    view = ClientMetadata()
    of_many = FindCoordinatorResponse(
        coordinators=[
            Coordinator(key="a", error_code=0, node_id=3, host="h3", port=1),
            Coordinator(key="b", error_code=15, node_id=-1, host="", port=-1),
        ]
    )
    assert view.learn_coordinators(TRANSACTION_KEY, ["a", "b"], of_many) == {"b": 15}
    assert view.coordinator(TRANSACTION_KEY, "a") == 3 and view.addresses == {3: ("h3", 1)}
    assert view.coordinator(GROUP_KEY, "a") is None and view.coordinator(TRANSACTION_KEY, "b") is None
    of_one = FindCoordinatorResponse(error_code=0, node_id=4, host="h4", port=1)
    assert view.learn_coordinators(GROUP_KEY, ["a"], of_one) == {}
    assert view.coordinator(GROUP_KEY, "a") == 4
    view.forget_coordinator(GROUP_KEY, "a")
    assert view.coordinator(GROUP_KEY, "a") is None and view.coordinator(TRANSACTION_KEY, "a") == 3


def test_nodes_that_are_up() -> None:
    view = ClientMetadata()
    view.learn_metadata(metadata((0, 1, 1)))
    view.learn_cluster(DescribeClusterResponse(brokers=[DescribeClusterBroker(broker_id=2, host="h2", port=9092)]))
    assert view.addresses == {2: ("h2", 9092)} and view.leader("t", 0) == Leader(1, 1)


def test_codes() -> None:
    assert remedy(ErrorCode.NOT_LEADER_OR_FOLLOWER) is Remedy.LEADER
    assert remedy(16) is Remedy.COORDINATOR and remedy(41) is Remedy.CONTROLLER and remedy(51) is Remedy.WAIT
    for code in (ErrorCode.NONE, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_SERVER_ERROR, 9999):
        assert not is_retriable(code) and remedy(code) is None
    assert name_of(6) == "not leader or follower" and name_of(9999) == "error 9999"
