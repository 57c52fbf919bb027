"""Who may do what: the decision, compared with a straightforward one over random rules, and its edges by name."""

from __future__ import annotations

from random import Random

import pytest

from barnabas.core.access.authorizer import Authorizer, Reason
from barnabas.core.access.bindings import AclBinding, AclFilter
from barnabas.core.access.rules import NO_RULES
from barnabas.model.access import AclOperation, AclPermission, AclResourceType, PatternType
from tests.unit.access.model import Question, made, random_rule, slow_decision

TOPIC, CLUSTER = AclResourceType.TOPIC, AclResourceType.CLUSTER
READ, WRITE, DESCRIBE, ALL = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.ALL
ALLOW, DENY = AclPermission.ALLOW, AclPermission.DENY
NOBODY = Authorizer()


def rule(
    operation: int,
    name: str = "orders",
    permission: int = ALLOW,
    *,
    principal: str = "User:alice",
    host: str = "*",
    prefixed: bool = False,
) -> AclBinding:
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    return AclBinding(TOPIC, name, pattern, principal, host, operation, permission)


def allowed(*rules: AclBinding, operation: int = READ, name: str = "orders", authorizer: Authorizer = NOBODY) -> bool:
    return authorizer.decide(made(list(rules)), "User:alice", "10.1.1.1", operation, TOPIC, name).allowed


@pytest.mark.parametrize("seed", range(20))
def test_decides_as_the_slow_model(seed: int) -> None:
    random = Random(seed)
    for _ in range(100):
        rules = [random_rule(random) for _ in range(random.randrange(25))]
        supers = frozenset({"User:bob"}) if random.random() < 0.2 else frozenset[str]()
        everyone = random.random() < 0.5
        index, authorizer = made(rules), Authorizer(supers, everyone)
        for _ in range(20):
            q = Question(random)
            found = authorizer.decide(index, q.principal, q.host, q.operation, q.resource_type, q.name)
            assert found.allowed == slow_decision(rules, q, supers, everyone), (vars(q), rules)
            assert (found.rule is not None) == (found.reason is Reason.RULE)


@pytest.mark.parametrize("seed", range(10))
def test_rules_changed_in_steps_are_those_made_at_once(seed: int) -> None:
    random = Random(seed)
    rules, kept = NO_RULES, dict[bytes, AclBinding]()
    for step in range(200):
        gone = [key for key in kept if random.random() < 0.1]
        new = random_rule(random)
        before = rules
        added = {} if new in kept.values() and kept.get(rules.ids[new]) not in (None,) else {step.to_bytes(16): new}
        if any(kept[key] == new for key in gone):
            gone = [key for key in gone if kept[key] != new]
        rules = rules.changed(added, gone)
        for key in gone:
            del kept[key]
        kept.update(added)
        assert dict(rules.by_id) == kept
        assert rules is not before
        q = Question(random)
        asked = ("User:alice", q.host, q.operation, q.resource_type, q.name)
        assert Authorizer().decide(rules, *asked)[0] == Authorizer().decide(made(list(kept.values())), *asked)[0]


def test_a_deny_wins_over_an_allow_of_any_pattern() -> None:
    assert allowed(rule(READ))
    assert not allowed(rule(READ), rule(READ, "*", DENY))
    assert not allowed(rule(READ, "*"), rule(ALL, "ord", DENY, prefixed=True))
    assert not allowed(rule(READ), rule(READ, permission=DENY, principal="User:*"))
    assert allowed(rule(READ), rule(READ, permission=DENY, host="10.9.9.9"))
    assert not allowed(rule(READ), rule(READ, permission=DENY, host="10.1.1.1"))


def test_operations_imply_others_only_where_they_are_allowed() -> None:
    for operation in (READ, WRITE, AclOperation.DELETE, AclOperation.ALTER, ALL):
        assert allowed(rule(operation), operation=DESCRIBE)
        assert allowed(rule(DESCRIBE), rule(operation, permission=DENY), operation=DESCRIBE) == (operation != ALL)
    assert allowed(rule(AclOperation.ALTER_CONFIGS), operation=AclOperation.DESCRIBE_CONFIGS)
    assert not allowed(rule(AclOperation.ALTER_CONFIGS), operation=DESCRIBE)
    assert not allowed(rule(AclOperation.CREATE), operation=DESCRIBE)


def test_a_prefix_is_no_literal_and_a_star_with_a_prefix_is_no_wildcard() -> None:
    assert not allowed(rule(READ, "ord"))
    assert allowed(rule(READ, "ord", prefixed=True))
    assert allowed(rule(READ, "orders", prefixed=True))
    assert not allowed(rule(READ, "orders-1", prefixed=True))
    assert not allowed(rule(READ, "*", prefixed=True))
    assert allowed(rule(READ, "*", prefixed=True), name="*stars")


def test_everybody_may_where_no_rule_is_about_the_resource() -> None:
    everyone = Authorizer(allow_everyone_if_no_acl=True)
    assert allowed(authorizer=everyone)
    assert allowed(rule(READ, "payments", principal="User:bob"), authorizer=everyone)
    assert not allowed(rule(WRITE, principal="User:bob"), authorizer=everyone)
    assert not allowed(rule(WRITE, "*", principal="User:bob"), authorizer=everyone)


def test_a_super_user_passes_whatever_denies_it() -> None:
    decision = Authorizer(frozenset({"User:alice"})).decide(
        made([rule(ALL, "*", DENY)]), "User:alice", "h", READ, TOPIC, "orders"
    )
    assert decision.allowed
    assert str(decision) == "a super user"


def test_a_decision_names_its_rule() -> None:
    decision = Authorizer().decide(made([rule(READ, "ord", prefixed=True)]), "User:alice", "h", READ, TOPIC, "orders")
    assert str(decision) == "a rule: ALLOW User:alice READ on TOPIC 'ord' (PREFIXED)"


@pytest.mark.parametrize(
    ("rules", "may"),
    [
        ([], False),
        ([rule(WRITE)], True),
        ([rule(ALL, principal="User:*")], True),
        ([rule(READ)], False),
        ([rule(WRITE), rule(WRITE, permission=DENY)], False),
        ([rule(WRITE), rule(WRITE, "ord", DENY, prefixed=True)], False),
        ([rule(WRITE), rule(WRITE, "*", DENY)], False),
        ([rule(WRITE, "ord", prefixed=True), rule(WRITE, "ord", DENY)], True),
        ([rule(WRITE, "ord", prefixed=True), rule(WRITE, "orders", DENY, prefixed=True)], True),
        ([rule(WRITE, "*"), rule(WRITE, "o", DENY, prefixed=True)], True),
        ([rule(WRITE, host="10.9.9.9")], False),
    ],
)
def test_a_write_somewhere(rules: list[AclBinding], may: bool) -> None:
    assert Authorizer().allows_some(made(rules), "User:alice", "10.1.1.1", WRITE, TOPIC) is may


def test_filters() -> None:
    literal, prefixed, star = rule(READ), rule(WRITE, "ord", prefixed=True), rule(READ, "*", principal="User:*")
    rules = made([literal, prefixed, star])

    def found(wanted: AclFilter) -> set[AclBinding]:
        return {each for each in rules.candidates(wanted) if wanted.matches(each)}

    assert found(AclFilter()) == {literal, prefixed, star}
    assert found(AclFilter(resource_name="orders")) == {literal}
    assert found(AclFilter(resource_name="orders", pattern_type=PatternType.MATCH)) == {literal, prefixed, star}
    assert found(AclFilter(resource_name="ord", pattern_type=PatternType.MATCH)) == {prefixed, star}
    assert found(AclFilter(TOPIC, "orders", PatternType.LITERAL)) == {literal}
    assert found(AclFilter(TOPIC, "*", PatternType.LITERAL)) == {star}
    assert found(AclFilter(TOPIC, None, PatternType.PREFIXED)) == {prefixed}
    assert found(AclFilter(CLUSTER)) == set()
    assert found(AclFilter(principal="User:alice", operation=READ)) == {literal}
    assert found(AclFilter(principal="User:alice", host="10.1.1.1")) == set()
    assert found(AclFilter(permission=DENY)) == set()
