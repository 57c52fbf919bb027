"""Request and response headers, by hand: they are on every path, and their rules are exceptions.

A request header has tagged fields from the API's first flexible version on, but its client id is never compact (so that
a broker can read the header of an ApiVersions request of any version). A response header has tagged fields likewise,
except that of ApiVersions, which never has: its reader does not know yet what the broker speaks.
"""

from collections.abc import Mapping
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from barnabas.wire.apis import API_VERSIONS, NEVER_FLEXIBLE, SERVED
from barnabas.wire.codec import encode_response
from barnabas.wire.errors import ProtocolError
from barnabas.wire.varints import skip_tags

_FIXED = Struct(">hhih")  # api key, api version, correlation id, length of the client id
_FRAME = Struct(">ii")
_FRAME_AND_TAGS = Struct(">iiB")
_FIXED_BYTES = _FIXED.size
_skim = _FIXED.unpack_from
_FIRST_FLEXIBLE = {api.key: api.first_flexible for api in SERVED.values()}
_FIRST_FLEXIBLE_RESPONSE = {**_FIRST_FLEXIBLE, API_VERSIONS: NEVER_FLEXIBLE}


class RequestHeader(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_position: int


def read_request_header(data: bytes | bytearray | memoryview, position: int = 0) -> RequestHeader:
    """The header at `position` of a frame that ends where `data` does.

    For an API we do not serve, `body_position` may stand before the header's tags; nobody reads a body of it.
    """
    try:
        api_key, api_version, correlation_id, length = _FIXED.unpack_from(data, position)
        position += _FIXED_BYTES
        client_id = None
        if length >= 0:
            end = position + length
            if end > len(data):
                raise ProtocolError(f"a client id of {length} bytes where {len(data) - position} remain")
            client_id = str(data[position:end], "utf-8")
            position = end
        elif length != -1:
            raise ProtocolError(f"a client id of {length} bytes")
        if api_version >= _FIRST_FLEXIBLE.get(api_key, NEVER_FLEXIBLE):
            tags = data[position]
            position += 1
            if tags:
                position = skip_tags(data, position, tags)
    except (StructError, IndexError, UnicodeDecodeError) as problem:
        raise ProtocolError(f"request header: {problem}") from None
    return tuple.__new__(RequestHeader, (api_key, api_version, correlation_id, client_id, position))


def skim_request_header(data: bytes | bytearray | memoryview) -> tuple[int, int, int, int]:
    """(api key, version, correlation id, position of the body) at the cost of the hot path: nothing is decoded.

    The position is -1 when only `read_request_header` can tell (tagged fields, an odd client id, an unknown API).
    """
    try:
        api_key, api_version, correlation_id, length = _skim(data)
        position = _FIXED_BYTES + length if length > 0 else _FIXED_BYTES
        if api_version >= _FIRST_FLEXIBLE[api_key]:
            if data[position]:
                return api_key, api_version, correlation_id, -1
            position += 1
    except (StructError, IndexError):
        raise ProtocolError("a request header that is cut short") from None
    except KeyError:
        return api_key, api_version, correlation_id, -1
    return api_key, api_version, correlation_id, position if length >= -1 else -1


def response_header_bytes(api_key: int, version: int) -> int:
    """How long the header of an answer is, for whoever asked: tags are empty in all that our nodes send."""
    return 5 if version >= _FIRST_FLEXIBLE_RESPONSE.get(api_key, NEVER_FLEXIBLE) else 4


def response_frame(api_key: int, version: int, correlation_id: int, body: bytes) -> bytes:
    """A whole answer, ready for the socket: length, header, body."""
    if version >= _FIRST_FLEXIBLE_RESPONSE.get(api_key, NEVER_FLEXIBLE):
        return _FRAME_AND_TAGS.pack(len(body) + 5, correlation_id, 0) + body
    return _FRAME.pack(len(body) + 4, correlation_id) + body


def encode_response_frame(api_key: int, version: int, correlation_id: int, body: Mapping[str, object]) -> bytes:
    """The same from the body's fields."""
    return response_frame(api_key, version, correlation_id, encode_response(api_key, version, body))


def request_header(api_key: int, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """The mirror of `read_request_header`, for tests and for talking to other nodes."""
    name = b"" if client_id is None else client_id.encode()
    fixed = _FIXED.pack(api_key, version, correlation_id, -1 if client_id is None else len(name))
    return fixed + name + (b"\x00" if version >= _FIRST_FLEXIBLE.get(api_key, NEVER_FLEXIBLE) else b"")
