"""What a cluster would decide, by its own rules and the code that a node decides with (core/access).

The rules come from the cluster (DescribeAcls), super users and `allow.everyone.if.no.acl.found` from the settings of a
node, as far as whoever asks may see them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from barnabas.cli.acl.resources import shown
from barnabas.cli.common.failure import Failure, usage
from barnabas.client.admin.acls import Acl, AclFilter
from barnabas.client.errors import BarnabasError
from barnabas.core.access.authorizer import Authorizer, Reason
from barnabas.core.access.bindings import AclBinding
from barnabas.core.access.rules import NO_RULES
from barnabas.model.access import OPERATIONS, AclOperation, AclPermission, AclResourceType, PatternType

if TYPE_CHECKING:
    from barnabas.client.admin.admin import Admin


_ANY = 1  # and below: of filters only


class Asked(NamedTuple):
    principal: str
    host: str
    operation: str
    resource_type: str
    name: str


@dataclass(frozen=True, slots=True)
class Told:
    allowed: bool
    reason: str
    rule: Acl | None

    def told(self) -> str:
        if self.rule is None:
            return self.reason
        rule = self.rule
        where = "" if rule.host == "*" else f" from {rule.host}"
        verb = "may" if rule.permission == "allow" else "may not"
        return f"by the rule that {rule.principal} {verb} {rule.operation} {shown(rule)}{where}"


def checked(asked: Asked) -> tuple[int, int]:
    """The numbers of resource type and operation; a failure where there is no such thing, before anybody is asked."""
    kind = _number(AclResourceType, asked.resource_type)
    operation = _number(AclOperation, asked.operation)
    if operation not in OPERATIONS[AclResourceType(kind)]:
        possible = ", ".join(each.name.lower().replace("_", "-") for each in OPERATIONS[AclResourceType(kind)])
        raise usage(f"nothing can be done to a {asked.resource_type} by {asked.operation!r}", f"Ask for {possible}.")
    return kind, operation


def decide(cluster: Admin, asked: Asked) -> Told:
    kind, operation = checked(asked)
    authorizer = _authorizer(cluster)
    if authorizer is None:
        return Told(True, "access control is off (authorizer.class.name is not set): everybody may do everything", None)
    rules = cluster.acls(AclFilter(asked.resource_type, asked.name, "match"))
    bindings = {_binding(rule): rule for rule in rules}
    index = NO_RULES.changed({number.to_bytes(16, "big"): rule for number, rule in enumerate(bindings)}, ())
    found = authorizer.decide(index, asked.principal, asked.host, operation, kind, asked.name)
    reason = "no rule allows it" if found.reason is Reason.NO_RULE_AT_ALL and not found.allowed else str(found.reason)
    return Told(found.allowed, reason, None if found.rule is None else bindings[found.rule])


def _authorizer(cluster: Admin) -> Authorizer | None:
    """None where there is none."""
    nodes = cluster.cluster().nodes
    if not nodes:
        raise Failure("the cluster has no node to ask")
    try:
        settings = cluster.configs("broker", str(nodes[0].id))
    except BarnabasError:  # not allowed to see them: the rules alone decide
        return Authorizer()
    if (name := settings.get("authorizer.class.name")) is not None and not name.value:
        return None
    users, everyone = (settings.get(name) for name in ("super.users", "allow.everyone.if.no.acl.found"))
    supers = frozenset(filter(None, ((users.value if users else None) or "").split(";")))
    return Authorizer(supers, everyone is not None and everyone.value == "true")


def _binding(rule: Acl) -> AclBinding:
    return AclBinding(
        _number(AclResourceType, rule.resource_type),
        rule.resource_name,
        _number(PatternType, rule.pattern),
        rule.principal,
        rule.host,
        _number(AclOperation, rule.operation),
        _number(AclPermission, rule.permission),
    )


def _number(
    numbers: type[AclResourceType] | type[PatternType] | type[AclOperation] | type[AclPermission], name: str
) -> int:
    try:
        return int(numbers[name.upper().replace("-", "_")])
    except KeyError:
        known = ", ".join(each.name.lower().replace("_", "-") for each in numbers if each > _ANY)
        raise usage(f"there is no {name!r}", f"There is {known}.") from None
