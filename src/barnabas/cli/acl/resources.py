"""How the words of `barnabas acl` name users, operations and resources.

alice                   User:alice; a principal of another kind as it is (Group:x); '*' is everybody
read,write              one or more operations; all
topic:orders            a topic; topic:orders-* all whose names begin so; topic:* every topic
group:billing           the same for groups
transactional-id:shop   the same for transactional ids
cluster                 the cluster
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.cli.common.failure import usage

if TYPE_CHECKING:
    from barnabas.client.admin.acls import Acl

KINDS = ("topic", "group", "transactional-id")
CLUSTER, CLUSTER_NAME = "cluster", "kafka-cluster"
_EXAMPLE = "Write it as topic:orders, topic:orders-* (a prefix), group:billing, transactional-id:shop or cluster."


def principal_of(user: str) -> str:
    kind, colon, name = user.partition(":")
    if colon and kind.isalpha() and name:
        return user
    if not user:
        raise usage("the user has no name", "Write it as alice or User:alice.")
    return f"User:{user}"


def resource_of(text: str) -> tuple[str, str, str]:
    """(type, name, pattern)."""
    if text in (CLUSTER, f"{CLUSTER}:{CLUSTER_NAME}"):
        return CLUSTER, CLUSTER_NAME, "literal"
    kind, colon, name = text.partition(":")
    if not colon or kind not in KINDS or not name:
        raise usage(f"{text!r} is no resource", _EXAMPLE)
    if len(name) > 1 and name.endswith("*"):
        return kind, name[:-1], "prefixed"
    return kind, name, "literal"


def shown(rule: Acl) -> str:
    """The resource of a rule, as it is written here."""
    if rule.resource_type == CLUSTER:
        return CLUSTER
    return f"{rule.resource_type}:{rule.resource_name}{'*' if rule.pattern == 'prefixed' else ''}"


def operations_of(text: str) -> list[str]:
    return [name.strip().lower().replace("_", "-") for name in text.split(",") if name.strip()]
