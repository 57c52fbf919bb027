"""The lengths of ids and names, checked before anything happens.

Requests of flexible versions can carry texts of any length; the records of `__consumer_offsets` and the answers of the
older versions have 16-bit lengths. (Apache Kafka refuses to parse such a request and closes the connection. Here the
client is told what is wrong.) A classic member's id is made of its client or instance id and a UUID: there has to be
space for that as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas.core.coordinator.contract import RequestInfo
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import GROUP_TEXT_MAX_BYTES

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        ConsumerGroupHeartbeatRequest,
        JoinGroupRequest,
        OffsetCommitRequest,
        Request,
        TxnOffsetCommitRequest,
    )

_SURELY_SHORT = GROUP_TEXT_MAX_BYTES // 4  # characters: UTF-8 takes at most four bytes for one
_UUID_BYTES = 37  # with the dash before it


def is_too_long(text: str | None, max_bytes: int = GROUP_TEXT_MAX_BYTES) -> bool:
    return text is not None and len(text) > _SURELY_SHORT and len(text.encode()) > max_bytes


def _refuse(what: str, code: ErrorCode = ErrorCode.INVALID_REQUEST) -> None:
    raise KafkaError(code, f"{what} is longer than {GROUP_TEXT_MAX_BYTES} bytes.")


def _group(group_id: str) -> None:
    if is_too_long(group_id):
        _refuse("GroupId", ErrorCode.INVALID_GROUP_ID)


def _join(request: JoinGroupRequest, info: RequestInfo) -> None:
    _group(request.group_id)
    if is_too_long(request.member_id):
        _refuse("MemberId", ErrorCode.UNKNOWN_MEMBER_ID)
    if is_too_long(request.group_instance_id, GROUP_TEXT_MAX_BYTES - _UUID_BYTES):
        _refuse("GroupInstanceId with the UUID that makes it a member id")
    if is_too_long(info.client_id, GROUP_TEXT_MAX_BYTES - _UUID_BYTES):
        _refuse("ClientId with the UUID that makes it a member id")
    if is_too_long(request.protocol_type) or any(is_too_long(protocol.name) for protocol in request.protocols):
        _refuse("A protocol's name or type", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _consumer_heartbeat(request: ConsumerGroupHeartbeatRequest, info: RequestInfo) -> None:
    _group(request.group_id)
    for name, text in (
        ("member_id", request.member_id),
        ("instance_id", request.instance_id),
        ("rack_id", request.rack_id),
        ("subscribed_topic_regex", request.subscribed_topic_regex),
        ("server_assignor", request.server_assignor),
    ):
        if is_too_long(text):
            _refuse(name)
    if any(is_too_long(name) for name in request.subscribed_topic_names or ()):
        _refuse("A subscribed topic's name")


def _only_group(request: OffsetCommitRequest | TxnOffsetCommitRequest, info: RequestInfo) -> None:
    _group(request.group_id)


# OffsetCommit, TxnOffsetCommit and the joins make groups; the others find none under a name that is too long.
_CHECKS: dict[int, Callable[[Any, RequestInfo], None]] = {  # the API key says which request
    8: _only_group,
    11: _join,
    28: _only_group,
    68: _consumer_heartbeat,
}


def check_lengths(request: Request[object], info: RequestInfo) -> None:
    check = _CHECKS.get(info.api_key)
    if check is not None:
        check(request, info)
