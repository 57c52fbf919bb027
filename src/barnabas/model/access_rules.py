"""A rule (an ACL) and a filter for rules in words: Kafka's names, in small letters. Numbers are in access.py."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True, slots=True)
class Acl:
    """`operation` allowed to (or denied) `principal`, from `host`, on a resource."""

    resource_type: str  # topic, group, cluster, transactional-id, user, delegation-token
    resource_name: str
    pattern: str  # literal, prefixed
    principal: str  # User:alice, User:* for everybody
    host: str  # an address, * for any
    operation: str  # read, write, describe ...
    permission: str  # allow, deny


@dataclass(frozen=True, slots=True)
class AclFilter:
    """None is any."""

    resource_type: str | None = None
    resource_name: str | None = None
    pattern: str | None = None
    principal: str | None = None
    host: str | None = None
    operation: str | None = None
    permission: str | None = None


EVERY_ACL = AclFilter()


def filter_of(rule: Acl) -> AclFilter:
    """For this rule and no other."""
    return AclFilter(
        rule.resource_type,
        rule.resource_name,
        rule.pattern,
        rule.principal,
        rule.host,
        rule.operation,
        rule.permission,
    )
