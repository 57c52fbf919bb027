"""What a session remembers of decisions: bounded, dropped when rules or the principal change, and not for the node."""

from __future__ import annotations

from barnabas.broker.access import Access
from barnabas.broker.network.session import OWN, Principal, Session
from barnabas.core.access.authorizer import Authorizer
from barnabas.core.access.bindings import AclBinding
from barnabas.core.access.rules import NO_RULES
from barnabas.core.cluster import MetadataImage
from barnabas.model.access import AclOperation, AclPermission, AclResourceType, PatternType
from barnabas.model.limits import ACCESS_MEMO_MAX

TOPIC, READ, WRITE = AclResourceType.TOPIC, AclOperation.READ, AclOperation.WRITE
RULE = AclBinding(TOPIC, "t", PatternType.PREFIXED, "User:ANONYMOUS", "*", READ, AclPermission.ALLOW)


class Cluster:
    def __init__(self) -> None:
        self.image = MetadataImage(acls=NO_RULES.changed({b"1" * 16: RULE}, ()))


def test_decisions_are_remembered_until_the_rules_change() -> None:
    cluster, session = Cluster(), Session("10.0.0.1")
    access = Access(cluster, Authorizer(frozenset({"User:admin"})))
    assert access.allows(session, READ, TOPIC, "t1")
    assert not access.allows(session, WRITE, TOPIC, "t1")
    memo = session.access_memo
    assert memo is not None and len(memo.answers) == 2
    assert access.allows(session, READ, TOPIC, "t1") and session.access_memo is memo
    cluster.image = MetadataImage(acls=NO_RULES)
    assert not access.allows(session, READ, TOPIC, "t1")
    assert session.access_memo is not memo


def test_another_principal_is_another_session() -> None:
    session = Session("10.0.0.1")
    access = Access(Cluster(), Authorizer(frozenset({"User:admin"})))
    assert not access.allows_some(session, WRITE, TOPIC)
    session.principal = Principal("User", "admin")
    assert access.allows_some(session, WRITE, TOPIC)
    assert access.passes(session)


def test_a_session_that_names_many_things_remembers_no_more_than_the_bound() -> None:
    session, access = Session("10.0.0.1"), Access(Cluster(), Authorizer())
    for number in range(3 * ACCESS_MEMO_MAX):
        assert access.allows(session, READ, TOPIC, f"t{number}")
    assert session.access_memo is not None
    assert len(session.access_memo.answers) <= ACCESS_MEMO_MAX


def test_what_a_node_asks_itself_passes() -> None:
    access = Access(Cluster(), Authorizer())
    assert access.allows(OWN, WRITE, TOPIC, "anything")
    assert access.operations(OWN, TOPIC, "anything") == 3576


def test_the_short_way_of_produce_decides_the_same() -> None:
    writes = AclBinding(TOPIC, "w", PatternType.PREFIXED, "User:ANONYMOUS", "*", WRITE, AclPermission.ALLOW)
    cluster, session = Cluster(), Session("10.0.0.1")
    access = Access(cluster, Authorizer(frozenset({"User:admin"})))
    assert not access.may_write(session, "w1")
    cluster.image = MetadataImage(acls=NO_RULES.changed({b"2" * 16: writes}, ()))
    for _ in range(2):
        assert access.may_write(session, "w1")
        assert not access.may_write(session, "t1")
    cluster.image = MetadataImage(acls=NO_RULES)
    assert not access.may_write(session, "w1")
    session.principal = Principal("User", "admin")
    assert access.may_write(session, "w1")
