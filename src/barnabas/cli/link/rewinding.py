"""Offsets of groups at a former source that lie beyond what it shares with the cluster that it is to follow.

Such a group read records that are cut off there when the direction is turned, and other records take their offsets: a
consumer that went on with its own offset would skip them. It is set back to the last common record. Groups that the
followed cluster knows get its offsets anyway, by the link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.cli.common.cluster import refused
from barnabas.cli.link.group_offsets import Places, offsets
from barnabas.wire.apis import FIND_COORDINATOR, OFFSET_COMMIT, OFFSET_FOR_LEADER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from barnabas.cli.common.cluster import Cluster
    from barnabas.wire.messages import (
        FindCoordinatorResponse,
        MetadataResponseTopic,
        OffsetCommitResponse,
        OffsetForLeaderEpochResponse,
    )


def common_ends(cluster: Cluster, topics: Mapping[str, MetadataResponseTopic], epochs: Mapping[str, int]) -> Places:
    """Where the records end that came over by the link, in the cluster that was promoted; `epochs` are those with which
    its own records begin."""
    found: Places = {}
    for name, topic in topics.items():
        for part in topic.partitions:
            asked = {"partition": part.partition_index, "current_leader_epoch": -1, "leader_epoch": epochs[name] - 1}
            body = {"replica_id": -2, "topics": [{"topic": name, "partitions": [asked]}]}
            answer: OffsetForLeaderEpochResponse = cluster.ask(part.leader_id, OFFSET_FOR_LEADER_EPOCH, body)
            told = answer.topics[0].partitions[0]
            if told.error_code:
                doing = f"find where the records of {name}-{part.partition_index} came over to"
                raise refused(told.error_code, doing, cluster.bootstrap)
            found[name, part.partition_index] = max(told.end_offset, 0)
    return found


def rewind(former: Cluster, topics: Mapping[str, MetadataResponseTopic], ends: Places) -> list[str]:
    """Gives the groups that were set back. One that has members now cannot be: KafkaError of the coordinator."""
    known, _ = offsets(former, {topic.topic_id: name for name, topic in topics.items()})
    done: list[str] = []
    for group, places in known.items():
        beyond = {place: ends[place] for place, offset in places.items() if place in ends and offset > ends[place]}
        if beyond:
            _commit(former, group, topics, beyond)
            done.append(group)
    return sorted(done)


def _commit(former: Cluster, group: str, topics: Mapping[str, MetadataResponseTopic], places: Places) -> None:
    where: FindCoordinatorResponse = former.ask_any(FIND_COORDINATOR, {"key_type": 0, "coordinator_keys": [group]})
    body = {
        "group_id": group,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "group_instance_id": None,
        "topics": [
            {
                "name": name,
                "topic_id": topics[name].topic_id,
                "partitions": [
                    {"partition_index": index, "committed_offset": offset, "committed_metadata": ""}
                    for (topic, index), offset in places.items()
                    if topic == name
                ],
            }
            for name in sorted({topic for topic, _ in places})
        ],
    }
    answer: OffsetCommitResponse = former.ask(where.coordinators[0].node_id, OFFSET_COMMIT, body)
    for topic in answer.topics:
        for part in topic.partitions:
            if part.error_code:
                doing = f"set the group {group!r} of the former source back (stop its consumers first)"
                raise refused(part.error_code, doing, former.bootstrap)
