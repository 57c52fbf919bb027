"""One event of the audit trail, as it is written: a line of JSON.

    time        when, UTC; of an event with a count the last time, and `since` the first
    node        which node saw it; `sequence` counts its events: one that is missing was lost, one may be there twice
    event       access (refused), data (a session's first access to a topic), administration, login, connection, audit
    allowed     whether it was; `error` is Kafka's code where it was allowed and failed all the same
    principal, host, listener, software, client_id    who, as far as known
    operation, api, resource                          what, on what
    reason      the rule that decided, or why a login or a connection was refused
    detail      names of settings, rules, features: never a value that may be secret
    count       how many like it this event stands for

Texts that a client chooses are cut: an event has at most some KB.
"""

from datetime import UTC, datetime

from msgspec import Struct, json, structs

from barnabas.model.limits import AUDIT_DETAIL_CHARS, AUDIT_TEXT_CHARS

ACCESS, DATA, ADMINISTRATION = "access", "data", "administration"
LOGIN, CONNECTION, AUDIT = "login", "connection", "audit"

Key = tuple[str, bool, str, str, str, str, str, str, str]


class AuditEvent(Struct, frozen=True, omit_defaults=True):
    event: str
    allowed: bool
    time_ms: int
    principal: str = ""
    host: str = ""
    listener: str = ""
    software: str = ""
    client_id: str = ""
    operation: str = ""
    api: str = ""
    resource: str = ""
    reason: str = ""
    error: str = ""
    detail: str = ""
    count: int = 1
    since_ms: int = 0

    @property
    def key(self) -> Key:
        """Events that differ in nothing else are folded."""
        return (
            self.event,
            self.allowed,
            self.principal,
            self.host,
            self.operation,
            self.api,
            self.resource,
            self.error,
            self.detail,
        )


def cut(event: AuditEvent) -> AuditEvent:
    """The same with no text longer than it may be."""
    long = {
        name: text[: most - 3] + "..."
        for name in ("principal", "host", "software", "client_id", "resource", "reason", "detail")
        for most in (AUDIT_DETAIL_CHARS if name in ("reason", "detail") else AUDIT_TEXT_CHARS,)
        if len(text := getattr(event, name)) > most
    }
    return structs.replace(event, **long) if long else event


def line(event: AuditEvent, node_id: int, sequence: int) -> bytes:
    """As it is written to the topic and, with a line break behind it, to the file."""
    fields = structs.asdict(event)
    del fields["time_ms"], fields["since_ms"]
    told = {name: value for name, value in fields.items() if value not in ("", None)}
    since = {"since": moment(event.since_ms)} if event.since_ms else {}
    return json.encode({"time": moment(event.time_ms), "node": node_id, "sequence": sequence, **told, **since})


def moment(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
