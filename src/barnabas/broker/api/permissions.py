"""The checks that handlers make, item by item: may whoever asks do this to that?

`may` answers for something that the request names, and a refusal is told in the audit trail; `sees` answers for what is
left out of a list. The others raise what Kafka answers when it refuses a whole request. Without an authorizer
everything is allowed. What is uniform for an API stands in its row (wire/apis.py), and the dispatcher checks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from barnabas.model.access import CLUSTER_NAME, OPERATIONS, AclOperation, AclResourceType
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings import ResourceType

if TYPE_CHECKING:
    from barnabas.broker.access import Access
    from barnabas.broker.network.context import RequestContext

READ, WRITE, CREATE, DELETE = (
    int(op) for op in (AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DELETE)
)
ALTER, DESCRIBE, CLUSTER_ACTION = int(AclOperation.ALTER), int(AclOperation.DESCRIBE), int(AclOperation.CLUSTER_ACTION)
DESCRIBE_CONFIGS, ALTER_CONFIGS = int(AclOperation.DESCRIBE_CONFIGS), int(AclOperation.ALTER_CONFIGS)
CREATE_TOKENS, DESCRIBE_TOKENS = int(AclOperation.CREATE_TOKENS), int(AclOperation.DESCRIBE_TOKENS)
TOPIC, GROUP = int(AclResourceType.TOPIC), int(AclResourceType.GROUP)
DELEGATION_TOKEN, USER = int(AclResourceType.DELEGATION_TOKEN), int(AclResourceType.USER)
CLUSTER, TRANSACTIONAL_ID = int(AclResourceType.CLUSTER), int(AclResourceType.TRANSACTIONAL_ID)

_EVERYTHING = {kind: sum(1 << operation for operation in OPERATIONS[kind]) for kind in OPERATIONS}
NO_OPERATIONS = -(2**31)  # "not asked for"
TOPIC_REFUSED = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
GROUP_REFUSED = int(ErrorCode.GROUP_AUTHORIZATION_FAILED)

_WORDS = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "Delegation Token authorization failed.",
}


class GuardedNode(Protocol):
    @property
    def access(self) -> Access | None: ...


def refused(code: ErrorCode) -> KafkaError:
    """In Kafka's words."""
    return KafkaError(code, _WORDS[code])


def may(node: GuardedNode, context: RequestContext, operation: int, resource_type: int, name: str) -> bool:
    access = node.access
    return access is None or access.requires(context.session, context.api_key, operation, resource_type, name)


def sees(node: GuardedNode, context: RequestContext, operation: int, resource_type: int, name: str) -> bool:
    """For one of many that a client did not name: without it the answer is shorter, and nobody was refused anything."""
    access = node.access
    return access is None or access.allows(context.session, operation, resource_type, name)


def may_on_cluster(node: GuardedNode, context: RequestContext, operation: int) -> bool:
    """Whoever asks this asks for something else where it is not so, or refuses (`refused_on_cluster`)."""
    access = node.access
    return access is None or access.allows(context.session, operation, CLUSTER, CLUSTER_NAME)


def require_group(node: GuardedNode, context: RequestContext, operation: int, group_id: str) -> None:
    if not may(node, context, operation, GROUP, group_id):
        raise refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)


def require_transactional_id(node: GuardedNode, context: RequestContext, operation: int, name: str) -> None:
    if not may(node, context, operation, TRANSACTIONAL_ID, name):
        raise refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def require_on_cluster(node: GuardedNode, context: RequestContext, *operations: int) -> None:
    """One of them is enough."""
    if not any(may_on_cluster(node, context, operation) for operation in operations):
        raise refused_on_cluster(node, context, operations[0])


def refused_on_cluster(node: GuardedNode, context: RequestContext, operation: int) -> KafkaError:
    """The error, after it was told in the audit trail."""
    access = node.access
    if access is not None and access.audit is not None:
        access.audit.refused(context.session, context.api_key, operation, CLUSTER, CLUSTER_NAME)
    return refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def config_refusal(
    node: GuardedNode, context: RequestContext, operation: int, resource_type: int, name: str
) -> KafkaError | None:
    """Why the settings of a resource may not be seen or changed. Those of brokers, of their loggers and of metrics
    subscriptions are the cluster's. What has no settings is refused for that by whoever is asked for them."""
    match resource_type:
        case ResourceType.TOPIC:
            code, allowed = ErrorCode.TOPIC_AUTHORIZATION_FAILED, may(node, context, operation, TOPIC, name)
        case ResourceType.GROUP:
            code, allowed = ErrorCode.GROUP_AUTHORIZATION_FAILED, may(node, context, operation, GROUP, name)
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER | ResourceType.CLIENT_METRICS | ResourceType.LINK:
            allowed = may_on_cluster(node, context, operation)
            return None if allowed else refused_on_cluster(node, context, operation)
        case _:
            return None
    return None if allowed else refused(code)


def operations(node: GuardedNode, context: RequestContext, resource_type: AclResourceType, name: str) -> int:
    """What whoever asks may do to the resource, as bits by Kafka's numbers (KIP-430)."""
    if node.access is not None:
        return node.access.operations(context.session, resource_type, name)
    return _EVERYTHING[resource_type]


def cluster_operations(node: GuardedNode, context: RequestContext) -> int:
    """None at all for who may not describe the cluster."""
    if not may_on_cluster(node, context, DESCRIBE):
        return 0
    return operations(node, context, AclResourceType.CLUSTER, CLUSTER_NAME)
