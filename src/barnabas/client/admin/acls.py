"""Rules (ACLs) over the wire: what a cluster's authorizer decides by. Kafka's words, in small letters."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TypeVar, cast

from barnabas.client.admin.connection import AdminConnection
from barnabas.client.admin.rdkafka import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from barnabas.client.errors import BadSetting
from barnabas.model.access_rules import EVERY_ACL, Acl, AclFilter, filter_of

_TYPES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "cluster": ResourceType.BROKER,  # librdkafka's name for the number that is the cluster in a rule
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
}
_ANY = "any"

__all__ = ["EVERY_ACL", "Acl", "AclFilter", "acls", "create_acls", "delete_acls", "filter_of"]

E = TypeVar("E", bound=Enum)


def acls(connection: AdminConnection, wanted: AclFilter) -> list[Acl]:
    found = connection.call(connection.client.describe_acls, "list the rules", _filter(wanted))
    return sorted(map(_acl, found))


def create_acls(connection: AdminConnection, wanted: Iterable[Acl]) -> None:
    bindings = [
        AclBinding(
            _resource_type(rule.resource_type),
            rule.resource_name,
            _member(ResourcePatternType, rule.pattern, "pattern"),
            rule.principal,
            rule.host,
            _member(AclOperation, rule.operation, "operation"),
            _member(AclPermissionType, rule.permission, "permission"),
        )
        for rule in wanted
    ]
    connection.call_all(connection.client.create_acls, "add rules", bindings)


def delete_acls(connection: AdminConnection, wanted: Iterable[AclFilter]) -> list[Acl]:
    """Those that were deleted."""
    done = connection.call_all(connection.client.delete_acls, "remove rules", [_filter(each) for each in wanted])
    return sorted({_acl(binding) for found in done.values() for binding in found})


def _filter(wanted: AclFilter) -> AclBindingFilter:
    kind = ResourceType.ANY if wanted.resource_type is None else _resource_type(wanted.resource_type)
    name, principal, host = (cast("str", each) for each in (wanted.resource_name, wanted.principal, wanted.host))
    return AclBindingFilter(  # takes None for any, which its types do not say
        kind,
        name,
        _member(ResourcePatternType, wanted.pattern or _ANY, "pattern"),
        principal,
        host,
        _member(AclOperation, wanted.operation or _ANY, "operation"),
        _member(AclPermissionType, wanted.permission or _ANY, "permission"),
    )


def _resource_type(name: str) -> ResourceType:
    if name not in _TYPES:
        raise BadSetting(f"no kind of resource {name!r}: one of {', '.join(_TYPES)}")
    return _TYPES[name]


def _member(numbers: type[E], name: str, what: str) -> E:
    try:
        return numbers[name.upper().replace("-", "_")]
    except KeyError:
        known = ", ".join(_word(each) for each in numbers if each.value > 1)
        raise BadSetting(f"no {what} {name!r}: one of {known}") from None


def _word(member: Enum) -> str:
    return member.name.lower().replace("_", "-")


def _acl(binding: AclBinding) -> Acl:
    kind = ResourceType(binding.restype)
    return Acl(
        next((name for name, known in _TYPES.items() if known is kind), _word(kind)),
        binding.name,
        _word(ResourcePatternType(binding.resource_pattern_type)),
        binding.principal,
        binding.host,
        _word(AclOperation(binding.operation)),
        _word(AclPermissionType(binding.permission_type)),
    )
