"""How `consume` writes a record: text, json or raw; a whole batch at a time, because a write per line costs more than
all the rest.

text  one line: the columns asked for, with tabs between, and the value last. A missing value or key is `null`, as
      Kafka's own console consumer has it. On a terminal control characters are escaped: a record must not drive a
      terminal.
json  one object a line, with everything; `produce --json` takes it back unchanged. Bytes that are not UTF-8 travel as
      `key_base64` and `value_base64`.
raw   the bytes of the values and nothing else, not even a line end.
"""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from barnabas.cli.common import human
from barnabas.cli.common.screen import coloured, quoted

if TYPE_CHECKING:
    from barnabas.client.common.rdkafka import RawMessage

FORMATS = ("text", "json", "raw")
Render = Callable[[Sequence["RawMessage"]], bytes]


@dataclass(frozen=True, slots=True)
class Shown:
    """The columns beside the value that text shows."""

    keys: bool = False
    headers: bool = False
    timestamps: bool = False
    offsets: bool = False

    @property
    def any(self) -> bool:
        return self.keys or self.headers or self.timestamps or self.offsets


def renderer(form: str, shown: Shown) -> Render:
    if form == "json":
        return json_lines
    if form == "raw":
        return raw
    if sys.stdout.isatty():
        return lambda batch: _terminal(batch, shown)
    return (lambda batch: _columns(batch, shown)) if shown.any else _values


def raw(batch: Sequence[RawMessage]) -> bytes:
    return b"".join([message.value() or b"" for message in batch])


def _values(batch: Sequence[RawMessage]) -> bytes:
    values = [message.value() for message in batch]
    if None in values:
        values = [b"null" if value is None else value for value in values]
    values.append(b"")
    return b"\n".join(cast("list[bytes]", values))  # one look for a None in all of them is faster than one at each


def _columns(batch: Sequence[RawMessage], shown: Shown) -> bytes:
    keys, headers, timestamps, offsets = shown.keys, shown.headers, shown.timestamps, shown.offsets
    lines = []
    for message in batch:
        before = ""
        if timestamps:
            before = f"{human.moment(message.timestamp()[1])}\t"
        if offsets:
            before += f"{message.partition()}:{message.offset()}\t"
        if headers:
            before += f"{_headers(message)}\t"
        value = message.value()
        line = before.encode() if before else b""
        if keys:
            key = message.key()
            line += (b"null" if key is None else key) + b"\t"
        lines.append(line + (b"null" if value is None else value))
    lines.append(b"")
    return b"\n".join(lines)


def _terminal(batch: Sequence[RawMessage], shown: Shown) -> bytes:
    dim, plain = ("\x1b[2m", "\x1b[0m") if coloured() else ("", "")
    key_colour = "\x1b[36m" if coloured() else ""
    lines = []
    for message in batch:
        before = "  ".join(_before(message, shown))
        line = f"{dim}{before}{plain}  " if before else ""
        if shown.keys:
            line += f"{key_colour}{_readable(message.key())}{plain}  "
        lines.append(line + _readable(message.value()))
    return ("\n".join(lines) + "\n").encode()


def _before(message: RawMessage, shown: Shown) -> list[str]:
    parts = []
    if shown.timestamps:
        parts.append(human.moment(message.timestamp()[1]))
    if shown.offsets:
        parts.append(f"{message.partition()}:{message.offset()}")
    if shown.headers:
        parts.append(_headers(message))
    return parts


def _headers(message: RawMessage) -> str:
    return ",".join(f"{quoted(name)}={_readable(value)}" for name, value in message.headers() or ()) or "-"


def _readable(value: bytes | None) -> str:
    if value is None:
        return "null"
    return quoted(value.decode("utf-8", "backslashreplace"))


def json_lines(batch: Sequence[RawMessage]) -> bytes:
    import msgspec

    encode = msgspec.json.encode
    lines = [encode(as_object(message)) for message in batch]
    lines.append(b"")
    return b"\n".join(lines)


def as_object(message: RawMessage) -> dict[str, object]:
    record: dict[str, object] = {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": message.timestamp()[1],
    }
    decoded = getattr(message, "decoded", ())  # what a registry's schema has made JSON of (schemas.py)
    _put(record, "key", message.key(), "key" in decoded)
    _put(record, "value", message.value(), "value" in decoded)
    headers = message.headers()
    if headers:
        record["headers"] = [_header(name, value) for name, value in headers]
    return record


def _put(record: dict[str, object], name: str, value: bytes | None, is_json: bool = False) -> None:
    if is_json and value is not None:
        import msgspec

        record[name] = msgspec.Raw(value)
        return
    try:
        record[name] = None if value is None else value.decode()
    except UnicodeDecodeError:
        record[f"{name}_base64"] = b64encode(value or b"").decode()


def _header(name: str, value: bytes | None) -> list[object]:
    """[name, text], or [name, null], or [name, {"base64": ...}] when the bytes are no text."""
    try:
        return [name, None if value is None else value.decode()]
    except UnicodeDecodeError:
        return [name, {"base64": b64encode(value or b"").decode()}]
