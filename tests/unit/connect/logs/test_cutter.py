"""Blocks in any cut give the same lines, and sizes that add up to what was read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.connect.connectors.logs.cutter import Cutter

Blocks = st.lists(st.integers(1, 40), max_size=20)


def cut_in(data: bytes, blocks: list[int], encoding: str = "utf-8", most: int = 64) -> tuple[list[bytes], list[int]]:
    cutter = Cutter(encoding, most)
    lines: list[bytes] = []
    sizes: list[int] = []
    start = 0
    for length in [*blocks, len(data)]:
        found, taken = cutter.cut(data[start : start + length])
        start += length
        lines += found
        sizes += taken if taken is not None else [len(line) + 1 for line in found]
    found, taken = cutter.finish()
    return lines + found, sizes + taken


@given(st.text(st.sampled_from("aä\n\r "), max_size=200), Blocks)
def test_lines_do_not_depend_on_blocks(text: str, blocks: list[int]) -> None:
    data = text.encode()
    lines, sizes = cut_in(data, blocks, most=10_000)
    expected = data.split(b"\n")
    assert lines == (expected if expected[-1] else expected[:-1])
    assert sum(sizes) == len(data)


@given(st.lists(st.integers(0, 200), max_size=8), Blocks)
def test_a_long_line_is_cut_and_counted(lengths: list[int], blocks: list[int]) -> None:
    data = b"".join(b"x" * length + b"\n" for length in lengths)
    lines, sizes = cut_in(data, blocks, most=64)
    assert sizes == [length + 1 for length in lengths]
    for line, length in zip(lines, lengths, strict=True):
        mark = b" [cut: %d bytes more]" % (length - 64) if length > 64 else b""
        assert line == b"x" * min(length, 64) + mark


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
@given(st.text(st.sampled_from("aä\u0a00\u000a\ud7ff\U0001f600"), max_size=60), Blocks)
def test_wide_characters(encoding: str, text: str, blocks: list[int]) -> None:
    """U+0A00 has the bytes of a newline in it."""
    data = text.encode(encoding)
    lines, sizes = cut_in(data, blocks, encoding, most=10_000)
    expected = text.split("\n")
    assert [line.decode() for line in lines] == (expected if expected[-1] else expected[:-1])
    assert sum(sizes) == len(data)


def test_a_line_without_end_keeps_little_in_memory() -> None:
    cutter = Cutter("utf-8", 1000)
    for _ in range(100):
        assert cutter.cut(b"y" * 100_000) == ([], None)
    assert len(cutter._partial) == 1000
    lines, sizes = cutter.cut(b"\nnext\n")
    assert lines == [b"y" * 1000 + b" [cut: 9999000 bytes more]", b"next"]
    assert sizes == [10_000_001, 5]
