"""What a ConsumerGroupHeartbeat must look like, whoever sends it. Nothing has happened yet when it is refused here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.core.groups.consumer.member import JOINING_EPOCH, STATIC_LEAVING_EPOCH
from barnabas.core.groups.sizes import check_heartbeat
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.core.groups.shard_state import ShardState
    from barnabas.wire.messages import ConsumerGroupHeartbeatRequest

_CLIENT_MADE_IDS_SINCE = 1
_REGEX_SINCE = 1


def check_request(world: ShardState, request: ConsumerGroupHeartbeatRequest, version: int) -> None:
    for problem in (_identity_problem(request, version), _joining_problem(request, version)):
        if problem is not None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, problem)
    check_heartbeat(world, request)
    assignor = request.server_assignor
    allowed = world.config.group_consumer_assignors
    if assignor is not None and assignor not in allowed:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {assignor} is not supported. Supported assignors: {', '.join(allowed)}.",
        )


def _identity_problem(request: ConsumerGroupHeartbeatRequest, version: int) -> str | None:
    epoch = request.member_epoch
    if not request.group_id.strip():
        return "GroupId can't be empty."
    if epoch < STATIC_LEAVING_EPOCH:
        return "MemberEpoch is invalid."
    if not request.member_id.strip() and (version >= _CLIENT_MADE_IDS_SINCE or epoch != JOINING_EPOCH):
        return "MemberId can't be empty."
    if request.instance_id is not None and not request.instance_id.strip():
        return "InstanceId can't be empty."
    if epoch == STATIC_LEAVING_EPOCH and request.instance_id is None:
        return "InstanceId can't be null."
    if request.rack_id is not None and not request.rack_id.strip():
        return "RackId can't be empty."
    return None


def _joining_problem(request: ConsumerGroupHeartbeatRequest, version: int) -> str | None:
    if request.member_epoch != JOINING_EPOCH:
        return None
    if request.rebalance_timeout_ms == -1:
        return "RebalanceTimeoutMs must be provided in first request."
    if request.topic_partitions is None or request.topic_partitions:
        return "TopicPartitions must be empty when (re-)joining."
    has_regex = version >= _REGEX_SINCE and request.subscribed_topic_regex is not None
    if request.subscribed_topic_names is None and not has_regex:
        return "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
    return None
