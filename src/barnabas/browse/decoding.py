"""Bytes as what a person sees: JSON, text, an integer, or hexadecimal with ASCII beside it, and why that was chosen.

Values are hostile: whatever they hold, the answer is bounded (DECODED_MAX_CHARS, DECODED_HEX_MAX_BYTES), takes
milliseconds, and has no control characters other than tab and line ends: those are shown as symbols (␀, ␛), and what
turns or hides text (U+202E and its like) as its number. JSON is given as it was written; whoever shows it may fold it.
"""

import re
from dataclasses import dataclass
from struct import Struct
from typing import Literal

import msgspec

from barnabas.model.limits import DECODED_HEX_MAX_BYTES, DECODED_MAX_CHARS, SHOWN_VALUE_MAX_BYTES

Kind = Literal["null", "empty", "json", "text", "integer", "hex"]

WIRE_FORMAT_BYTES = 5  # Confluent's: a zero and the schema's id, then the data
_SCHEMA_ID = Struct(">xI")
_INTEGERS = {4: Struct(">i"), 8: Struct(">q")}
_JSON_BEGINS = re.compile(rb"\s*[{\[]")
_validate = msgspec.json.Decoder(msgspec.Raw).decode
_REPLACED_MAX_CHARS = 64 * 1024  # of a text in which characters have to be replaced: 10 to 20 ms
_CUT_MAX_BYTES = 3  # what a cut may leave of a character at the end

_HIDDEN = [*range(0x80, 0xA0), 0x061C, *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF]
_SYMBOLS: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n\r"},
    0x7F: "␡",
    **{code: f"⟨U+{code:04X}⟩" for code in _HIDDEN},
    **{code: f"⟨U+{code:04X}⟩" for code in range(0xD800, 0xE000)},
}
_TO_SHOW = re.compile("[" + "".join(f"\\u{code:04x}" for code in _SYMBOLS) + "]")
_CONTROLS = bytes(code for code in [*range(0x20), 0x7F] if code not in b"\t\n\r")
_CONTROL_SHARE = 20  # text has at most one control character in so many; a terminal's output has some


@dataclass(frozen=True, slots=True)
class Shown:
    kind: Kind
    text: str
    reason: str  # why it is taken for that
    bytes: int  # the whole size; 0 for null
    truncated: bool = False  # `text` is only the beginning
    schema_id: int | str | None = None  # of Confluent's wire format; the text is what follows it


def decode(data: bytes | None, size: int | None = None) -> Shown:
    """What it looks like. `size` is that of the whole where `data` was cut already."""
    if data is None:
        return Shown("null", "null", "there is none", 0)
    whole = len(data) if size is None or size < 0 else size
    data = data[:SHOWN_VALUE_MAX_BYTES]
    if not data:
        return Shown("empty", "", "no bytes", whole)
    cut = len(data) < whole
    return _as_json(data, whole, cut) or _as_text(data, whole, cut) or _as_binary(data, whole)


def schema_id_of(data: bytes) -> int | None:
    """Of Confluent's wire format; None where it cannot be that. An id is a small number: a registry counts from 1."""
    if len(data) <= WIRE_FORMAT_BYTES or data[0] != 0:
        return None
    found: int = _SCHEMA_ID.unpack_from(data)[0]
    return found if 0 < found < 1 << 24 else None


def _as_json(data: bytes, whole: int, cut: bool) -> Shown | None:
    if cut or not _JSON_BEGINS.match(data):
        return None
    try:
        _validate(data)
        text, truncated = _shown_text(data.decode(), False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return Shown("json", text, "begins with a bracket and is valid JSON", whole, truncated)


def _as_text(data: bytes, whole: int, cut: bool) -> Shown | None:
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if controls * _CONTROL_SHARE > len(data) or 0 in data[:WIRE_FORMAT_BYTES]:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError as problem:
        if not cut or problem.start < len(data) - _CUT_MAX_BYTES:
            return None
        text = data[: problem.start].decode()
    shown, truncated = _shown_text(text, cut)
    reason = "valid UTF-8"
    if _JSON_BEGINS.match(data):
        reason = "valid UTF-8 that begins like JSON, " + ("cut here" if cut else "but is none, or is nested too deep")
    return Shown("text", shown, reason, whole, truncated)


def _as_binary(data: bytes, whole: int) -> Shown:
    if len(data) == whole and (found := _as_integer(data, whole)):
        return found
    schema_id = schema_id_of(data)
    if schema_id is not None:
        inner = decode(data[WIRE_FORMAT_BYTES:], whole - WIRE_FORMAT_BYTES)
        told = f"a zero and the schema id {schema_id} (Confluent's wire format); behind it: {inner.reason}"
        return Shown(inner.kind, inner.text, told, whole, inner.truncated, schema_id)
    return _as_hex(data, whole, "not text: not UTF-8, or many control characters")


def _as_integer(data: bytes, whole: int) -> Shown | None:
    struct = _INTEGERS.get(len(data))
    if struct is None:
        return None
    text = str(struct.unpack(data)[0])
    return Shown("integer", text, f"{len(data)} bytes that are no text: a big-endian integer, as Java writes it", whole)


def _as_hex(data: bytes, whole: int, reason: str) -> Shown:
    lines = []
    for start in range(0, min(len(data), DECODED_HEX_MAX_BYTES), 16):
        row = data[start : start + 16]
        ascii_too = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        lines.append(f"{start:08x}  {row[:8].hex(' '):<23}  {row[8:].hex(' '):<23}  |{ascii_too}|")
    return Shown("hex", "\n".join(lines), reason, whole, whole > DECODED_HEX_MAX_BYTES)


def _shown_text(text: str, cut: bool) -> tuple[str, bool]:
    """Without what would act on a screen, and bounded; whether it is only the beginning."""
    if (text.isascii() and text.isprintable()) or not _TO_SHOW.search(text):
        return text[:DECODED_MAX_CHARS], cut or len(text) > DECODED_MAX_CHARS
    return text[:_REPLACED_MAX_CHARS].translate(_SYMBOLS), cut or len(text) > _REPLACED_MAX_CHARS
