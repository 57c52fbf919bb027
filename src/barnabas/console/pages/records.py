"""Records as a page is given them: decoded, and with what the person's role hides taken out first.

What a role hides is hidden before anything looks at the value: a filter or a search on a hidden field would tell it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace

import msgspec

from barnabas.browse import Query, Record
from barnabas.browse.decoding import Shown, decode
from barnabas.browse.expression import BadExpression, mask, masked_paths
from barnabas.browse.record import Part
from barnabas.browse.search.query import finder
from barnabas.console.options import Role
from barnabas.console.problems import NotAllowed, Problem
from barnabas.wire.records import Record as WireRecord

_HIDDEN = b"(hidden: your role masks fields, and this is no JSON)"
Keep = Callable[[Record], bool]


class Veil:
    """What a role hides of values; made once for a page or a tail."""

    def __init__(self, role: Role) -> None:
        try:
            self._paths = masked_paths(role.mask)
        except BadExpression as error:
            raise Problem(f"role {role.name!r} masks what is no path: {error}", status=500) from None

    def __bool__(self) -> bool:
        return bool(self._paths)

    def over(self, record: Record) -> Record:
        if not self._paths or record.value is None:
            return record
        try:
            value = msgspec.json.decode(record.value)
        except (msgspec.DecodeError, RecursionError):
            return record._replace(value=_HIDDEN)
        text = msgspec.json.encode(mask(value, self._paths))
        return record._replace(value=text, value_bytes=len(text) if record.decoded else record.value_bytes)


def unmasked(role: Role, what: str) -> None:
    """For what would show or tell hidden fields."""
    if role.mask:
        raise NotAllowed(f"{what} would show fields that are hidden from you", f"Your role is {role.name!r}.")


def keep_of(kind: str, wanted: str) -> Keep | None:
    """A filter of a page or a tail: `text` or `regex` anywhere in key, value or headers, `where` an expression."""
    if not wanted:
        return None
    query = Query("expression" if kind == "where" else "regex" if kind == "regex" else "text", wanted)
    try:
        matches = finder(query).matches
    except BadExpression as error:
        raise Problem(str(error)) from None
    return lambda each: matches(
        each.partition, WireRecord(each.offset, each.timestamp, each.key, each.value, each.headers)
    )


def as_page(record: Record, *, preview: int | None = None) -> dict[str, object]:
    """`preview`: at most so many characters of a value, for lists."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": record.timestamp_type,
        "producer_id": record.producer_id,
        "leader_epoch": record.leader_epoch,
        "key": _shown(_by_schema(decode(record.key, record.key_bytes), record, "key"), preview),
        "value": _shown(_by_schema(decode(record.value, record.value_bytes), record, "value"), preview),
        "headers": [{"name": name, "value": _shown(decode(value), preview)} for name, value in record.headers],
        "truncated": record.truncated,
    }


def _by_schema(shown: Shown, record: Record, part: Part) -> Shown:
    """What the registry's schema has made of it, with the size that it has in the log."""
    found = next((each for each in record.decoded if each.part == part), None)
    if found is None:
        return shown
    return replace(shown, reason=f"decoded by schema {found.schema}", bytes=found.bytes, schema_id=found.schema)


def _shown(shown: Shown, preview: int | None) -> dict[str, object]:
    text = shown.text if preview is None else shown.text[:preview]
    return {
        "kind": shown.kind,
        "text": text,
        "reason": shown.reason,
        "bytes": shown.bytes,
        "truncated": shown.truncated or len(text) < len(shown.text),
        "schema_id": shown.schema_id,
    }


class Given(msgspec.Struct):
    """Bytes that a person typed, or chose as a file; nothing of both is null."""

    text: str | None = None
    base64: str | None = None

    def bytes(self) -> bytes | None:
        if self.base64 is not None:
            try:
                return base64.b64decode(self.base64, validate=True)
            except ValueError:
                raise Problem("a file did not arrive whole") from None
        return None if self.text is None else self.text.encode()
