"""What a produced batch is refused for, and with which code."""

import pytest

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.batch import HEADER, read_header, write_crc
from barnabas.wire.compression import Codec
from barnabas.wire.deep import deep_check, recompress
from barnabas.wire.records import Record, build_batch, iter_records
from barnabas.wire.validate import validate_for_produce

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
def test_headers_that_contradict_themselves(fields: dict[str, int]) -> None:
    assert code_of(changed(**fields)) == ErrorCode.INVALID_RECORD


def test_a_batch_without_producer_needs_no_sequence() -> None:
    batch = changed(producer_id=-1, producer_epoch=-1, base_sequence=-1)
    assert validate_for_produce(batch, 0, len(batch)).producer_id == -1


def test_codecs() -> None:
    for number in (5, 6, 7):
        assert code_of(changed(attributes=number)) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    zstd = recompress(GOOD, Codec.ZSTD)
    assert code_of(zstd, version=6) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert validate_for_produce(zstd, 0, len(zstd), version=7).codec is Codec.ZSTD


def test_size_and_timestamp_type() -> None:
    assert code_of(GOOD, max_message_bytes=len(GOOD) - 1) == ErrorCode.MESSAGE_TOO_LARGE
    assert code_of(changed(attributes=0x08)) == ErrorCode.INVALID_TIMESTAMP


def test_a_deep_look_finds_the_records_without_key() -> None:
    records = [Record(0, 50, None, b"a"), Record(1, 70, b"k", b"b"), Record(2, 10, None, b"c")]
    for codec in Codec:
        batch = build_batch(records, codec=codec)
        assert deep_check(batch, require_keys=True) == ([0, 2], 10, 70)
        assert deep_check(batch, require_keys=False) == ([], 10, 70)


def test_a_deep_look_refuses_records_that_are_not_well_formed() -> None:
    gap = build_batch([Record(0, 0, b"k", b"v"), Record(2, 0, b"k", b"v")])
    cut = changed(record_count=4, last_offset_delta=3)
    no_zstd = changed(attributes=4)
    for batch in (gap, cut, no_zstd):
        with pytest.raises(KafkaError) as caught:
            deep_check(batch, require_keys=False)
        assert caught.value.code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("source", list(Codec))
@pytest.mark.parametrize("target", list(Codec))
def test_another_codec_the_same_records(source: Codec, target: Codec) -> None:
    batch = recompress(recompress(GOOD, source), target)
    assert validate_for_produce(batch, 0, len(batch)).codec is target
    assert list(iter_records(batch)) == list(iter_records(GOOD))
    assert recompress(batch, Codec.NONE) == GOOD


def test_what_cannot_be_opened_cannot_be_recompressed() -> None:
    with pytest.raises(KafkaError) as caught:
        recompress(changed(attributes=1), Codec.LZ4)
    assert caught.value.code == ErrorCode.INVALID_RECORD
