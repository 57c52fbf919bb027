"""Batches are looked through for exactly the records that match, whatever lies between them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.browse.search.query import Query, finder, without_anchors
from barnabas.browse.search.scanning import Scan
from barnabas.wire.batch import write_crc
from barnabas.wire.compression import Codec
from barnabas.wire.records import Record, build_batch

PIECES = st.sampled_from([b"", b"a", b"ab", b"abab", b"x\ny", b"\x00", b"\\u0061", b"\xff", b"b" * 70])
OPTIONAL = st.none() | PIECES
HEADERS = st.lists(st.tuples(st.sampled_from(["h", "ab"]), OPTIONAL), max_size=2).map(tuple)
PARTS = st.lists(st.tuples(OPTIONAL, OPTIONAL, HEADERS), min_size=1, max_size=40)
PATTERNS = ["a", "ab", "^a", "b$", "a.*b", "(ab)+", "^$", r"\bab\b", "x$", "[^a]b", "a?", "(?s)x.y", "(?m)^y$", "b{70}"]


def parts(record: Record) -> list[bytes]:
    return [each for each in (record.key, record.value, *(value for _, value in record.headers)) if each is not None]


def found(query: Query, records: list[Record], codec: Codec, start: int = 0, end: int = 1 << 60) -> list[int]:
    data = b"".join(bytes(build_batch(records[at : at + 15], codec=codec)) for at in range(0, len(records), 15))
    scan = Scan(finder(query), "t", 0, start, end)
    result = [record.offset for record in scan.found(memoryview(data), ())]
    assert scan.unreadable == []
    assert scan.records == sum(start <= each.offset < end for each in records)
    return result


@settings(max_examples=150)
@given(
    PARTS, st.sampled_from(PATTERNS), st.sampled_from([Codec.NONE, Codec.LZ4]), st.integers(0, 30), st.integers(10, 60)
)
def test_text_key_and_regex_find_what_a_look_at_every_record_finds(
    made: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]],
    pattern: str,
    codec: Codec,
    start: int,
    end: int,
) -> None:
    records = [Record(at, 1000 + at, key, value, headers) for at, (key, value, headers) in enumerate(made)]
    inside = [each for each in records if start <= each.offset < end]
    plain = pattern.encode()
    by_text = [each.offset for each in inside if any(plain in part for part in parts(each))]
    assert found(Query("text", pattern), records, codec, start, end) == by_text
    by_key = [each.offset for each in inside if each.key == plain]
    assert found(Query("key", pattern), records, codec, start, end) == by_key
    same = re.compile(re.sub(rb"\$$", rb"\\Z", plain) if not plain.startswith(b"(?m)") else plain)
    by_regex = [each.offset for each in inside if any(same.search(part) for part in parts(each))]
    assert found(Query("regex", pattern), records, codec, start, end) == by_regex


@pytest.mark.parametrize(
    ("pattern", "weaker"),
    [
        ("abc", "abc"),
        ("^abc$", "(?:)abc(?:)"),
        (r"\bword\B", "(?:)word(?:)"),
        (r"\A\z", "(?:)(?:)"),
        (r"[$^]", r"[$^]"),
        (r"[^\]$]x", r"[^\]$]x"),
        ("[]^]$", "[]^](?:)"),
        ("[[:alpha:]$]", "[[:alpha:]$]"),
        (r"\$\^\\b", r"\$\^\\b"),
        (r"\Q^$\E^", r"\Q^$\E(?:)"),
        (r"(?m)^a|b$", "(?m)(?:)a|b(?:)"),
    ],
)
def test_anchors_are_left_out_of_what_is_looked_for(pattern: str, weaker: str) -> None:
    assert without_anchors(pattern) == weaker


def test_a_pattern_that_spans_records_takes_linear_time() -> None:
    """`a.*z` begins in every record and ends in the last one, without a match in any: 20,000 looks at all the bytes
    would take minutes."""
    records = [Record(at, 0, None, b"a" * 40) for at in range(20_000)] + [Record(20_000, 0, None, b"z")]
    scan = Scan(finder(Query("regex", "(?s)a.*z")), "t", 0, 0, 1 << 60)
    assert list(scan.found(memoryview(build_batch(records)), ())) == []
    assert scan.records == 20_001


def test_a_batch_that_cannot_be_read_is_told_and_passed_over() -> None:
    good = build_batch([Record(5, 0, None, b"find me")])
    damaged = build_batch([Record(6, 0, None, b"find me")])
    damaged[-3] ^= 1
    nonsense = build_batch([Record(7, 0, None, b"find me" * 3)])
    nonsense[61] = 0x7E  # the length of the record: more than there is
    write_crc(nonsense)
    scan = Scan(finder(Query("text", "find me")), "t", 3, 0, 100)
    data = memoryview(
        bytes(damaged) + bytes(nonsense) + bytes(build_batch([Record(8, 0, None, b"find me")])) + bytes(good)
    )
    assert [each.offset for each in scan.found(data, ())] == [8, 5]
    assert [(each.partition, each.first_offset) for each in scan.unreadable] == [(3, 6), (3, 7)]
    assert "checksum" in scan.unreadable[0].reason
