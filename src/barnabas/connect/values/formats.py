"""How keys and values stand in records: encoded behind a source, decoded in front of a sink.

`auto` is what most people want: a source's text and bytes stay as they are and structures become JSON; in front of a
sink what is JSON is decoded, and everything else stays text or bytes.
"""

from __future__ import annotations

import base64
import decimal
import ipaddress
import uuid
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from barnabas.client.errors import BarnabasError
from barnabas.connect.contract import Headers, Value
from barnabas.connect.definition.definition import Format
from barnabas.connect.errors import Unavailable
from barnabas.connect.shapes import Shapes

Encode: TypeAlias = Callable[[Value, str], bytes | None]  # with the topic
Decode: TypeAlias = Callable[[bytes | None, str, Headers], Value]


class BadValue(ValueError):
    """This record cannot be encoded or decoded: a dead letter."""


def _plain(value: object) -> object:
    """What msgspec does not know by itself."""
    if isinstance(value, memoryview | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, ipaddress.IPv4Address | ipaddress.IPv6Address | ipaddress.IPv4Network | ipaddress.IPv6Network):
        return str(value)
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


_to_json = msgspec.json.Encoder(enc_hook=_plain, decimal_format="string", uuid_format="canonical").encode
_from_json = msgspec.json.Decoder().decode


def encode_json(value: Value) -> bytes:
    try:
        return _to_json(value)
    except (TypeError, ValueError, RecursionError, msgspec.EncodeError) as problem:
        raise BadValue(f"cannot be written as JSON: {problem}") from None


def decode_json(data: bytes) -> Value:
    try:
        return _from_json(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as problem:
        raise BadValue(f"is no JSON: {problem}") from None


def encoder(format: Format, part: str) -> Encode:
    kind = format.key if part == "key" else format.value
    if kind in ("avro", "json-schema", "protobuf"):
        return _registry_encoder(format, part)
    return {"auto": _encode_auto, "json": _encode_json, "text": _encode_text, "bytes": _encode_text}[kind]


def decoder(format: Format, part: str, shapes: Shapes | None = None) -> Decode:
    """`shapes` gets the fields of the schemas that records name, where there is a registry."""
    kind = format.key if part == "key" else format.value
    if kind in ("avro", "json-schema", "protobuf"):
        return _registry_decoder(format, part, shapes)
    return {"auto": _decode_auto, "json": _decode_json, "text": _decode_text, "bytes": _decode_bytes}[kind]


def _encode_auto(value: Value, topic: str) -> bytes | None:
    if value is None or type(value) is bytes:
        return value
    if type(value) is str:
        return value.encode("utf-8", "surrogateescape")
    return encode_json(value)


def _encode_json(value: Value, topic: str) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, bytes):
        return value if _is_json(value) else encode_json(value.decode("utf-8", "replace"))
    return encode_json(value)


def _is_json(data: bytes) -> bool:
    try:
        _from_json(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False
    return True


def _encode_text(value: Value, topic: str) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, int | float | decimal.Decimal | uuid.UUID):
        return str(value).encode()
    raise BadValue(f"is a {type(value).__name__}, not text")


_JSON_STARTS = frozenset(b'{["-0123456789tfn \t\r\n')


def _decode_auto(data: bytes | None, topic: str, headers: Headers) -> Value:
    if not data:
        return data
    if data[0] in _JSON_STARTS:
        try:
            return _from_json(data)
        except (msgspec.DecodeError, ValueError, RecursionError):
            pass
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _decode_json(data: bytes | None, topic: str, headers: Headers) -> Value:
    if data is None:
        return None
    try:
        return _from_json(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as problem:
        raise BadValue(f"is no JSON: {problem}") from None


def _decode_text(data: bytes | None, topic: str, headers: Headers) -> Value:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError as problem:
        raise BadValue(f"is no text in UTF-8: {problem.reason} at byte {problem.start}") from None


def _decode_bytes(data: bytes | None, topic: str, headers: Headers) -> Value:
    return data


def _registry_encoder(format: Format, part: str) -> Encode:
    from barnabas.connect.values.registry import registry_encoder

    return registry_encoder(format, part)


def _registry_decoder(format: Format, part: str, shapes: Shapes | None) -> Decode:
    from barnabas.connect.values.registry import registry_decoder

    return registry_decoder(format, part, shapes)


def registry_problem(error: BarnabasError) -> Exception:
    """A registry that does not answer is waited for; what it refuses is this record's fault."""
    from barnabas.client.errors import CannotReach, RegistryError, TimedOut

    if isinstance(error, CannotReach | TimedOut) or (isinstance(error, RegistryError) and error.status >= 500):
        return Unavailable(f"the schema registry: {error}")
    return BadValue(str(error))
