"""Default values of proto2 as a descriptor has them: text, in the forms that protoc writes."""

from __future__ import annotations

from barnabas.registry.schemas.protobuf.tokens import integer
from barnabas.registry.schemas.protobuf.tree import Text, Value, Word

_DOUBLE, _FLOAT, _BYTES = 1, 2, 12
_C_ESCAPES = {
    0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x22: '\\"', 0x27: "\\'", 0x5C: "\\\\",
}  # fmt: skip


def default_value(value: Value, type: int) -> str:
    if isinstance(value, Text):
        return _c_escaped(value.value) if type == _BYTES else value.value.decode("utf-8", "replace")
    if not isinstance(value, Word):
        return ""
    text = value.text
    if type in (_DOUBLE, _FLOAT):
        return _float_text(text)
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    whole = integer(digits) if digits[:1].isdigit() else None
    return text if whole is None else f"{sign if whole else ''}{whole}"


def _float_text(text: str) -> str:
    """The shortest of 15 digits that reads back as the same number, or 17."""
    digits = text.lstrip("-")
    whole = integer(digits) if digits[:1].isdigit() else None
    try:
        number = (
            float(whole) if whole is not None else float(digits.rstrip("fF") if digits[:1] in "0123456789." else digits)
        )
    except (ValueError, OverflowError):
        return text
    number = -number if text.startswith("-") else number
    short = f"{number:.15g}"
    return short if float(short) == number or number != number else f"{number:.17g}"


def _c_escaped(value: bytes) -> str:
    return "".join(_C_ESCAPES.get(each) or (chr(each) if 0x20 <= each < 0x7F else f"\\{each:03o}") for each in value)
