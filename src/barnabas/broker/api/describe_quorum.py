"""DescribeQuorum (55), versions 0-2: who keeps the metadata log, and how far each has come (KIP-595, KIP-836, KIP-853).

Answered by the leader of the quorum, to which other nodes hand the question on. A cluster of one is a quorum of one.
"""

from typing import TYPE_CHECKING, Any

from barnabas.broker.network.context import RequestContext
from barnabas.core.raft.view import QuorumView, ReplicaView
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import METADATA_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any]:
    node.controller.check_active()
    view = node.quorum.view()
    topics = []
    hosted = False
    for topic in request.topics:
        partitions = []
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


def _quorum(view: QuorumView) -> dict[str, Any]:
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


def _replica(replica: ReplicaView) -> dict[str, Any]:
    return replica._asdict()


def _node(node_id: int, endpoints: Any) -> dict[str, Any]:
    return {"node_id": node_id, "listeners": [endpoint._asdict() for endpoint in endpoints]}
