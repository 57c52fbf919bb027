"""Rules at the controller: which are refused and in which words, the bound on their number, deleting."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from barnabas.core.access.bindings import AclBinding
from barnabas.core.cluster.access import acls
from barnabas.model.access import AclOperation, AclPermission, AclResourceType, PatternType
from barnabas.model.errors import ErrorCode
from tests.unit.cluster.stage import Stage

RULE = AclBinding(
    AclResourceType.TOPIC, "orders", PatternType.LITERAL, "User:alice", "*", AclOperation.READ, AclPermission.ALLOW
)


def test_a_rule_is_created_once_and_stays_what_it_is() -> None:
    stage = Stage()
    assert stage.do("create_acls", [RULE, RULE]) == [None, None]
    assert stage.do("create_acls", [RULE]) == [None]
    assert list(stage.image.acls.ids) == [RULE]
    rules = stage.image.acls
    stage.do("create_topics", [])
    assert stage.image.acls is rules, "the same object while no rule changes"
    assert stage.do("delete_acls", list(rules.by_id)) == list(rules.by_id)
    assert len(stage.image.acls) == 0
    assert len(rules) == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"resource_type": AclResourceType.CLUSTER}, "The only valid name for the CLUSTER resource is kafka-cluster"),
        ({"resource_name": ""}, "Invalid empty resource name"),
        ({"resource_type": AclResourceType.ANY}, "Invalid resourceType ANY"),
        ({"pattern_type": PatternType.MATCH}, "Invalid patternType MATCH"),
        ({"pattern_type": PatternType.ANY}, "Invalid patternType ANY"),
        ({"operation": AclOperation.ANY}, "Invalid operation ANY"),
        ({"permission": AclPermission.ANY}, "Invalid permissionType ANY"),
        ({"principal": "alice"}, "Could not parse principal from `alice`"),
        ({"host": "h" * 5_000}, "more than 4,096 characters"),
    ],
)
def test_refusals(wrong: dict[str, object], words: str) -> None:
    stage = Stage()
    good, bad = stage.do("create_acls", [RULE, replace(RULE, **wrong)])
    assert good is None
    assert bad.code is ErrorCode.INVALID_REQUEST
    assert words in bad.message
    assert len(stage.image.acls) == 1


def test_no_more_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acls, "ACLS_MAX", 2)
    stage = Stage()
    results = stage.do("create_acls", [replace(RULE, resource_name=name) for name in "abca"])
    assert [result and result.code for result in results] == [None, None, ErrorCode.POLICY_VIOLATION, None]
