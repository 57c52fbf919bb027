"""The record batch: header, CRC, stamps, and the records inside."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.wire.batch import (
    HEADER_BYTES,
    crc_matches,
    iter_batches,
    read_header,
    stamp,
    write_crc,
)
from barnabas.wire.codec import ProtocolError
from barnabas.wire.compression import Codec
from barnabas.wire.records import Record, batch_of_frames, build_batch, frame_value, iter_records
from barnabas.wire.varints import read_varint, read_varlong, write_varint

NOW = 1_700_000_000_000
SOME = [
    Record(100, NOW, b"key", b"value", (("trace", b"1"), ("empty", None))),
    Record(101, NOW + 5, None, b"", ()),
    Record(105, NOW - 70_000, b"", None, ()),
]


def test_a_batch_as_kafka_lays_it_out() -> None:
    batch = build_batch([Record(0, 1, b"k", b"v")])
    assert bytes(batch[61:]) == bytes((0x10, 0, 0, 0, 2)) + b"k" + bytes((2,)) + b"v" + bytes((0,))
    assert bytes(batch[:17]) == bytes(8) + (58).to_bytes(4) + bytes(4) + b"\x02"


@pytest.mark.parametrize("codec", list(Codec))
def test_what_goes_in_comes_out(codec: Codec) -> None:
    batch = build_batch(SOME, codec=codec, producer_id=9, producer_epoch=1, base_sequence=4, transactional=True)
    header = read_header(batch)
    assert list(iter_records(batch)) == SOME
    assert list(iter_records(memoryview(bytes(batch) + b"what follows"))) == SOME
    assert (header.base_offset, header.last_offset, header.next_offset) == (100, 105, 106)
    assert (header.codec, header.record_count, header.size) == (codec, 3, len(batch))
    assert (header.base_timestamp, header.max_timestamp) == (NOW, NOW + 5)
    assert header.is_transactional and not header.is_control and not header.log_append_time
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.last_sequence) == (9, 1, 4, 9)
    assert crc_matches(batch, 0, len(batch))


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
blobs = st.none() | st.binary(max_size=300)


@given(
    st.lists(
        st.tuples(st.integers(-(2**40), 2**40), blobs, blobs, st.lists(st.tuples(names, blobs), max_size=3)),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from(list(Codec)),
    st.integers(0, 2**40),
)
def test_any_records_come_back(
    parts: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]], codec: Codec, first: int
) -> None:
    records = [
        Record(first + index, timestamp, key, value, tuple(headers))
        for index, (timestamp, key, value, headers) in enumerate(parts)
    ]
    assert list(iter_records(build_batch(records, codec=codec))) == records


@given(st.integers(-(2**31), 2**31 - 1))
def test_varints(value: int) -> None:
    out = bytearray()
    write_varint(out, value)
    assert len(out) <= 5
    assert read_varint(out, 0) == read_varlong(out, 0) == (value, len(out))


@given(st.integers(-(2**63), 2**63 - 1))
def test_varlongs(value: int) -> None:
    out = bytearray()
    write_varint(out, value)
    assert len(out) <= 10
    assert read_varlong(out, 0) == (value, len(out))


def test_varints_that_never_end_are_refused() -> None:
    with pytest.raises(ProtocolError):
        read_varint(b"\xff" * 9, 0)
    with pytest.raises(ProtocolError):
        read_varlong(b"\xff" * 19, 0)


def test_stamping_leaves_the_crc_alone() -> None:
    buffer = bytearray(b"before") + build_batch(SOME, base_offset=100)
    stamp(memoryview(buffer), 6, 5_000_000_000, read_header(buffer, 6).batch_length, 7)
    header = read_header(buffer, 6)
    assert (header.base_offset, header.leader_epoch) == (5_000_000_000, 7)
    assert crc_matches(buffer, 6, header.size)
    assert [record.offset for record in iter_records(buffer[6:])] == [5_000_000_000, 5_000_000_001, 5_000_000_005]


def test_one_wrong_bit_is_seen_by_the_crc() -> None:
    rng = random.Random(3)
    batch = build_batch(SOME)
    for _ in range(50):
        place = rng.randrange(21, len(batch))
        batch[place] ^= 1
        assert not crc_matches(batch, 0, len(batch))
        batch[place] ^= 1
    assert crc_matches(batch, 0, len(batch))


def test_batches_one_after_the_other_up_to_a_torn_tail() -> None:
    first, second = build_batch(SOME[:2]), build_batch(SOME[2:], codec=Codec.LZ4)
    both = bytes(first + second)
    positions = [0, len(first)]
    assert [position for position, _ in iter_batches(both)] == positions
    for end in range(len(first), len(both)):
        assert [position for position, _ in iter_batches(both[:end])] == positions[:1]
        assert [position for position, _ in iter_batches(both, 0, end)] == positions[:1]
    assert [position for position, _ in iter_batches(b"zz" + both, 2)] == [2, 2 + len(first)]
    assert list(iter_batches(b"")) == []


def test_a_length_no_batch_can_have_is_not_a_torn_tail() -> None:
    batch = build_batch(SOME)
    batch[8:12] = (48).to_bytes(4)
    with pytest.raises(ProtocolError):
        list(iter_batches(batch))


def test_a_cleaned_batch_keeps_its_range() -> None:
    batch = build_batch(SOME[1:2], base_offset=100, last_offset=105, base_sequence=0, producer_id=1, producer_epoch=0)
    header = read_header(batch)
    assert (header.base_offset, header.last_offset, header.record_count, header.last_sequence) == (100, 105, 1, 5)
    assert list(iter_records(batch)) == SOME[1:2]


def test_an_empty_batch_keeps_range_and_time() -> None:
    batch = build_batch(
        [],
        base_offset=100,
        last_offset=105,
        producer_id=3,
        producer_epoch=0,
        base_sequence=7,
        max_timestamp=NOW,
        codec=Codec.ZSTD,
    )
    header = read_header(batch)
    assert len(batch) == HEADER_BYTES and header.last_offset == 105 and header.max_timestamp == NOW
    assert header.codec is Codec.NONE  # nothing to compress, so nothing to open
    assert list(iter_records(batch)) == []


def test_a_delete_horizon_moves_the_base_but_no_timestamp() -> None:
    batch = build_batch(SOME, delete_horizon_ms=NOW + 10**9)
    assert read_header(batch).delete_horizon_ms == NOW + 10**9
    assert list(iter_records(batch)) == SOME
    assert read_header(build_batch(SOME)).delete_horizon_ms is None


def test_sequences_wrap() -> None:
    batch = build_batch(
        [Record(index, 0, None, None) for index in range(3)], producer_id=1, producer_epoch=0, base_sequence=2**31 - 2
    )
    assert read_header(batch).last_sequence == 0


def spoilt(place: int, value: bytes) -> bytearray:
    batch = build_batch([Record(0, 1, b"k", b"v")])
    batch[place : place + len(value)] = value
    batch[8:12] = (len(batch) - 12).to_bytes(4)
    write_crc(batch)
    return batch


@pytest.mark.parametrize(
    "batch",
    [
        spoilt(16, b"\x01"),  # an old format
        spoilt(57, b"\x00\x00\x00\x02"),  # more records than there are
        spoilt(57, b"\x7f\xff\xff\xff"),
        spoilt(57, b"\xff\xff\xff\xff"),
        spoilt(57, b"\x00\x00\x00\x00"),  # bytes after the last record
        spoilt(61, b"\x0e"),  # a record shorter than its content
        spoilt(61, b"\x12"),
        spoilt(61, b"\x01"),
        spoilt(65, b"\x03"),  # a key of -2 bytes
        spoilt(65, b"\x7e"),  # a key longer than the record
        spoilt(67, b"\x03"),
        spoilt(69, b"\x02"),  # a header that is not there
        spoilt(69, b"\x01"),
        spoilt(22, b"\x05"),  # a codec nobody knows
        spoilt(22, b"\x04"),  # not zstd
        build_batch([Record(0, 1, b"k", b"v")])[:-1],
        bytearray(60),
    ],
)
def test_records_that_are_not_what_the_header_says_are_refused(batch: bytearray) -> None:
    with pytest.raises(ProtocolError):
        list(iter_records(batch))


def test_a_header_name_that_is_not_text_is_refused() -> None:
    batch = build_batch([Record(0, 1, None, None, (("name", b""),))])
    batch[batch.index(b"name")] = 0xFF
    with pytest.raises(ProtocolError):
        list(iter_records(batch))


def test_records_that_were_framed_one_by_one_make_the_same_batch() -> None:
    values = [b"", b"a", b"b" * 300, *(b"%d" % number for number in range(9_000))]
    frames = [frame_value(value, delta) for delta, value in enumerate(values)]
    records = [Record(70 + delta, 5_000, None, value, ()) for delta, value in enumerate(values)]
    made = batch_of_frames(frames, base_offset=70, timestamp=5_000, leader_epoch=3)
    assert made == build_batch(records, leader_epoch=3)
