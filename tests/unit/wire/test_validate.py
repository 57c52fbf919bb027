"""What a produced batch is refused for, and with which code."""

import random
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode, InvalidRecords, KafkaError
from barnabas.model.limits import RECORD_ERRORS_LISTED_MAX, RECORDS_PER_BATCH_MAX
from barnabas.wire.batch import HEADER, crc_matches, read_header, with_header, write_crc
from barnabas.wire.compression import Codec
from barnabas.wire.errors import ProtocolError
from barnabas.wire.record_validation import OpensToMore, Rules, Stored, prepare, run
from barnabas.wire.records import Record, build_batch, iter_records
from barnabas.wire.validate import validate_for_produce

NOW = 1_700_000_000_000
GOOD = build_batch(
    [Record(index, 1000 + index, b"k", b"value") for index in range(3)],
    producer_id=4,
    producer_epoch=0,
    base_sequence=0,
)


def changed(right_crc: bool = True, **fields: int) -> bytearray:
    batch = bytearray(GOOD)
    HEADER.pack_into(batch, 0, *read_header(GOOD)._replace(**fields))
    if right_crc:
        write_crc(batch)
    return batch


def look(batch: bytes | bytearray, **rules: Any) -> Stored:
    return run(prepare(memoryview(batch), read_header(batch), Rules(**{"max_message_bytes": 1 << 20} | rules), NOW))


def stored(batch: bytes | bytearray, **rules: Any) -> bytearray:
    result = look(batch, **rules)
    return bytearray(with_header(memoryview(bytearray(batch)), result.header, result.records))


def code_of(batch: bytes | bytearray, **options: int) -> ErrorCode:
    buffer = memoryview(bytearray(b"before") + batch + b"after")
    with pytest.raises(KafkaError) as caught:
        validate_for_produce(buffer, 6, 6 + len(batch), **options)
    assert caught.value.message
    return caught.value.code


def test_a_good_batch_gives_its_header() -> None:
    buffer = bytearray(b"before") + GOOD
    assert validate_for_produce(memoryview(buffer), 6, len(buffer)) == read_header(GOOD)
    assert validate_for_produce(buffer, 6, len(buffer), max_message_bytes=len(GOOD)) == read_header(GOOD)


def test_not_exactly_one_batch() -> None:
    assert code_of(b"") == ErrorCode.INVALID_RECORD
    assert code_of(GOOD[:-1]) == ErrorCode.INVALID_RECORD
    assert code_of(GOOD[:40]) == ErrorCode.INVALID_RECORD
    assert code_of(GOOD + GOOD) == ErrorCode.INVALID_RECORD


def test_other_formats() -> None:
    assert code_of(changed(magic=1)) == ErrorCode.INVALID_RECORD
    assert code_of(changed(magic=0)) == ErrorCode.INVALID_RECORD
    assert code_of(changed(magic=0)[:34]) == ErrorCode.INVALID_RECORD
    assert code_of(changed(magic=3)) == ErrorCode.CORRUPT_MESSAGE
    assert code_of(changed(False, batch_length=3)) == ErrorCode.CORRUPT_MESSAGE
    assert code_of(changed(False, batch_length=-1)) == ErrorCode.CORRUPT_MESSAGE


def test_a_crc_that_is_not_its_own() -> None:
    assert code_of(changed(False, crc=1)) == ErrorCode.CORRUPT_MESSAGE
    assert code_of(changed(False, max_timestamp=7)) == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    "fields",
    [
        {"record_count": 0},
        {"record_count": -1},
        {"record_count": 2},
        {"last_offset_delta": 7},
        {"last_offset_delta": -1, "record_count": 0},
        {"base_offset": 5},
        {"attributes": 0x20},
        {"base_sequence": -1},
    ],
)
def test_headers_that_contradict_themselves(fields: dict[str, Any]) -> None:
    assert code_of(changed(**fields)) == ErrorCode.INVALID_RECORD


def test_a_batch_without_producer_needs_no_sequence() -> None:
    batch = changed(producer_id=-1, producer_epoch=-1, base_sequence=-1)
    assert validate_for_produce(batch, 0, len(batch)).producer_id == -1


def test_codecs() -> None:
    for number in (5, 6, 7):
        assert code_of(changed(attributes=number)) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    zstd = stored(GOOD, codec=Codec.ZSTD)
    assert code_of(zstd, version=6) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert validate_for_produce(zstd, 0, len(zstd), version=7).codec is Codec.ZSTD


def test_counts_that_the_bytes_cannot_hold() -> None:
    """Each would use up its offsets, and readers would fail on it for ever."""
    for count in (100, RECORDS_PER_BATCH_MAX + 1, 2**31 - 1):
        assert code_of(changed(record_count=count, last_offset_delta=count - 1)) == ErrorCode.INVALID_RECORD
    packed = changed(record_count=2**31 - 1, last_offset_delta=2**31 - 2, attributes=int(Codec.ZSTD))
    assert code_of(packed) == ErrorCode.INVALID_RECORD


def test_attributes() -> None:
    assert code_of(changed(attributes=0x20)) == ErrorCode.INVALID_RECORD, "control records"
    assert code_of(changed(attributes=0x40)) == ErrorCode.INVALID_RECORD, "a delete horizon"
    strange = changed(attributes=0x7F80)
    assert validate_for_produce(strange, 0, len(strange)).attributes == 0x7F80, "bits without a meaning, as in Kafka"


def test_size_and_timestamp_type() -> None:
    assert code_of(GOOD, max_message_bytes=len(GOOD) - 1) == ErrorCode.MESSAGE_TOO_LARGE
    assert code_of(changed(attributes=0x08)) == ErrorCode.INVALID_TIMESTAMP


def test_a_deep_look_finds_the_records_without_key() -> None:
    records = [Record(0, 50, None, b"a"), Record(1, 70, b"k", b"b"), Record(2, 10, None, b"c")]
    for codec in Codec:
        batch = build_batch(records, codec=codec)
        with pytest.raises(InvalidRecords) as caught:
            stored(batch, keys_required=True)
        assert caught.value.code == ErrorCode.INVALID_RECORD
        assert [index for index, _ in caught.value.record_errors] == [0, 2]
        assert stored(batch) == batch


def test_a_deep_look_refuses_records_that_are_not_well_formed() -> None:
    gap = build_batch([Record(0, 0, b"k", b"v"), Record(2, 0, b"k", b"v")])
    cut = changed(record_count=4, last_offset_delta=3)
    more = changed(record_count=1, last_offset_delta=0)
    no_zstd = changed(attributes=4)
    for batch in (gap, cut, more, no_zstd):
        with pytest.raises(KafkaError) as caught:
            stored(batch)
        assert caught.value.code == ErrorCode.INVALID_RECORD


def test_a_deep_look_agrees_with_the_reader_of_records() -> None:
    """Records with long keys, values, headers, deltas: what one takes the other does."""
    rng = random.Random(5)
    for _ in range(300):
        records = [
            Record(
                i,
                NOW + rng.randrange(-(10**10), 10**10),
                rng.choice((None, b"", b"k" * rng.randrange(300))),
                rng.choice((None, b"", b"v" * rng.randrange(300))),
                tuple(("h" * rng.randrange(99), rng.choice((None, b"", b"x" * 99))) for _ in range(rng.randrange(3))),
            )
            for i in range(rng.randrange(1, 200))
        ]
        batch = build_batch(records, codec=rng.choice(tuple(Codec)))
        lying = build_batch(records, codec=rng.choice(tuple(Codec)), max_timestamp=rng.randrange(2**62))
        assert stored(batch) == batch
        corrected = stored(lying)
        assert read_header(corrected).max_timestamp == max(record.timestamp for record in records)
        assert crc_matches(corrected, 0, len(corrected))
        spoilt = bytearray(batch)
        spoilt[rng.randrange(61, len(spoilt))] ^= 1 << rng.randrange(8)
        try:
            list(iter_records(spoilt))
        except ProtocolError:
            with pytest.raises(KafkaError):
                stored(spoilt)


def test_timestamps_out_of_range_are_named() -> None:
    records = [Record(i, NOW + i * 1000, b"k", b"v") for i in range(5)]
    with pytest.raises(InvalidRecords) as caught:
        stored(build_batch(records), timestamp_after_max_ms=2500)
    assert caught.value.code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in caught.value.record_errors] == [3, 4]
    with pytest.raises(InvalidRecords) as caught:
        stored(build_batch(records), timestamp_before_max_ms=-1500)
    assert [index for index, _ in caught.value.record_errors] == [0, 1]


def test_only_the_first_of_many_refused_records_are_named() -> None:
    batch = build_batch([Record(i, NOW, None, b"") for i in range(RECORD_ERRORS_LISTED_MAX + 5)])
    with pytest.raises(InvalidRecords) as caught:
        stored(batch, keys_required=True)
    assert len(caught.value.record_errors) == RECORD_ERRORS_LISTED_MAX
    assert len(caught.value.message) < 1000


def test_the_log_append_time_is_not_stamped_where_the_batch_lies() -> None:
    batch = bytearray(GOOD)
    result = look(batch, log_append_time=True)
    assert batch == GOOD, "whoever is refused afterwards still has what was sent"
    assert result.header.log_append_time and result.header.max_timestamp == NOW
    assert crc_matches(with_header(memoryview(batch), result.header, result.records), 0, len(batch))


def test_the_size_limit_holds_after_recompression() -> None:
    batch = build_batch([Record(0, NOW, b"k", bytes(100_000))], codec=Codec.ZSTD)
    assert len(batch) < 1000
    with pytest.raises(KafkaError) as caught:
        stored(batch, codec=Codec.NONE, max_message_bytes=50_000)
    assert caught.value.code == ErrorCode.MESSAGE_TOO_LARGE


def test_what_opens_to_more_than_wanted_is_told_from_a_bomb() -> None:
    batch = build_batch([Record(0, NOW, b"k", bytes(100_000))], codec=Codec.ZSTD)
    header = read_header(batch)
    with pytest.raises(OpensToMore):
        run(prepare(memoryview(batch), header, Rules(1 << 20), NOW, open_max=1000))
    assert run(prepare(memoryview(batch), header, Rules(1 << 20), NOW, open_max=200_000)) == (header, None)


def test_a_look_at_many_records_or_headers_leaves_off_in_between() -> None:
    for batch in (
        build_batch([Record(i, NOW, b"k", b"") for i in range(10_000)]),
        build_batch([Record(0, NOW, b"k", b"", (("h", None),) * 10_000)]),
        build_batch([Record(i, NOW, b"k", b"", (("h", None),) * 100) for i in range(100)]),
    ):
        steps = prepare(memoryview(batch), read_header(batch), Rules(1 << 20), NOW)
        assert 4 <= sum(1 for _ in steps) <= 6


@pytest.mark.parametrize("source", list(Codec))
@pytest.mark.parametrize("target", list(Codec))
def test_another_codec_the_same_records(source: Codec, target: Codec) -> None:
    batch = stored(stored(GOOD, codec=source), codec=target)
    assert validate_for_produce(batch, 0, len(batch)).codec is target
    assert list(iter_records(batch)) == list(iter_records(GOOD))
    assert stored(batch, codec=Codec.NONE) == GOOD


def test_what_cannot_be_opened_cannot_be_recompressed() -> None:
    with pytest.raises(KafkaError) as caught:
        stored(changed(attributes=1), codec=Codec.LZ4)
    assert caught.value.code == ErrorCode.INVALID_RECORD
