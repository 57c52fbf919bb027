"""Who may do what on this node: the rules of the newest image, asked for a session (core/access decides).

A node without an authorizer has no `Access` at all (`node.access is None`), and every check ends there. With one,
each session remembers what was decided for it until the rules change, so that a request costs a look into a table
however many rules there are. With an audit trail (broker/audit) refusals are told there, and a session's first access
to a topic; what it has accessed before is in its memo. What a node asks itself always passes; other nodes are clients
with rights of their own, normally super users, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from barnabas.broker.network.session import OWN
from barnabas.core.access.authorizer import Authorizer, Decision
from barnabas.core.access.rules import AclRules
from barnabas.model.access import CLUSTER_NAME, OPERATIONS, AclOperation, AclResourceType
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import ACCESS_MEMO_MAX
from barnabas.model.settings.unkept import refuse_access_control
from barnabas.wire.apis import FETCH, PRODUCE

if TYPE_CHECKING:
    from barnabas.broker.audit.trail import AuditTrail
    from barnabas.broker.audit.writer import AuditNode
    from barnabas.broker.clock import Clock
    from barnabas.broker.network.listener import Listener
    from barnabas.broker.network.session import Principal, Session
    from barnabas.core.cluster.image import MetadataImage
    from barnabas.model.settings import Settings

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_CLUSTER = int(AclResourceType.CLUSTER)
_WRITES = (int(AclOperation.WRITE), int(AclResourceType.TOPIC))
_READS = (int(AclOperation.READ), int(AclResourceType.TOPIC))


class HoldsImage(Protocol):
    @property
    def image(self) -> MetadataImage: ...


class AccessMemo:
    """What was decided for one session under one set of rules."""

    __slots__ = ("answers", "passes", "principal", "readable", "rules", "who", "writable")

    def __init__(self, session: Session, rules: AclRules, super_users: frozenset[str]) -> None:
        self.rules = rules
        self.principal: Principal = session.principal
        self.who = str(session.principal)
        self.passes = session is OWN or self.who in super_users
        self.answers: dict[tuple[int, int, str | None], bool] = {}
        self.writable: set[str] = set()  # topics that it has written to, once more: for the short way of Produce
        self.readable: set[str] = set()  # and those that it has read


class Access:
    def __init__(self, cluster: HoldsImage, authorizer: Authorizer) -> None:
        self._cluster = cluster
        self._authorizer = authorizer
        self.audit: AuditTrail | None = None

    @property
    def super_users(self) -> frozenset[str]:
        """Principals that may do everything."""
        return self._authorizer.super_users

    def allows(self, session: Session, operation: int, resource_type: int, name: str) -> bool:
        memo = session.access_memo
        if memo is None or memo.rules is not self._cluster.image.acls or memo.principal is not session.principal:
            memo = self._begin(session)
        if memo.passes:
            return True
        found = memo.answers.get((operation, resource_type, name))
        return self._decide(session, memo, operation, resource_type, name) if found is None else found

    def requires(self, session: Session, api_key: int, operation: int, resource_type: int, name: str) -> bool:
        """The same for something that a client asked for by name: if it may not, that is told in the audit trail."""
        if self.allows(session, operation, resource_type, name):
            return True
        if self.audit is not None:
            self.audit.refused(session, api_key, operation, resource_type, name)
        return False

    def may_write(self, session: Session, topic: str) -> bool:
        """As `allows(session, WRITE, TOPIC, topic)`, and quicker: every small Produce asks it. If it may, it does."""
        memo = session.access_memo
        if (
            memo is not None
            and topic in memo.writable
            and memo.rules is self._cluster.image.acls
            and memo.principal is session.principal
        ):
            return True
        return self.allows(session, *_WRITES, topic) and self._accesses(session, PRODUCE, _WRITES[0], topic)

    def may_read(self, session: Session, topic: str) -> bool:
        """The same for Fetch, which reads if it may; a refusal is told in the audit trail."""
        memo = session.access_memo
        if (
            memo is not None
            and topic in memo.readable
            and memo.rules is self._cluster.image.acls
            and memo.principal is session.principal
        ):
            return True
        return self.requires(session, FETCH, *_READS, topic) and self._accesses(session, FETCH, _READS[0], topic)

    def _accesses(self, session: Session, api_key: int, operation: int, topic: str) -> bool:
        memo = session.access_memo
        assert memo is not None
        accessed = memo.writable if operation == _WRITES[0] else memo.readable
        if len(accessed) >= ACCESS_MEMO_MAX:
            accessed.clear()
        accessed.add(topic)
        if self.audit is not None:
            self.audit.accessed(session, api_key, operation, topic)
        return True

    def explain(self, session: Session, operation: int, resource_type: int, name: str) -> Decision:
        """What is decided now, and by which rule."""
        who, host = str(session.principal), session.client_host
        return self._authorizer.decide(self._cluster.image.acls, who, host, operation, resource_type, name)

    def passes(self, session: Session) -> bool:
        """May the session do everything?"""
        memo = session.access_memo
        if memo is None or memo.rules is not self._cluster.image.acls or memo.principal is not session.principal:
            memo = self._begin(session)
        return memo.passes

    def allows_on_cluster(self, session: Session, operation: int) -> bool:
        return self.allows(session, operation, _CLUSTER, CLUSTER_NAME)

    def allows_some(self, session: Session, operation: int, resource_type: int) -> bool:
        """On some resource of the type (KIP-679)."""
        if self.passes(session):
            return True
        memo, key = session.access_memo, (operation, resource_type, None)
        assert memo is not None
        found = memo.answers.get(key)
        if found is None:
            found = self._authorizer.allows_some(memo.rules, memo.who, session.client_host, operation, resource_type)
            self._remember(memo, key, found)
        return found

    def operations(self, session: Session, resource_type: AclResourceType, name: str) -> int:
        """What the session may do to the resource, as bits by the numbers of operations (KIP-430)."""
        bits = 0
        for operation in OPERATIONS[resource_type]:
            if self.allows(session, operation, resource_type, name):
                bits |= 1 << operation
        return bits

    def _begin(self, session: Session) -> AccessMemo:
        memo = AccessMemo(session, self._cluster.image.acls, self._authorizer.super_users)
        session.access_memo = memo
        return memo

    def _decide(self, session: Session, memo: AccessMemo, operation: int, resource_type: int, name: str) -> bool:
        host = session.client_host
        found = self._authorizer.decide(memo.rules, memo.who, host, operation, resource_type, name).allowed
        self._remember(memo, (operation, resource_type, name), found)
        return found

    def _remember(self, memo: AccessMemo, key: tuple[int, int, str | None], found: bool) -> None:
        if len(memo.answers) >= ACCESS_MEMO_MAX:
            memo.answers.clear()
        memo.answers[key] = found


def access_of(cluster: HoldsImage, settings: Settings) -> Access | None:
    """None: everybody may do everything. KafkaError(INVALID_CONFIG) where a setting asks for what is not there."""
    refuse_access_control(settings)
    authorizer = authorizer_of(settings)
    return None if authorizer is None else Access(cluster, authorizer)


def authorizer_of(settings: Settings) -> Authorizer | None:
    """What the settings ask for; None: everybody may do everything. KafkaError(INVALID_CONFIG) in one line."""
    name = str(settings["authorizer.class.name"] or "")
    if not name:
        return None
    if name != STANDARD_AUTHORIZER:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"authorizer.class.name={name}: no Java class can be loaded; {STANDARD_AUTHORIZER} is known by its name",
        )
    users = [user.strip() for user in str(settings["super.users"] or "").split(";")]
    for user in filter(None, users):
        if ":" not in user:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"super.users: {user!r} is not TYPE:NAME, such as User:admin")
    everyone = settings.bool("allow.everyone.if.no.acl.found")
    return Authorizer(frozenset(filter(None, users)), everyone)


def audit_of(
    node: AuditNode, settings: Settings, clock: Clock, access: Access | None, listener: Listener
) -> AuditTrail | None:
    """None without `audit.enable`. Whoever decides about access or connections tells it what was refused."""
    if not settings.bool("audit.enable"):
        return None
    from barnabas.broker.audit.trail import AuditTrail  # not for a node without one

    trail = AuditTrail(node, settings, clock, access, listener.connections)
    listener.audit = trail
    if access is not None:
        access.audit = trail
    return trail
