from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.connect.connectors.jms.frames import HEAD_BYTES_MAX, BadFrame, Decoder, Frame, encode

Text = st.text(st.characters(codec="utf-8"), max_size=12)
Headers = st.dictionaries(Text.filter(lambda name: name != "content-length"), Text, max_size=5)


def decoded(data: bytes, blocks: list[int], most: int = 1000) -> list[Frame]:
    decoder = Decoder(most)
    frames: list[Frame] = []
    start = 0
    for length in [*blocks, len(data)]:
        frames += decoder.add(data[start : start + length])
        start += length
    return frames


@given(st.lists(st.tuples(Headers, st.binary(max_size=50)), max_size=5), st.lists(st.integers(1, 30), max_size=20))
def test_what_is_encoded_comes_back_in_any_blocks(
    frames: list[tuple[dict[str, str], bytes]], blocks: list[int]
) -> None:
    data = b""
    expected = []
    for headers, body in frames:
        counted = {**headers, "content-length": str(len(body))}
        data += encode("MESSAGE", counted, body) + b"\n\r\n"
        expected.append(Frame("MESSAGE", counted, body))
        text = body.replace(b"\0", b".")
        data += encode("MESSAGE", headers, text)
        expected.append(Frame("MESSAGE", headers, text))
    assert decoded(data, blocks) == expected


def test_the_first_of_two_headers_counts_and_lines_may_end_as_on_windows() -> None:
    data = b"MESSAGE\r\na:1\r\na:2\r\nb\\c:\\n\\\\\\x\r\n\r\nbody\0"
    assert decoded(data, [1] * len(data)) == [Frame("MESSAGE", {"a": "1", "b:": "\n\\\\x"}, b"body")]


@pytest.mark.parametrize("counted", [True, False])
def test_a_body_that_is_too_long_takes_no_memory(counted: bool) -> None:
    decoder = Decoder(1000)
    head = b"MESSAGE\nid:1\n" + (b"content-length:10000000\n" if counted else b"") + b"\n"
    assert decoder.add(head) == []
    for _ in range(100):
        assert decoder.add(b"x" * 100_000) == []
        assert len(decoder._data) <= 100_000
    assert len(decoder._data) == 0
    frames = decoder.add(b"\0MESSAGE\n\nnext\0")
    assert [(frame.dropped, frame.body) for frame in frames] == [(10_000_000, b""), (0, b"next")]


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request; Content-Type: text/html",
        b"MESSAGE\n" + b"a" * HEAD_BYTES_MAX + b":b",
        b"MESSAGE\n" + b"a" * HEAD_BYTES_MAX + b":b\n\n",
        b"MESSAGE\nno colon\n\n",
        b"MESSAGE\ncontent-length:-5\n\n\0",
        b"MESSAGE\ncontent-length:9999999999999999\n\n\0",
        b"MESSAGE\ncontent-length:2\n\nlonger\0",
    ],
)
def test_what_is_no_frame(data: bytes) -> None:
    with pytest.raises(BadFrame):
        Decoder(1000).add(data)
