"""FindCoordinator (10), versions 0-6: which node looks after this group (key type 0) or transactional id (1).

It is the leader of the partition of `__consumer_offsets` or `__transaction_state` that the name falls into, so every
node can answer from its image. v4 asks for many at once. The first question creates the topic, as in Kafka. Share
groups (2) have no coordinator here, and the answer says so instead of letting a client try for ever.

Versions: 1 transactional ids and an error message, 2 throttling by the client (KIP-219), 3 flexible, 4 several keys at
once (KIP-699), 5 TRANSACTION_ABORTABLE (KIP-890), 6 share groups (KIP-932), which are refused here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import DESCRIBE, TRANSACTIONAL_ID, may, refused
from barnabas.broker.api.permissions import GROUP as GROUP_RESOURCE
from barnabas.broker.network.addresses import advertised
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import OFFSETS_TOPIC, TRANSACTION_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.api.roles import CoordinatorFinder
    from barnabas.wire.messages import CoordinatorBody, FindCoordinatorRequest, FindCoordinatorResponseBody

GROUP, TRANSACTION = 0, 1
_RESOURCES = {GROUP: GROUP_RESOURCE, TRANSACTION: TRANSACTIONAL_ID}
_REFUSALS = {
    GROUP: refused(ErrorCode.GROUP_AUTHORIZATION_FAILED),
    TRANSACTION: refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
}
_TOPICS = {GROUP: OFFSETS_TOPIC, TRANSACTION: TRANSACTION_TOPIC}


def handle(
    node: CoordinatorFinder, request: FindCoordinatorRequest, context: RequestContext
) -> Answered[FindCoordinatorResponseBody]:
    topic = _TOPICS.get(request.key_type)
    keys = request.coordinator_keys if context.api_version >= 4 else [request.key]
    if (
        node.access is not None
        and topic is not None
        and not any(_is_allowed(node, request.key_type, key, context) for key in keys)
    ):
        return _answer(node, request, context)  # nothing is created for who may not know the answer
    if topic is not None and node.image.topic(topic) is None:
        return _after_creating(node, topic, request, context)
    return _answer(node, request, context)


async def _after_creating(
    node: CoordinatorFinder, topic: str, request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponseBody:
    await node.controller_requests.create_internal_topic(topic)
    return _answer(node, request, context)


def _answer(
    node: CoordinatorFinder, request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponseBody:
    if context.api_version >= 4:
        return {"coordinators": [_find(node, request.key_type, key, context) for key in request.coordinator_keys]}
    found = _find(node, request.key_type, request.key, context)
    return {
        "error_code": found["error_code"],
        "error_message": found["error_message"],
        "node_id": found["node_id"],
        "host": found["host"],
        "port": found["port"],
    }


def _find(node: CoordinatorFinder, key_type: int, key: str, context: RequestContext) -> CoordinatorBody:
    if not _is_allowed(node, key_type, key, context):
        return _nowhere(key, _REFUSALS[key_type].code, _REFUSALS[key_type].message)
    if key_type not in _TOPICS:
        return _nowhere(key, ErrorCode.INVALID_REQUEST, "this node coordinates groups and transactions only")
    driver = node.groups if key_type == GROUP else node.transactions
    partition = node.image.partition(driver.topic, driver.index_of(key)) if driver.partition_count else None
    if partition is None or not node.image.is_alive(partition.leader):
        return _nowhere(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, "the coordinator is not available")
    host, port = advertised(node, partition.leader, context)
    silence = "NONE" if context.api_version < 4 else ""  # the name of "no error", as Kafka writes it
    return {
        "key": key,
        "error_code": 0,
        "error_message": silence,
        "node_id": partition.leader,
        "host": host,
        "port": port,
    }


def _is_allowed(node: CoordinatorFinder, key_type: int, key: str, context: RequestContext) -> bool:
    kind = _RESOURCES.get(key_type)
    return kind is None or may(node, context, DESCRIBE, kind, key)


def _nowhere(key: str, code: ErrorCode, message: str) -> CoordinatorBody:
    return {"key": key, "error_code": int(code), "error_message": message, "node_id": -1, "host": "", "port": -1}
