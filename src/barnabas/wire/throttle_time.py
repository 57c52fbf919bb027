"""`throttle_time_ms` of an answer that is already encoded.

In nearly every answer it is the first field, in some the last, so who throttles a client writes it into the finished
bytes, instead of each handler having to know. Versions that do not have it are left as they are.
"""

from functools import cache
from struct import Struct

from barnabas.wire.apis import API_VERSIONS, OFFSET_DELETE, SERVED
from barnabas.wire.headers import response_header_bytes
from barnabas.wire.schema import load
from barnabas.wire.varints import uvarint

_INT32 = Struct(">i")
_FRAME_LENGTH_BYTES, _ERROR_CODE_BYTES = 4, 2
_FIELD = "throttle_time_ms"
_DEPENDS = -1


def throttle_time(api_key: int, version: int, answer: bytes) -> int:
    """0 where the version has none."""
    place = _place(api_key, version, answer)
    return 0 if place is None else int(_INT32.unpack_from(answer, place)[0])


def with_throttle_time(api_key: int, version: int, answer: bytes, time_ms: int) -> bytes:
    """The whole answer, its length included, with another throttle time."""
    place = _place(api_key, version, answer)
    if place is None:
        return answer
    return b"".join((answer[:place], _INT32.pack(time_ms), answer[place + _INT32.size :]))


def _place(api_key: int, version: int, answer: bytes) -> int | None:
    fixed = _fixed_place(api_key, version)
    if fixed is None or fixed >= 0:
        return fixed
    if api_key == API_VERSIONS:
        return _behind_the_apis(version, answer)
    return len(answer) - _INT32.size - (version >= SERVED[api_key].first_flexible)  # no tags follow it


@cache
def _fixed_place(api_key: int, version: int) -> int | None:
    """None: there is none. Below 0: it depends on the answer."""
    fields = load(SERVED[api_key].name).shape("response", version).fields
    names = [field.name for field in fields if field.tag is None]
    if _FIELD not in names:
        return None
    if names[-1] == _FIELD:  # of Produce, ApiVersions and delegation tokens
        return _DEPENDS
    before = _ERROR_CODE_BYTES if api_key == OFFSET_DELETE else 0
    assert names.index(_FIELD) == (1 if before else 0), f"{SERVED[api_key].name} v{version}"
    return _FRAME_LENGTH_BYTES + response_header_bytes(api_key, version) + before


def _behind_the_apis(version: int, answer: bytes) -> int:
    """Of ApiVersions: behind an array of a key and two versions each, and its tags."""
    place = _FRAME_LENGTH_BYTES + response_header_bytes(API_VERSIONS, version) + _ERROR_CODE_BYTES
    if version < SERVED[API_VERSIONS].first_flexible:
        return place + 4 + int(_INT32.unpack_from(answer, place)[0]) * 6
    count, place = uvarint(answer, place)
    return place + (count - 1) * 7
