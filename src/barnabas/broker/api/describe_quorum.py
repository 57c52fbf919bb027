"""DescribeQuorum (55), versions 0-2: who keeps the metadata log, and how far each has come (KIP-595, KIP-836, KIP-853).

Answered by the leader of the quorum, to which other nodes hand the question on. A cluster of one is a quorum of one.

Versions: 1 when each replica fetched and was caught up (KIP-836), 2 addresses and directory ids (KIP-853).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import CLUSTER_ACTION, DESCRIBE, may_on_cluster, refused
from barnabas.broker.network.context import RequestContext
from barnabas.core.raft.leader.view import QuorumView, ReplicaView
from barnabas.core.raft.voters import Endpoint
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import METADATA_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.api.roles import QuorumNode
    from barnabas.wire.messages import (
        DescribeQuorumRequest,
        DescribeQuorumResponseBody,
        DescribeQuorumResponseListenerBody,
        DescribeQuorumResponsePartitionDataBody,
        DescribeQuorumResponseReplicaStateBody,
        DescribeQuorumResponseTopicDataBody,
        NodeBody,
    )


def handle(node: QuorumNode, request: DescribeQuorumRequest, context: RequestContext) -> DescribeQuorumResponseBody:
    # Nodes ask for it behind every request they forward.
    if not (may_on_cluster(node, context, DESCRIBE) or may_on_cluster(node, context, CLUSTER_ACTION)):
        error = refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        return {"error_code": int(error.code), "error_message": error.message, "topics": [], "nodes": []}
    node.controller.check_active()
    view = node.quorum.view()
    topics: list[DescribeQuorumResponseTopicDataBody] = []
    hosted = False
    for topic in request.topics:
        partitions: list[DescribeQuorumResponsePartitionDataBody] = []
        for partition in topic.partitions:
            index = partition.partition_index
            if topic.topic_name == METADATA_TOPIC and index == 0:
                hosted = True
                partitions.append(_quorum(view))
            else:
                partitions.append(
                    {
                        "partition_index": index,
                        "error_code": int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
                        "error_message": "only the metadata log has a quorum",
                        "current_voters": [],
                        "observers": [],
                    }
                )
        topics.append({"topic_name": topic.topic_name, "partitions": partitions})
    nodes = [_node(voter.id, voter.endpoints) for voter in view.voters.voters] if hosted else []
    return {"error_code": 0, "error_message": "", "topics": topics, "nodes": nodes}


def _quorum(view: QuorumView) -> DescribeQuorumResponsePartitionDataBody:
    return {
        "partition_index": 0,
        "error_code": 0,
        "error_message": "",
        "leader_id": view.leader_id,
        "leader_epoch": view.leader_epoch,
        "high_watermark": view.high_watermark,
        "current_voters": [_replica(replica) for replica in view.current_voters],
        "observers": [_replica(replica) for replica in view.observers],
    }


def _replica(replica: ReplicaView) -> DescribeQuorumResponseReplicaStateBody:
    return {
        "replica_id": replica.replica_id,
        "replica_directory_id": replica.replica_directory_id,
        "log_end_offset": replica.log_end_offset,
        "last_fetch_timestamp": replica.last_fetch_timestamp,
        "last_caught_up_timestamp": replica.last_caught_up_timestamp,
    }


def _node(node_id: int, endpoints: Iterable[Endpoint]) -> NodeBody:
    listeners: list[DescribeQuorumResponseListenerBody] = [
        {"name": endpoint.name, "host": endpoint.host, "port": endpoint.port} for endpoint in endpoints
    ]
    return {"node_id": node_id, "listeners": listeners}
