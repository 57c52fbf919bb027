"""Options of a tree as Protobuf's messages: FieldOptions and the like, custom options included where they are known.

Each option is written in Protobuf's text format, which its library reads into the class that has the extensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.registry.schemas.protobuf.descriptors.pool import message_class
from barnabas.registry.schemas.protobuf.scopes import Scope
from barnabas.registry.schemas.protobuf.tree import Mapping, Option, Options, Sequence, Text, Value

if TYPE_CHECKING:
    from google.protobuf import message
    from google.protobuf.descriptor_pool import DescriptorPool


class OptionsReader:
    """Without a pool custom options are left out."""

    def __init__(self, pool: DescriptorPool | None) -> None:
        self._pool = pool

    def read(self, options: Options, into: message.Message, scope: Scope) -> None:
        texts = [text for each in options if (text := _text_of(each, scope, self._pool is not None)) is not None]
        if not texts:
            return
        kind = message_class(self._pool, into.DESCRIPTOR.full_name) if self._pool is not None else type(into)
        made = _merged(texts, kind, self._pool)
        into.MergeFromString(made.SerializeToString())


def _merged(texts: list[str], kind: type[message.Message], pool: DescriptorPool | None) -> message.Message:
    """All at once; one by one where one of them cannot be read, which is then left out."""
    from google.protobuf import text_format

    made = kind()
    try:
        text_format.Merge("\n".join(texts), made, descriptor_pool=pool)
        return made
    except text_format.ParseError:
        made = kind()
    for each in texts:
        attempt = kind()
        try:
            text_format.Merge(each, attempt, descriptor_pool=pool)
        except text_format.ParseError:
            continue
        made.MergeFrom(attempt)
    return made


def _text_of(option: Option, scope: Scope, custom: bool) -> str | None:
    """`(confluent.field_meta).doc = "x"` as `[confluent.field_meta] { doc: "x" }`."""
    names = []
    for part in _parts(option.name):
        if part.startswith("("):
            found = scope.resolve_extension(part[1:-1]) if custom else None
            if found is None:
                return None
            names.append(f"[{found.full_name}]")
        else:
            names.append(part)
    *outer, last = names
    opening = "".join(f"{name} {{ " for name in outer)
    return f"{opening}{last}: {_value_text(option.value, scope)}{' }' * len(outer)}"


def _parts(name: str) -> list[str]:
    """Split at the dots that are not within brackets."""
    parts, depth, start = [], 0, 0
    for index, letter in enumerate(name):
        depth += (letter == "(") - (letter == ")")
        if letter == "." and not depth:
            parts.append(name[start:index])
            start = index + 1
    return [*parts, name[start:]]


def _value_text(value: Value, scope: Scope) -> str:
    if isinstance(value, Text):
        return (
            '"'
            + "".join(
                chr(each) if 0x20 <= each < 0x7F and each not in b'"\\' else f"\\{each:03o}" for each in value.value
            )
            + '"'
        )
    if isinstance(value, Sequence):
        return "[" + ", ".join(_value_text(each, scope) for each in value.items) + "]"
    if isinstance(value, Mapping):
        entries = (f"{_key_text(key, scope)}: {_value_text(each, scope)}" for key, each in value.entries)
        return "{ " + " ".join(entries) + " }"
    return value.text


def _key_text(key: str, scope: Scope) -> str:
    if key.startswith("[") and "/" not in key:
        found = scope.resolve_extension(key[1:-1])
        return f"[{found.full_name}]" if found is not None else key
    return key
