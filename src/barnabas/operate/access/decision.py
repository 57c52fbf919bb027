"""What a cluster would decide, by its own rules and the code that a node decides with (core/access).

The rules come from the cluster (DescribeAcls), super users and `allow.everyone.if.no.acl.found` from the settings of a
node, as far as whoever asks may see them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.core.access.authorizer import Authorizer, Reason
from barnabas.core.access.bindings import AclBinding
from barnabas.core.access.rules import NO_RULES, AclRules
from barnabas.model.access import OPERATIONS, AclOperation, AclPermission, AclResourceType, PatternType
from barnabas.model.access_rules import Acl
from barnabas.operate.access.resources import shown
from barnabas.operate.unusable import Unusable

SETTINGS = ("authorizer.class.name", "super.users", "allow.everyone.if.no.acl.found")
_ALL = "all"
_ANY = 1  # and below: of filters only

Enumeration = type[AclResourceType] | type[PatternType] | type[AclOperation] | type[AclPermission]


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


class Decider:
    """The rules of a cluster, and its `settings` of access control: those of SETTINGS that could be seen. Without
    `authorizer.class.name` among them the rules alone decide."""

    def __init__(self, rules: Iterable[Acl], settings: Mapping[str, str | None]) -> None:
        self.is_on = bool(settings.get("authorizer.class.name", "unknown"))
        self.super_users = frozenset(filter(None, (settings.get("super.users") or "").split(";")))
        self._authorizer = Authorizer(self.super_users, settings.get("allow.everyone.if.no.acl.found") == "true")
        self._bindings = {binding_of(rule): rule for rule in rules}
        self._rules: AclRules = NO_RULES.changed(
            {number.to_bytes(16, "big"): rule for number, rule in enumerate(self._bindings)}, ()
        )

    def decide(self, asked: Asked) -> Told:
        kind, operation = checked(asked)
        if not self.is_on:
            off = "access control is off (authorizer.class.name is not set): everybody may do everything"
            return Told(True, off, None)
        found = self._authorizer.decide(self._rules, asked.principal, asked.host, operation, kind, asked.name)
        none = found.reason is Reason.NO_RULE_AT_ALL and not found.allowed
        reason = "no rule allows it" if none else str(found.reason)
        return Told(found.allowed, reason, None if found.rule is None else self._bindings[found.rule])


def checked(asked: Asked) -> tuple[int, int]:
    """The numbers of resource type and operation; Unusable where there is no such thing, before anybody is asked."""
    kind = number_of(AclResourceType, asked.resource_type)
    operation = number_of(AclOperation, asked.operation)
    if operation not in OPERATIONS[AclResourceType(kind)]:
        possible = ", ".join(word_of(AclOperation, each) for each in OPERATIONS[AclResourceType(kind)])
        raise Unusable(f"a {asked.resource_type} has no operation {asked.operation!r}", f"It has {possible}.")
    return kind, operation


def check_rules(rules: Iterable[Acl]) -> None:
    """Unusable for a rule that would never decide anything; Kafka's kafka-acls refuses it, its nodes do not."""
    for rule in rules:
        if rule.operation != _ALL:
            checked(Asked(rule.principal, rule.host, rule.operation, rule.resource_type, rule.resource_name))


def binding_of(rule: Acl) -> AclBinding:
    return AclBinding(
        number_of(AclResourceType, rule.resource_type),
        rule.resource_name,
        number_of(PatternType, rule.pattern),
        rule.principal,
        rule.host,
        number_of(AclOperation, rule.operation),
        number_of(AclPermission, rule.permission),
    )


def number_of(numbers: Enumeration, name: str) -> int:
    try:
        found = int(numbers[name.upper().replace("-", "_")])
    except KeyError:
        found = 0
    if found <= _ANY:
        known = ", ".join(word_of(numbers, each) for each in numbers if each > _ANY)
        raise Unusable(f"there is no {name!r}", f"There is {known}.")
    return found


def word_of(numbers: Enumeration, number: int) -> str:
    """As rules are written; a number that this release does not know stays a number."""
    try:
        return numbers(number).name.lower().replace("_", "-")
    except ValueError:
        return str(number)
