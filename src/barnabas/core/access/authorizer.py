"""The decision: may this principal, from this host, do this to that resource? And which rule says so?

The semantics are those of Kafka's StandardAuthorizer:

1. a super user may do everything;
2. a rule that matches and denies wins over all others;
3. then a rule that matches and allows;
4. without one nobody may, unless `allow.everyone.if.no.acl.found` is set and no rule at all is about the resource.

A rule matches when it is about the resource, names the principal or `User:*`, names the host or `*`, and names the
operation or ALL. Who is allowed to READ, WRITE, DELETE or ALTER may DESCRIBE as well, and who is allowed to
ALTER_CONFIGS may DESCRIBE_CONFIGS. That is not so for rules that deny: who may not READ may still DESCRIBE.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from barnabas.core.access.bindings import AclBinding
from barnabas.core.access.rules import AclRules
from barnabas.model.access import EVERY_PRINCIPAL, WILDCARD, AclOperation, AclPermission, PatternType

_ALL, _DENY = int(AclOperation.ALL), int(AclPermission.DENY)
_LITERAL = int(PatternType.LITERAL)
_OP = AclOperation
_ALLOWED_BY: dict[int, frozenset[int]] = {
    _OP.DESCRIBE: frozenset({_OP.DESCRIBE, _OP.READ, _OP.WRITE, _OP.DELETE, _OP.ALTER, _OP.ALL}),
    _OP.DESCRIBE_CONFIGS: frozenset({_OP.DESCRIBE_CONFIGS, _OP.ALTER_CONFIGS, _OP.ALL}),
}
"""Operations of rules that allow this one; for the others it is themselves and ALL."""
_ANY_NAME = "hardcode"  # Kafka's: a name that stands for some resource, in authorize_by_resource_type


class Reason(StrEnum):
    SUPER_USER = "a super user"
    RULE = "a rule"
    NO_RULE_MATCHES = "no rule allows it"
    NO_RULE_AT_ALL = "no rule is about the resource"


class Decision(NamedTuple):
    allowed: bool
    reason: Reason
    rule: AclBinding | None = None

    def __str__(self) -> str:
        return f"{self.reason}: {self.rule}" if self.rule is not None else str(self.reason)


class Authorizer(NamedTuple):
    super_users: frozenset[str] = frozenset()
    allow_everyone_if_no_acl: bool = False

    def decide(
        self, rules: AclRules, principal: str, host: str, operation: int, resource_type: int, name: str
    ) -> Decision:
        if principal in self.super_users:
            return Decision(True, Reason.SUPER_USER)
        allowed_by = _ALLOWED_BY.get(operation) or (operation, _ALL)
        allowing: AclBinding | None = None
        has_rules = False
        for by_principal in rules.about(resource_type, name):
            has_rules = True
            for who in (principal, EVERY_PRINCIPAL):
                for rule in by_principal.get(who, ()):
                    if rule.host != WILDCARD and rule.host != host:
                        continue
                    if rule.permission == _DENY:
                        if rule.operation == operation or rule.operation == _ALL:
                            return Decision(False, Reason.RULE, rule)
                    elif allowing is None and rule.operation in allowed_by:
                        allowing = rule
        if allowing is not None:
            return Decision(True, Reason.RULE, allowing)
        if has_rules:
            return Decision(False, Reason.NO_RULE_MATCHES)
        return Decision(self.allow_everyone_if_no_acl, Reason.NO_RULE_AT_ALL)

    def allows_some(self, rules: AclRules, principal: str, host: str, operation: int, resource_type: int) -> bool:
        """Is there any resource of the type to which the principal may do it? (KIP-679, authorizeByResourceType)

        As in Kafka operations imply no others here, and a rule that allows counts unless one that denies takes all of
        it back: the same name, or a prefix of it.
        """
        if self.decide(rules, principal, host, operation, resource_type, _ANY_NAME).allowed:
            return True
        denied: set[tuple[int, str]] = set()
        allowed: list[tuple[int, str]] = []
        everything = False
        for (_, pattern, name), by_principal in rules.of_type(resource_type):
            for who in (principal, EVERY_PRINCIPAL):
                for rule in by_principal.get(who, ()):
                    if rule.host not in (WILDCARD, host) or rule.operation not in (operation, _ALL):
                        continue
                    is_wildcard = pattern == _LITERAL and name == WILDCARD
                    if rule.permission == _DENY:
                        if is_wildcard:
                            return False
                        denied.add((pattern, name))
                    elif is_wildcard:
                        everything = True
                    else:
                        allowed.append((pattern, name))
        return everything or any(not _is_taken_back(pattern, name, denied) for pattern, name in allowed)


def _is_taken_back(pattern: int, name: str, denied: Collection[tuple[int, str]]) -> bool:
    if pattern == _LITERAL and (_LITERAL, name) in denied:
        return True
    prefixed = int(PatternType.PREFIXED)
    return any((prefixed, name[:length]) in denied for length in range(1, len(name) + 1))
