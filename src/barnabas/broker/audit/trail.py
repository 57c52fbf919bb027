"""What a node tells about its clients: refusals, logins, administration, the first access of a session to a topic.

Every part of the node that knows of such a thing calls one method here; a node without an audit trail has none
(`node.audit is None`), and nothing is done. Events are folded (core/access/audit/folding.py), so that whoever is
refused a million times is told in one event, and written in the background (writer.py). Only the node that has the
client's connection tells of it: a request that was handed on to the active controller is told by its answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from barnabas.broker.audit.log_file import AuditFile
from barnabas.broker.audit.writer import AuditNode, AuditWriter
from barnabas.broker.clock import Clock, wall_ms
from barnabas.broker.network.session import OWN, Session
from barnabas.core.access.audit.administration import ADMINISTRATION as BY_ANSWER
from barnabas.core.access.audit.administration import Done, done_by, is_audited
from barnabas.core.access.audit.event import (
    ACCESS,
    ADMINISTRATION,
    AUDIT,
    CONNECTION,
    DATA,
    LOGIN,
    AuditEvent,
    cut,
    line,
)
from barnabas.core.access.audit.folding import Folding
from barnabas.model.access import CLUSTER_NAME, AclOperation, AclResourceType
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import AUDIT_TOPIC
from barnabas.model.limits import (
    AUDIT_EVENTS_MAX,
    AUDIT_EVENTS_PER_SOURCE_MAX,
    AUDIT_TEXT_CHARS,
    AUDITED_ITEMS_MAX,
    LARGE_REQUEST_THREAD_BYTES,
)
from barnabas.wire.apis import ALTER_LINKED_USERS, OFFSET_COMMIT, SERVED
from barnabas.wire.codec import Decoded, decode_response
from barnabas.wire.frames import LENGTH_BYTES
from barnabas.wire.headers import response_header_bytes

if TYPE_CHECKING:
    from barnabas.broker.access import Access
    from barnabas.broker.network.connection import Connection
    from barnabas.broker.network.context import RequestContext
    from barnabas.model.settings import Settings

log = logging.getLogger(__name__)

_EVER_MS = 1 << 62
_WRITTEN_AT_ONCE = 200  # of folded events: about 3 ms
_NO_AUTHORIZER = "no authorizer: everybody may"
_WRITE, _TOPIC = int(AclOperation.WRITE), int(AclResourceType.TOPIC)
_OPERATIONS = {int(operation): operation.name for operation in AclOperation}
_RESOURCES = {int(kind): kind.name.lower().replace("_", "-") for kind in AclResourceType}
_API_NAMES = {api.key: "".join(part.capitalize() for part in api.name.split("_")) for api in SERVED.values()}
_TOLD_BY_ANSWER = frozenset(api.key for api in SERVED.values() if api.name in BY_ANSWER) - {OFFSET_COMMIT}
_MAY_BE_TOLD = _TOLD_BY_ANSWER | {OFFSET_COMMIT}


class AuditTrail:
    """`access` says by which rule something was decided; `connections` are those whose sessions remember it."""

    def __init__(
        self,
        node: AuditNode,
        settings: Settings,
        clock: Clock,
        access: Access | None,
        connections: Iterable[Connection],
    ) -> None:
        path = str(settings["audit.log.file"] or "")
        file = AuditFile(Path(path), settings.int("audit.log.file.max.bytes")) if path else None
        self._node = node
        self._writer = AuditWriter(node, file)
        self._clock = clock
        self._access = access
        self._connections = connections
        self._folding = Folding(settings.int("audit.repeat.interval.ms"), AUDIT_EVENTS_MAX, AUDIT_EVENTS_PER_SOURCE_MAX)
        self._sequence = wall_ms() * 1000  # those of the next start are higher
        self._told_dropped = 0
        self._data_names, self._data_prefixes = _topics(settings.list("audit.data.topics"))
        self._data_seconds = settings.int("audit.data.interval.ms") / 1000
        self._timers: dict[str, asyncio.TimerHandle] = {}

    @property
    def tells_data(self) -> bool:
        return bool(self._data_names or self._data_prefixes)

    def start(self) -> None:
        self._writer.start()
        self._add(AuditEvent(AUDIT, True, wall_ms(), detail="the audit trail of this node begins"))
        if self.tells_data:
            self._later("data", self._data_seconds, self._forget_access)

    async def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        for event in self._folding.due(_EVER_MS):
            self._put(event)
        await self._writer.close()

    # --- what happened ----------------------------------------------------------------------------------------------

    def refused(self, session: Session, api_key: int, operation: int, resource_type: int, name: str) -> None:
        """A client was refused something. Nothing here where its answer tells it, or another node does."""
        if api_key in _TOLD_BY_ANSWER or session.connection is None:
            return
        resource, who = _resource(resource_type, name), str(session.principal)
        key = (ACCESS, False, who, session.client_host, _OPERATIONS[operation], _API_NAMES[api_key], resource, "", "")
        if not self._folding.count(key, wall_ms()):
            reason = self._reason(session, operation, resource_type, name)
            self._add(_of(session, ACCESS, False, operation, api_key, resource, reason))

    def accessed(self, session: Session, api_key: int, operation: int, topic: str) -> None:
        """The first READ or WRITE of a session on a topic, which was allowed."""
        if session is OWN or (operation == _WRITE and topic == AUDIT_TOPIC):
            return
        if topic in self._data_names or topic.startswith(self._data_prefixes):
            reason = self._reason(session, operation, _TOPIC, topic)
            self._add(_of(session, DATA, True, operation, api_key, _resource(_TOPIC, topic), reason))

    def login(self, session: Session, mechanism: str, user: str, why: str = "") -> None:
        """`why`: it failed."""
        who = f"User:{user}" if user else ""
        event = _of(session, LOGIN, not why, None, None, "", why or mechanism)
        self._add(_with(event, principal=who, detail=mechanism if why else ""))

    def connection_refused(self, host: str, listener: str, why: str) -> None:
        self._add(AuditEvent(CONNECTION, False, wall_ms(), host=host, listener=listener, reason=why))

    def tells(self, api_key: int, request: Decoded) -> bool:
        """Is it a request whose answer is wanted (`answered`)?"""
        return api_key in _MAY_BE_TOLD and is_audited(SERVED[api_key].name, request)

    async def replied(self, context: RequestContext, request: Decoded, reply: bytes) -> None:
        """The frame of the answer to such a request. What was asked is done: whatever goes wrong here is our defect."""
        key, version = context.api_key, context.api_version
        position = LENGTH_BYTES + response_header_bytes(key, version)
        try:
            if len(reply) < LARGE_REQUEST_THREAD_BYTES:
                answer = decode_response(key, version, reply, position)
            else:
                loop, threads = asyncio.get_running_loop(), self._node.read_threads
                answer = await loop.run_in_executor(threads, decode_response, key, version, reply, position)
            self.answered(context, request, answer)
        except Exception:  # a defect of ours costs an event, not the answer
            log.exception("an answer to %s is missing in the audit trail", SERVED[key].name)

    def answered(self, context: RequestContext, request: Decoded, answer: Decoded) -> None:
        """An administrative request of a client, and what became of it."""
        api = SERVED[context.api_key]
        done, more = done_by(api.name, request, answer)
        operation = BY_ANSWER[api.name].operation
        for item in done:
            self._administered(context, item, operation)
        if more:
            event = _of(context.session, ADMINISTRATION, True, operation, context.api_key, "", "")
            self._add(_with(event, client_id=context.client_id or "", detail=f"and {more} more of the same request"))

    def created(self, context: RequestContext, topics: Iterable[str], failed: Mapping[str, ErrorCode]) -> None:
        """Topics that a client asked about and that were made for it (auto.create.topics.enable)."""
        for name in islice(topics, AUDITED_ITEMS_MAX):
            done = Done("topic", name, int(failed.get(name, 0)), "made on demand")
            self._administered(context, done, AclOperation.CREATE)

    def linked_users(self, link: str, users: Sequence[str]) -> None:
        """Users that a link added, or whose passwords it changed."""
        operation, api = AclOperation.ALTER.name, _API_NAMES[ALTER_LINKED_USERS]
        event = AuditEvent(ADMINISTRATION, True, wall_ms(), operation=operation, api=api, detail=f"by the link {link}")
        for user in users[:AUDITED_ITEMS_MAX]:
            self._add(_with(event, resource=f"user:{user}"))
        if (more := len(users) - AUDITED_ITEMS_MAX) > 0:
            self._add(_with(event, detail=f"{event.detail}, and {more} more"))

    def _administered(self, context: RequestContext, item: Done, operation: AclOperation) -> None:
        session, api = context.session, SERVED[context.api_key]
        if item.refused and context.api_key == OFFSET_COMMIT:
            return  # told where it was refused
        if not item.needs_rule:
            reason = ""
        elif isinstance(api.access, AclOperation) or item.resource_type is AclResourceType.CLUSTER:
            reason = self._reason(session, operation, AclResourceType.CLUSTER, CLUSTER_NAME)
        else:
            reason = self._reason(session, operation, item.resource_type, item.name)
        event = _of(session, ADMINISTRATION, not item.refused, operation, context.api_key, item.resource, reason)
        self._add(_with(event, client_id=context.client_id or "", error=item.error, detail=item.detail))

    def _reason(self, session: Session, operation: int, resource_type: int, name: str) -> str:
        access = self._access
        return _NO_AUTHORIZER if access is None else str(access.explain(session, operation, resource_type, name))

    # --- on its way -------------------------------------------------------------------------------------------------

    def _add(self, event: AuditEvent) -> None:
        found = self._folding.add(cut(event), self._clock.steady_ms())
        if found is not None:
            self._put(found)
        if "folded" not in self._timers:
            self._wait_for_folded()

    def _put(self, event: AuditEvent) -> None:
        writer = self._writer
        if writer.dropped > self._told_dropped and writer.has_room:
            lost = writer.dropped - self._told_dropped
            self._told_dropped = writer.dropped
            self._write(AuditEvent(AUDIT, False, wall_ms(), detail="events dropped: the queue was full", count=lost))
        self._write(event)

    def _write(self, event: AuditEvent) -> None:
        self._sequence += 1
        self._writer.put(line(event, self._node.node_id, self._sequence))

    def _wait_for_folded(self) -> None:
        self._timers.pop("folded", None)
        now_ms = self._clock.steady_ms()
        for event in self._folding.due(now_ms, most=_WRITTEN_AT_ONCE):
            self._put(event)
        if (next_ms := self._folding.next_ms) is not None:
            self._later("folded", max(0.01, (next_ms - now_ms) / 1000), self._wait_for_folded)

    def _forget_access(self) -> None:
        """The next access of every session is told again: it is decided anew."""
        for connection in self._connections:
            connection.session.access_memo = None
        self._later("data", self._data_seconds, self._forget_access)

    def _later(self, name: str, seconds: float, then: Callable[[], None]) -> None:
        self._timers[name] = asyncio.get_running_loop().call_later(seconds, then)


def _of(
    session: Session,
    kind: str,
    allowed: bool,
    operation: int | None,
    api_key: int | None,
    resource: str,
    reason: str,
) -> AuditEvent:
    return AuditEvent(
        kind,
        allowed,
        wall_ms(),
        principal=str(session.principal),
        host=session.client_host,
        listener=session.listener,
        software=f"{session.software_name} {session.software_version}".strip(),
        client_id=session.client_id,
        operation="" if operation is None else _OPERATIONS[operation],
        api="" if api_key is None else _API_NAMES[api_key],
        resource=resource,
        reason=reason,
    )


def _with(event: AuditEvent, **fields: str) -> AuditEvent:
    return structs.replace(event, **fields)


def _resource(resource_type: int, name: str) -> str:
    if resource_type == AclResourceType.CLUSTER:
        return "cluster"
    return f"{_RESOURCES[resource_type]}:{name}"[:AUDIT_TEXT_CHARS]


def _topics(items: Iterable[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Names, and prefixes; `*` alone is the empty prefix."""
    names = frozenset(item for item in items if not item.endswith("*"))
    return names, tuple(item[:-1] for item in items if item.endswith("*"))
