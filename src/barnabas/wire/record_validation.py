"""Opening a produced batch, for the topics that ask for it and for batches whose header cannot be believed.

Compacted topics need keys, some topics a codec of their own, some a range of timestamps, some schemas that are
registered (schema_ids.py). `prepare` checks the records and gives the batch as it is to be stored. It changes nothing
where the batch lies: whoever is refused afterwards (by a sequence, by a full disk) still has what was sent. An ordinary
produce does not come here.

A batch of a few bytes may open to a million records, so this takes long, and nobody may wait for it: `prepare` is a
generator. It yields None where others may be served in between, and a function without arguments that is better called
in a thread (a codec), whose result it wants to be sent. `run` is for those who can wait.
"""

from collections.abc import Callable, Generator
from typing import NamedTuple

from barnabas.model.errors import ErrorCode, InvalidRecords, KafkaError, RefusedBatch
from barnabas.model.limits import RECORD_ERRORS_LISTED_MAX
from barnabas.wire.batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    HEADER,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    LOG_APPEND_TIME_BIT,
    BatchHeader,
    Buffer,
)
from barnabas.wire.checksum import crc32c
from barnabas.wire.compression import Codec, OpensTooLarge, compress, decompress, opened_max_bytes
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import RECORD_MIN_BYTES
from barnabas.wire.schema_ids import SchemaCheck, check_schemas
from barnabas.wire.varints import read_varint, read_varlong

Job = Callable[[], bytes]
Steps = Generator[Job | None, bytes | None, "Stored"]

NO_TIMESTAMP = -1
UNITS_A_STEP = 2_000  # records and record headers looked at before others are served: about a millisecond
_LONG_MAX = (1 << 63) - 1


class Rules(NamedTuple):
    """What a topic demands of the records in a batch, and how it stores them."""

    max_message_bytes: int
    keys_required: bool = False
    timestamp_before_max_ms: int = _LONG_MAX
    timestamp_after_max_ms: int = _LONG_MAX
    log_append_time: bool = False
    codec: Codec | None = None  # None keeps what the producer chose
    codec_level: int | None = None


class Stored(NamedTuple):
    """A batch as it goes into the log. `records` is None when they stay as they were sent; `header` has the CRC."""

    header: BatchHeader
    records: bytes | None


class OpensToMore(KafkaError):
    """The records are larger than the caller wants to open here."""


def prepare(
    batch: memoryview,
    header: BatchHeader,
    rules: Rules,
    now_ms: int,
    open_max: int | None = None,
    schemas: SchemaCheck | None = None,
) -> Steps:
    """Look at the records of a batch that passed validate_for_produce. Raises KafkaError when the topic refuses them,
    OpensToMore when they are larger than `open_max`, UnregisteredSchemas when `schemas` does not know theirs."""
    payload = memoryview(batch)[HEADER_BYTES : header.size]
    codec = header.codec
    recodes = rules.codec is not None and rules.codec is not codec
    looks = rules.keys_required or not rules.log_append_time or schemas is not None
    max_timestamp = now_ms
    if recodes or looks:
        opened = yield from _opened(codec, payload, open_max)
        if looks:
            max_timestamp = yield from _look(opened, header, rules, now_ms)
        if schemas is not None:
            yield from check_schemas(opened, header.record_count, schemas)
    attributes = header.attributes
    records = None
    if recodes:
        target, level = rules.codec, rules.codec_level
        assert target is not None
        records = opened if target is Codec.NONE else (yield lambda: compress(target, opened, level))
        assert records is not None
        size = HEADER_BYTES + len(records)
        if size > rules.max_message_bytes:
            raise RefusedBatch(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"a batch of {size} bytes as {target.name.lower()}, max.message.bytes is {rules.max_message_bytes}",
            )
        attributes = attributes & ~CODEC_MASK | target
        header = header._replace(batch_length=size - LENGTH_OVERHEAD_BYTES)
    if rules.log_append_time:
        attributes |= LOG_APPEND_TIME_BIT
        max_timestamp = now_ms
    if records is None and attributes == header.attributes and max_timestamp == header.max_timestamp:
        return Stored(header, None)
    header = header._replace(attributes=attributes, max_timestamp=max_timestamp)
    return Stored(_with_crc(header, payload if records is None else records), records)


def run(steps: Steps) -> Stored:
    """All of it at once, here."""
    result: bytes | None = None
    try:
        while True:
            job = steps.send(result)
            result = job() if job is not None else None
    except StopIteration as done:
        stored: Stored = done.value
        return stored


def _with_crc(header: BatchHeader, records: Buffer) -> BatchHeader:
    head = HEADER.pack(*header)
    return header._replace(crc=crc32c(records, crc32c(head[ATTRIBUTES_POSITION:])))


def _opened(codec: Codec, payload: memoryview, open_max: int | None) -> Generator[Job | None, bytes | None, bytes]:
    if codec is Codec.NONE:
        return bytes(payload)
    opened = yield lambda: _open(codec, payload, open_max)
    assert opened is not None
    return opened


def _open(codec: Codec, payload: memoryview, open_max: int | None) -> bytes:
    allowed = opened_max_bytes(len(payload))
    limit = allowed if open_max is None else min(open_max, allowed)
    try:
        return decompress(codec, payload, limit)
    except OpensTooLarge as problem:
        kind = OpensToMore if limit < allowed else RefusedBatch
        raise kind(ErrorCode.INVALID_RECORD, str(problem)) from None
    except ProtocolError as problem:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, str(problem)) from None


def _look(data: bytes, header: BatchHeader, rules: Rules, now_ms: int) -> Generator[None, bytes | None, int]:
    """Read every record; gives the largest timestamp."""
    try:
        largest, wrong = yield from _walk(data, header, rules, now_ms)
    except IndexError:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, "a record is cut") from None
    except ProtocolError as problem:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, str(problem)) from None
    if wrong:
        raise _invalid_records(wrong)
    if largest > _LONG_MAX:
        raise RefusedBatch(ErrorCode.INVALID_TIMESTAMP, f"timestamp {largest}")
    return largest


class _Wrong(NamedTuple):
    number: int
    code: ErrorCode
    reason: str


def _walk(
    data: bytes, header: BatchHeader, rules: Rules, now_ms: int
) -> Generator[None, bytes | None, tuple[int, list[_Wrong]]]:
    """Key, timestamp, offset and shape of each record, nothing copied. Small lengths and deltas are one byte; that case
    is written out, for a call each would double the time."""
    count, base_timestamp, keys_required = header.record_count, header.base_timestamp, rules.keys_required
    if count * RECORD_MIN_BYTES > len(data):
        raise ProtocolError(f"{count} records in {len(data)} bytes")
    earliest, latest = now_ms - rules.timestamp_before_max_ms, now_ms + rules.timestamp_after_max_ms
    if rules.log_append_time:
        earliest, latest = -_LONG_MAX - now_ms, 2 * _LONG_MAX
    largest, wrong = NO_TIMESTAMP, []
    position, size, units = 0, len(data), UNITS_A_STEP
    for index in range(count):
        units -= 1
        if units <= 0:
            units = UNITS_A_STEP
            yield
        length, position = read_varint(data, position)
        end = position + length
        if length < 0 or end > size:
            raise ProtocolError(f"a record of {length} bytes where {size - position} remain")
        position += 1  # attributes: no bit of a record has a meaning yet
        byte = data[position]
        if byte < 0x80:
            delta = (byte >> 1) ^ -(byte & 1)
            position += 1
        else:
            delta, position = read_varlong(data, position)
        timestamp = base_timestamp + delta
        if timestamp > largest:
            largest = timestamp
        delta, position = read_varint(data, position)
        if delta != index:
            raise ProtocolError(f"record {index} has offset delta {delta}")

        key_length, position = read_varint(data, position)
        if key_length > 0:
            position += key_length
        length, position = read_varint(data, position)
        if length > 0:
            position += length
        if key_length < -1 or length < -1:
            raise ProtocolError(f"a key of {key_length} and a value of {length} bytes")
        if data[position]:
            position, units = yield from _skip_headers(data, position, units)
        else:
            position += 1
        if position != end:
            raise ProtocolError(f"a record ends at {position}, not at {end} as it claims")

        if keys_required and key_length < 0:
            wrong.append(_Wrong(index, ErrorCode.INVALID_RECORD, _NO_KEY))
        elif timestamp != NO_TIMESTAMP and not earliest <= timestamp <= latest:
            wrong.append(_Wrong(index, ErrorCode.INVALID_TIMESTAMP, _out_of_range(timestamp, index, earliest, latest)))
        if len(wrong) >= RECORD_ERRORS_LISTED_MAX:
            return largest, wrong
    if position != size:
        raise ProtocolError(f"{size - position} bytes after the last record")
    return largest, wrong


def _skip_headers(data: bytes, position: int, units: int) -> Generator[None, bytes | None, tuple[int, int]]:
    count, position = read_varint(data, position)
    if count < 0 or count * 2 > len(data) - position:
        raise ProtocolError(f"{count} headers where {len(data) - position} bytes remain")
    for _ in range(count):
        units -= 1
        if units <= 0:
            units = UNITS_A_STEP
            yield
        length, position = read_varint(data, position)
        if length < 0 or length > len(data) - position:
            raise ProtocolError(f"a header name of {length} bytes")
        try:
            data[position : position + length].decode()
        except UnicodeDecodeError:
            raise ProtocolError("a header name is not UTF-8") from None
        position += length
        length, position = read_varint(data, position)
        if length < -1 or length > len(data) - position:
            raise ProtocolError(f"a header of {length} bytes")
        position += max(length, 0)
    return position, units


_NO_KEY = "Compacted topic cannot accept message without key in topic partition."


def _out_of_range(timestamp: int, index: int, earliest: int, latest: int) -> str:
    return (
        f"Timestamp {timestamp} of message with offset {index} is out of range. "
        f"The timestamp should be within [{earliest}, {latest}]"
    )


def _invalid_records(wrong: list[_Wrong]) -> InvalidRecords:
    """Kafka's words: its clients and tools show them."""
    listed = [(index, reason) for index, _, reason in wrong]
    if any(code is ErrorCode.INVALID_TIMESTAMP for _, code, _ in wrong):
        message = "One or more records have been rejected due to invalid timestamp"
        return InvalidRecords(ErrorCode.INVALID_TIMESTAMP, message, listed)
    number = f"{len(listed)}" if len(listed) < RECORD_ERRORS_LISTED_MAX else f"{len(listed)} or more"
    first = ", ".join(f"RecordError(batchIndex={index}, message='{reason}')" for index, reason in listed[:3])
    message = (
        f"One or more records have been rejected due to {number} record errors in total, "
        f"and only showing the first three errors at most: [{first}]"
    )
    return InvalidRecords(ErrorCode.INVALID_RECORD, message, listed)
