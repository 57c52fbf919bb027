"""Frames, headers and the table of served APIs."""

import pytest

from barnabas.wire import schema
from barnabas.wire.apis import API_VERSIONS, FETCH, HEARTBEAT, OFFSET_DELETE, PRODUCE, SERVED
from barnabas.wire.codec import ProtocolError
from barnabas.wire.frames import frame_end
from barnabas.wire.headers import encode_response_frame, read_request_header, request_header, response_frame

MAX = 1000


def test_where_a_frame_ends() -> None:
    buffer = bytearray(b"..\x00\x00\x00\x08abcdefgh\x00\x00\x00\x64")
    for end in range(2, 6):
        assert frame_end(buffer, 2, end, MAX) == 0  # its length has not arrived
    for end in range(6, len(buffer)):
        assert frame_end(buffer, 2, end, MAX) == 14
    assert frame_end(buffer, 14, len(buffer), MAX) == 118  # which has not arrived


@pytest.mark.parametrize("length", [-1, -(2**31), 0, 7, MAX + 1, 2**31 - 1])
def test_a_length_that_cannot_be_is_refused_at_once(length: int) -> None:
    with pytest.raises(ProtocolError):
        frame_end(length.to_bytes(4, "big", signed=True), 0, 4, MAX)


@pytest.mark.parametrize("client_id", ["", "kcat", "klient-ä", None])
@pytest.mark.parametrize(("key", "version"), [(HEARTBEAT, 3), (HEARTBEAT, 4), (OFFSET_DELETE, 0), (API_VERSIONS, 4)])
def test_a_request_header_comes_back(key: int, version: int, client_id: str | None) -> None:
    data = b"xx" + request_header(key, version, -5, client_id) + b"body"
    header = read_request_header(memoryview(bytearray(data)), 2)
    assert header[:4] == (key, version, -5, client_id)
    assert data[header.body_position :] == b"body"


def test_a_request_header_with_tags() -> None:
    flexible = request_header(FETCH, 12, 1, "c")[:-1]
    header = read_request_header(flexible + bytes((1, 7, 2)) + b"zz" + b"body")
    assert header.body_position == len(flexible) + 5


def test_an_api_versions_request_of_a_version_to_come_can_be_read() -> None:
    header = read_request_header(request_header(API_VERSIONS, 3, 9, "new")[:2] + b"\x00\x63" + b"\0\0\0\x09\0\x03new\0")
    assert header[:4] == (API_VERSIONS, 99, 9, "new")


@pytest.mark.parametrize(
    "data", [b"", b"\0\0", bytes(9), bytes(8) + b"\x00\x05abc", bytes(8) + b"\xff\xfe", bytes(8) + b"\0\1\xff"]
)
def test_what_is_no_header_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_request_header(data)


def test_response_headers() -> None:
    assert response_frame(FETCH, 11, 7, b"") == b"\0\0\0\4" + b"\0\0\0\7"
    assert response_frame(FETCH, 12, 7, b"") == b"\0\0\0\5" + b"\0\0\0\7\0"
    assert (
        response_frame(API_VERSIONS, 4, 7, b"") == b"\0\0\0\4" + b"\0\0\0\7"
    )  # its reader does not know the broker yet
    frame = encode_response_frame(HEARTBEAT, 4, 7, {"error_code": 25})
    assert frame == b"\0\0\0\x0c" + b"\0\0\0\7\0" + b"\0\0\0\0" + b"\0\x19" + b"\0"


def test_the_table_fits_the_schema_files() -> None:
    for api in SERVED.values():
        message = schema.load(api.name)
        assert message.key == api.key
        for version in range(api.min_version, api.max_version + 1):
            for kind in ("request", "response"):
                assert message.shape(kind, version).flexible == (version >= api.first_flexible)


def test_what_is_served() -> None:
    assert not set(SERVED) & (set(range(76, 80)) | set(range(83, 95)))
    between = {key for key, api in SERVED.items() if api.between_nodes}
    assert between >= {52, 53, 54, 58, 59, 62, 63, 67, 70, 82} and len(SERVED) - len(between) >= 46
    assert SERVED[PRODUCE].advertised_min_version == 0 and SERVED[PRODUCE].min_version == 3
    assert not SERVED[PRODUCE].serves(2) and SERVED[PRODUCE].serves(13)
    assert all(api.advertised_min_version == api.min_version for key, api in SERVED.items() if key != PRODUCE)
