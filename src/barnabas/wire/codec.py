"""Bytes <-> messages, for every API, version and direction of the protocol.

The first use of a message reads its schema file and compiles one function for it; from then on a call is a dictionary
look-up and that function. What comes in is refused as ProtocolError unless it is exactly what the schema says (see
codegen/read.py for the limits); what goes out is plain dicts and lists of ours, and a mistake in them is a TypeError or
ValueError that names the field. Produce and Fetch have faster ways of their own: produce/, fetch/.

What is decoded is `object` here, since the API key decides what it is; whoever asks declares its type, which the folder
`messages` has for every request, response and struct, and for the dicts that are encoded.
"""

from collections.abc import Mapping
from struct import error as StructError

from barnabas.model.limits import ARRAY_MAX_ELEMENTS
from barnabas.wire.apis import elements_max
from barnabas.wire.codegen.read import Decoded, Reader, StructClass, compile_reader, message_class
from barnabas.wire.codegen.write import Writer, compile_writer
from barnabas.wire.errors import ProtocolError
from barnabas.wire.schema import api_name, load

__all__ = [
    "STRICT",
    "Decoded",
    "ProtocolError",
    "decode_counted",
    "decode_request",
    "decode_response",
    "decode_struct",
    "encode_request",
    "encode_response",
    "encode_struct",
    "request_of",
    "response_of",
]

STRICT = False  # tests set it: a key that no version has is then an error instead of being left out

_BAD_BYTES = (IndexError, StructError, UnicodeDecodeError)
_BAD_VALUE = (StructError, TypeError, AttributeError, UnicodeEncodeError, IndexError)

_readers: dict[tuple[str, int | str, int], Reader] = {}
_writers: dict[tuple[str, int | str, int], Writer] = {}
_classes: dict[tuple[str, str], StructClass] = {}


def decode_request(api_key: int, version: int, data: bytes | bytearray | memoryview, position: int = 0) -> Decoded:
    """The request body at `position`; attributes are the fields of all versions, defaults where this one has none."""
    reader = _readers.get(("request", api_key, version)) or _new_reader("request", api_key, version)
    try:
        return reader(data, position)
    except _BAD_BYTES as problem:
        raise _bad_bytes("request", api_key, version, problem) from None


def decode_counted(
    api_key: int, version: int, data: bytes | bytearray | memoryview, position: int = 0
) -> tuple[Decoded, int]:
    """As `decode_request`, and how many elements the arrays of the request have: what is decoded takes memory for
    each."""
    reader = _readers.get(("counted", api_key, version)) or _new_reader("request", api_key, version, counts=True)
    try:
        found: tuple[Decoded, int] = reader(data, position)
    except _BAD_BYTES as problem:
        raise _bad_bytes("request", api_key, version, problem) from None
    return found


def decode_response(api_key: int, version: int, data: bytes | bytearray | memoryview, position: int = 0) -> Decoded:
    reader = _readers.get(("response", api_key, version)) or _new_reader("response", api_key, version)
    try:
        return reader(data, position)
    except _BAD_BYTES as problem:
        raise _bad_bytes("response", api_key, version, problem) from None


def decode_struct(name: str, version: int, data: bytes | bytearray | memoryview, position: int = 0) -> Decoded:
    """A struct that is no API's, such as consumer_protocol_subscription (without the version before it)."""
    reader = _readers.get(("data", name, version)) or _new_reader("data", name, version)
    try:
        return reader(data, position)
    except _BAD_BYTES as problem:
        raise _bad_bytes("data", name, version, problem) from None


def encode_request(api_key: int, version: int, body: Mapping[str, object]) -> bytes:
    return _encode("request", api_key, version, body)


def encode_response(api_key: int, version: int, body: Mapping[str, object]) -> bytes:
    """The bytes of a response body; header and frame length are headers.py's."""
    return _encode("response", api_key, version, body)


def encode_struct(name: str, version: int, body: Mapping[str, object]) -> bytes:
    return _encode("data", name, version, body)


def request_of(api_key: int, body: Mapping[str, object]) -> Decoded:
    """What another node would decode from this body, for one that asks itself."""
    return class_of("request", api_key).build(body)


def response_of(api_key: int, body: Mapping[str, object]) -> Decoded:
    return class_of("response", api_key).build(body)


def class_of(kind: str, which: int | str) -> StructClass:
    """The class decoded messages of this API (or struct) have, shared by all its versions."""
    name = which if isinstance(which, str) else api_name(which)
    struct = _classes.get((kind, name))
    if struct is None:
        struct = _classes[kind, name] = message_class(load(name), kind)
    return struct


def _encode(kind: str, which: int | str, version: int, body: Mapping[str, object]) -> bytes:
    writer = _writers.get((kind, which, version)) or _new_writer(kind, which, version)
    if STRICT:
        from barnabas.wire.explain import unknown_key

        key = unknown_key(class_of(kind, which).fields, body)
        if key:
            raise ValueError(f"{_label(kind, which, version)}: no version has a field {key}")
    try:
        return writer(body)
    except _BAD_VALUE as problem:
        from barnabas.wire.explain import wrong_value  # our own mistake: no start needs it

        name = which if isinstance(which, str) else api_name(which)
        reason = wrong_value(load(name).shape(kind, version).fields, body) or str(problem)
        raise TypeError(f"{_label(kind, which, version)}: {reason}") from problem


def _new_reader(kind: str, which: int | str, version: int, *, counts: bool = False) -> Reader:
    known_as = "counted" if counts else kind
    name = which if isinstance(which, str) else api_name(which)
    shape = load(name).shape(kind, version)
    struct = class_of(kind, which)
    reader = _readers.get((known_as, which, shape.first))
    if reader is None:
        most = elements_max(which) if kind == "request" and isinstance(which, int) else ARRAY_MAX_ELEMENTS
        reader = compile_reader(shape, struct, f"<read {name} {kind}>", most, counts=counts)
        _readers[known_as, which, shape.first] = reader
    _readers[known_as, which, version] = reader
    return reader


def _new_writer(kind: str, which: int | str, version: int) -> Writer:
    name = which if isinstance(which, str) else api_name(which)
    shape = load(name).shape(kind, version)
    writer = _writers.get((kind, which, shape.first))
    if writer is None:
        writer = _writers[kind, which, shape.first] = compile_writer(shape, f"<write {name} {kind}>")
    _writers[kind, which, version] = writer
    return writer


def _label(kind: str, which: int | str, version: int) -> str:
    return f"{which if isinstance(which, str) else api_name(which)} v{version} {kind}"


def _bad_bytes(kind: str, which: int | str, version: int, problem: Exception) -> ProtocolError:
    return ProtocolError(f"{_label(kind, which, version)}: {problem}")
