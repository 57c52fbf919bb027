"""DescribeCluster (60), versions 0-2: the brokers and the cluster's id (KIP-700). v1 may ask for the controllers
instead (KIP-919), which answer where the quorum is served; v2 may list fenced brokers too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.metadata import told_brokers
from barnabas.broker.api.permissions import (
    ALTER,
    CLUSTER_ACTION,
    NO_OPERATIONS,
    cluster_operations,
    require_on_cluster,
)
from barnabas.broker.network.context import RequestContext
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.broker.api.roles import DescribeClusterNode, VotersNode
    from barnabas.wire.messages import DescribeClusterRequest, DescribeClusterResponseBody

BROKERS, CONTROLLERS = 1, 2


def handle(
    node: DescribeClusterNode, request: DescribeClusterRequest, context: RequestContext
) -> DescribeClusterResponseBody:
    if context.api_version >= 1 and request.endpoint_type != BROKERS:
        if request.endpoint_type == CONTROLLERS and serves_quorum(node, context):
            require_on_cluster(node, context, ALTER, CLUSTER_ACTION)  # more than for the brokers, as in Kafka
            return _controllers(node)
        return _refusal(request.endpoint_type)
    with_fenced = context.api_version >= 2 and request.include_fenced_brokers
    told = told_brokers(node, context, node.image.brokers if with_fenced else ())
    with_operations = request.include_cluster_authorized_operations
    return {
        "error_code": 0,
        "error_message": None,
        "endpoint_type": BROKERS,
        "cluster_id": node.cluster_id,
        "controller_id": node.node_id,
        "brokers": [
            {
                "broker_id": broker.broker_id,
                "host": host,
                "port": port,
                "rack": broker.rack,
                "is_fenced": not node.image.is_alive(broker.broker_id),
            }
            for broker, host, port in told
        ],
        "cluster_authorized_operations": cluster_operations(node, context) if with_operations else NO_OPERATIONS,
    }


def serves_quorum(node: VotersNode, context: RequestContext) -> bool:
    ports = node.quorum_ports
    if ports is not None:
        return context.session.listener_port in ports
    return node.is_controller and not node.quorum.is_alone


def _controllers(node: VotersNode) -> DescribeClusterResponseBody:
    voters = node.quorum.raft.voters.voters
    return {
        "error_code": 0,
        "error_message": None,
        "endpoint_type": CONTROLLERS,
        "cluster_id": node.cluster_id,
        "controller_id": node.quorum.leader[0],
        "brokers": [
            {"broker_id": voter.id, "host": voter.address.host, "port": voter.address.port, "rack": None}
            for voter in voters
        ],
        "cluster_authorized_operations": NO_OPERATIONS,
    }


def _refusal(endpoint_type: int) -> DescribeClusterResponseBody:
    if endpoint_type == CONTROLLERS:
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        message = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
    else:
        code, message = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"unknown endpoint type {endpoint_type}"
    return {
        "error_code": int(code),
        "error_message": message,
        "endpoint_type": BROKERS,
        "cluster_id": "",
        "controller_id": -1,
        "brokers": [],
        "cluster_authorized_operations": NO_OPERATIONS,
    }
