"""Rules (ACLs) in requests and answers: Kafka's numbers there, words here.

librdkafka knows neither users nor delegation tokens as resources, nor the operations on tokens and two-phase commit;
so the command line and the console send these requests themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.model.access import AclOperation, AclPermission, AclResourceType, PatternType
from barnabas.model.access_rules import Acl, AclFilter
from barnabas.operate.access.decision import Enumeration, number_of, word_of

if TYPE_CHECKING:
    from barnabas.wire.messages import DeleteAclsResponse, DescribeAclsResponse

_ANY = 1


def creation(rule: Acl) -> dict[str, object]:
    """An element of CreateAcls."""
    return {
        "resource_type": number_of(AclResourceType, rule.resource_type),
        "resource_name": rule.resource_name,
        "resource_pattern_type": number_of(PatternType, rule.pattern),
        "principal": rule.principal,
        "host": rule.host,
        "operation": number_of(AclOperation, rule.operation),
        "permission_type": number_of(AclPermission, rule.permission),
    }


def filter_body(wanted: AclFilter) -> dict[str, object]:
    """DescribeAcls, and an element of DeleteAcls."""
    return {
        "resource_type_filter": _number_or_any(AclResourceType, wanted.resource_type),
        "resource_name_filter": wanted.resource_name,
        "pattern_type_filter": _number_or_any(PatternType, wanted.pattern),
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": _number_or_any(AclOperation, wanted.operation),
        "permission_type": _number_or_any(AclPermission, wanted.permission),
    }


def described(answer: DescribeAclsResponse) -> list[Acl]:
    return sorted(
        _acl(resource.resource_type, resource.resource_name, resource.pattern_type, each.principal, each.host,
             each.operation, each.permission_type)
        for resource in answer.resources
        for each in resource.acls
    )  # fmt: skip


def deleted(answer: DeleteAclsResponse) -> list[Acl]:
    """A rule that several filters name is deleted once."""
    return sorted(
        {
            _acl(each.resource_type, each.resource_name, each.pattern_type, each.principal, each.host,
                 each.operation, each.permission_type)
            for result in answer.filter_results
            for each in result.matching_acls
        }
    )  # fmt: skip


def known(rules: Iterable[Acl]) -> list[Acl]:
    """Without those whose words this release does not know."""
    return [rule for rule in rules if not any(word.isdigit() for word in (rule.resource_type, rule.operation))]


def _acl(kind: int, name: str, pattern: int, principal: str, host: str, operation: int, permission: int) -> Acl:
    return Acl(
        word_of(AclResourceType, kind),
        name,
        word_of(PatternType, pattern),
        principal,
        host,
        word_of(AclOperation, operation),
        word_of(AclPermission, permission),
    )


def _number_or_any(numbers: Enumeration, word: str | None) -> int:
    return _ANY if word is None else number_of(numbers, word)
