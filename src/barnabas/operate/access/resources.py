"""How people write users, operations and resources, and the rules that a producer or a consumer needs.

alice                   User:alice; a principal of another kind as it is (Group:x); '*' is everybody
read,write              one or more operations; all
topic:orders            a topic; topic:orders-* all whose names begin so; topic:* every topic
group:billing           the same for groups
transactional-id:shop   the same for transactional ids
user:alice              a user whose tokens are made or listed by another one
delegation-token:ID     a token of another one
cluster                 the cluster
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.model.access_rules import Acl
from barnabas.operate.unusable import Unusable

USER = "user"
KINDS = ("topic", "group", "transactional-id", USER, "delegation-token")
CLUSTER, CLUSTER_NAME = "cluster", "kafka-cluster"
_EXAMPLE = (
    "Write it as topic:orders, topic:orders-* (a prefix), group:billing, transactional-id:shop, user:alice, "
    "delegation-token:ID or cluster."
)


def principal_of(user: str) -> str:
    kind, colon, name = user.partition(":")
    if colon and kind.isalpha() and name:
        return user
    if not user:
        raise Unusable("the user has no name", "Write it as alice or User:alice.")
    return f"User:{user}"


def resource_of(text: str) -> tuple[str, str, str]:
    """(type, name, pattern)."""
    if text in (CLUSTER, f"{CLUSTER}:{CLUSTER_NAME}"):
        return CLUSTER, CLUSTER_NAME, "literal"
    kind, colon, name = text.partition(":")
    if not colon or kind not in KINDS or not name:
        raise Unusable(f"{text!r} is no resource", _EXAMPLE)
    if kind == USER and name != "*":
        name = principal_of(name)  # the name of such a resource is the principal
    if len(name) > 1 and name.endswith("*"):
        return kind, name[:-1], "prefixed"
    return kind, name, "literal"


def shown(rule: Acl) -> str:
    """The resource of a rule, as it is written here."""
    if rule.resource_type == CLUSTER:
        return CLUSTER
    name = rule.resource_name.removeprefix("User:") if rule.resource_type == USER else rule.resource_name
    return f"{rule.resource_type}:{name}{'*' if rule.pattern == 'prefixed' else ''}"


def operations_of(text: str) -> list[str]:
    return [name.strip().lower().replace("_", "-") for name in text.split(",") if name.strip()]


def of_producer(topic: str) -> list[tuple[str, str]]:
    """(resource, operation) of all that a producer to this topic needs; the others alike."""
    return [(f"topic:{topic}", operation) for operation in ("write", "describe", "create")]


def of_consumer(topic: str) -> list[tuple[str, str]]:
    return [(f"topic:{topic}", operation) for operation in ("read", "describe")]


def of_group(group: str) -> list[tuple[str, str]]:
    return [(f"group:{group}", operation) for operation in ("read", "describe")]


def of_transactions(transactional_id: str) -> list[tuple[str, str]]:
    return [(f"transactional-id:{transactional_id}", operation) for operation in ("write", "describe")]


def rules_for(user: str, wanted: Iterable[tuple[str, str]], permission: str = "allow", host: str = "*") -> list[Acl]:
    """A rule each, none twice."""
    principal = principal_of(user)
    return [
        Acl(kind, name, pattern, principal, host, operation, permission)
        for each, operation in dict.fromkeys(wanted)
        for kind, name, pattern in (resource_of(each),)
    ]
