from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.connect.connectors.logs.frames import Frames

Messages = st.lists(
    st.binary(max_size=40).map(lambda text: b"<13>" + text.replace(b"\n", b".").strip(b"\r\0")), max_size=8
)


def received(data: bytes, blocks: list[int], most: int = 1000) -> list[bytes]:
    frames = Frames(most)
    messages: list[bytes] = []
    start = 0
    for length in [*blocks, len(data)]:
        messages += frames.add(data[start : start + length])
        start += length
    return messages + frames.finish()


@given(Messages, st.lists(st.integers(1, 30), max_size=10))
def test_both_framings_in_any_blocks(messages: list[bytes], blocks: list[int]) -> None:
    assert received(b"".join(message + b"\n" for message in messages), blocks) == messages
    counted = b"".join(b"%d %s" % (len(message), message) for message in messages)
    assert received(counted, blocks) == messages


def test_a_message_that_is_too_long_is_cut() -> None:
    long = b"<13>" + b"x" * 500
    cut = long[:100] + b" [cut: 404 bytes more]"
    assert received(b"%d %s%d %s" % (len(long), long, 5, b"<13>a"), [7] * 30, 100) == [cut, b"<13>a"]
    assert received(long + b"\n<13>a\n", [7] * 30, 100) == [cut, b"<13>a"]


def test_a_count_of_a_gigabyte_takes_no_memory() -> None:
    frames = Frames(100)
    assert frames.add(b"999999999 <13>") == []
    for _ in range(100):
        assert frames.add(b"x" * 65536) == []
    assert len(frames._kept) == 100
    assert len(frames._data) == 0


@pytest.mark.parametrize("rest", [b"abc", b"0 ", b"99999999999999 "])
def test_counts_that_are_none_end_the_connection(rest: bytes) -> None:
    frames = Frames(100)
    assert frames.add(b"5 <13>a" + rest) == [b"<13>a"]
    assert frames.broken


def test_lines_that_begin_with_a_number_are_lines() -> None:
    assert received(b"12 apples\n3\n", [1] * 12) == [b"12 apples", b"3"]
