"""Random rules and questions, and the slow, straightforward decision that the fast one is compared with."""

from __future__ import annotations

from random import Random

from barnabas.core.access.bindings import AclBinding
from barnabas.core.access.rules import NO_RULES, AclRules
from barnabas.model.access import OPERATIONS, AclOperation, AclPermission, AclResourceType, PatternType

NAMES = ("a", "ab", "abc", "b", "ba", "orders", "orders-1", "order", "*")
PRINCIPALS = ("User:alice", "User:bob", "User:*", "Group:alice")
HOSTS = ("*", "127.0.0.1", "10.0.0.1")
TYPES = (AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER)


def random_rule(random: Random) -> AclBinding:
    kind = random.choice(TYPES)
    return AclBinding(
        kind,
        random.choice(NAMES),
        random.choice((PatternType.LITERAL, PatternType.LITERAL, PatternType.PREFIXED)),
        random.choice(PRINCIPALS),
        random.choice(HOSTS),
        random.choice((AclOperation.ALL, *OPERATIONS[kind])),
        random.choice((AclPermission.ALLOW, AclPermission.ALLOW, AclPermission.DENY)),
    )


def made(rules: list[AclBinding]) -> AclRules:
    unique = list(dict.fromkeys(rules))
    return NO_RULES.changed({bytes([number]) * 16: rule for number, rule in enumerate(unique)}, ())


class Question:
    def __init__(self, random: Random) -> None:
        self.principal = random.choice([name for name in PRINCIPALS if name != "User:*"])
        self.host = random.choice(HOSTS[1:])
        self.resource_type = random.choice(TYPES)
        self.name = random.choice([name for name in NAMES if name != "*"])
        self.operation = random.choice(OPERATIONS[self.resource_type])


_DESCRIBE = {AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER}


def slow_decision(rules: list[AclBinding], q: Question, supers: frozenset[str], everyone: bool) -> bool:
    if q.principal in supers:
        return True
    about = [rule for rule in rules if _is_about(rule, q.resource_type, q.name)]
    mine = [rule for rule in about if rule.principal in (q.principal, "User:*") and rule.host in (q.host, "*")]
    for rule in mine:
        if rule.permission == AclPermission.DENY and rule.operation in (q.operation, AclOperation.ALL):
            return False
    implied = {AclOperation.ALL, q.operation}
    if q.operation == AclOperation.DESCRIBE:
        implied |= _DESCRIBE
    if q.operation == AclOperation.DESCRIBE_CONFIGS:
        implied.add(AclOperation.ALTER_CONFIGS)
    if any(rule.permission == AclPermission.ALLOW and rule.operation in implied for rule in mine):
        return True
    return everyone and not about


def _is_about(rule: AclBinding, kind: int, name: str) -> bool:
    if rule.resource_type != kind:
        return False
    if rule.pattern_type == PatternType.PREFIXED:
        return name.startswith(rule.resource_name)
    return rule.resource_name in (name, "*")
