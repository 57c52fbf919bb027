"""Groups of a cluster and their offsets, by the admin client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

from barnabas.client.admin.rdkafka import OffsetSpec
from barnabas.connect.cluster.connection import Cluster, called
from barnabas.connect.errors import Unavailable

_WAIT_S = 20.0
_AT_ONCE = 50
_IDLE = (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)
# A group that has members again; one that was deleted; a coordinator that moves. The next round tries again.
_PASSING = (
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.NON_EMPTY_GROUP,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.GROUP_ID_NOT_FOUND,
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError._TIMED_OUT,
)

Offsets = dict[tuple[str, int], int]


class Listing(NamedTuple):
    groups: dict[str, bool]  # whether each has no members
    is_whole: bool  # no: a node did not answer, and there may be more groups

    def is_idle(self, group: str) -> bool:
        return self.groups.get(group, True)

    def known(self, group: str, found: Mapping[str, Offsets]) -> Offsets | None:
        """The offsets of a group by what `committed` found, none for a group that is not there. None: not known, so
        nothing can be said to be further than they are."""
        if group in found or group in self.groups:
            return found.get(group)
        return {} if self.is_whole else None


def listed(cluster: Cluster) -> Listing:
    admin = cluster.admin()
    found = called(lambda: admin.list_consumer_groups(request_timeout=_WAIT_S).result(_WAIT_S))
    return Listing({each.group_id: each.state in _IDLE for each in found.valid}, not found.errors)


def committed(cluster: Cluster, groups: Iterable[str]) -> dict[str, Offsets]:
    """Groups whose coordinator moves just now are left out."""
    admin, names = cluster.admin(), list(groups)
    found: dict[str, Offsets] = {}
    for at in range(0, len(names), _AT_ONCE):
        futures = {
            group: admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=_WAIT_S)[
                group
            ]
            for group in names[at : at + _AT_ONCE]
        }
        for group, future in futures.items():
            try:
                places = future.result(_WAIT_S).topic_partitions or ()
            except KafkaException as error:
                _judge(group, error)
                continue
            found[group] = {
                (each.topic, each.partition): each.offset for each in places if each.error is None and each.offset >= 0
            }
    return found


def log_starts(cluster: Cluster, places: Sequence[tuple[str, int]]) -> Offsets:
    """The first offset of each. Partitions that are gone, or that nobody leads, are left out."""
    asked = {TopicPartition(*place): OffsetSpec.earliest() for place in places}
    futures = called(lambda: cluster.admin().list_offsets(asked, request_timeout=_WAIT_S)) if asked else {}
    return {
        (place.topic, place.partition): future.result().offset
        for place, future in futures.items()
        if future.exception(_WAIT_S) is None
    }


def commit(cluster: Cluster, group: str, offsets: Mapping[tuple[str, int], int]) -> bool:
    """Whether the group has taken them: not while it has members."""
    wanted = [TopicPartition(*place, offset) for place, offset in offsets.items()]
    asked = [ConsumerGroupTopicPartitions(group, wanted)]
    try:
        answer = cluster.admin().alter_consumer_group_offsets(asked, request_timeout=_WAIT_S)[group].result(_WAIT_S)
    except KafkaException as error:
        _judge(group, error)
        return False
    refused = next((each.error for each in answer.topic_partitions or () if each.error is not None), None)
    if refused is not None and refused.code() not in _PASSING:
        raise Unavailable(f"offsets of group {group} at {cluster.bootstrap}: {refused.str()}")
    return refused is None


def _judge(group: str, error: KafkaException) -> None:
    code = error.args[0].code()
    if code not in _PASSING:
        raise Unavailable(f"offsets of group {group}: {error.args[0].str()}") from None
