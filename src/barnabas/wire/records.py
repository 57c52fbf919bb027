"""The records inside a batch: opened one by one, or built into a new batch.

Not on the hot path of an ordinary produce or fetch; compaction, coordinators, timestamps look-ups and tools come here.
Refuses whatever is not exactly `record_count` well-formed records that fill the batch to its last byte. Varints are
zigzag, at most 5 bytes (10 for the timestamp delta); a length of -1 is null, a smaller one is refused.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from barnabas.wire.batch import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Buffer,
    read_header,
    write_crc,
)
from barnabas.wire.compression import Codec, compress, decompress, opened_max_bytes
from barnabas.wire.errors import ProtocolError
from barnabas.wire.varints import read_varint, read_varlong, varint

Headers = tuple[tuple[str, bytes | None], ...]

RECORD_MIN_BYTES = 7  # length, attributes, two deltas, two null lengths, a header count


class Record(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


def open_payload(batch: Buffer, header: BatchHeader) -> bytes:
    """The bytes of the records, decompressed when the batch says so, with a ceiling on what they open to."""
    size = header.size
    if header.magic != MAGIC:
        raise ProtocolError(f"batch format {header.magic}, only {MAGIC} is known")
    if size < HEADER_BYTES or size > len(batch):
        raise ProtocolError(f"a batch of {size} bytes in {len(batch)}")
    payload = memoryview(batch)[HEADER_BYTES:size]
    codec = header.codec
    return bytes(payload) if codec is Codec.NONE else decompress(codec, payload, opened_max_bytes(len(payload)))


def iter_records(batch: Buffer) -> Iterator[Record]:
    """Every record of the batch at the start of `batch`, with its absolute offset and its timestamp."""
    header = read_header(batch)
    return iter_opened(open_payload(batch, header), header.record_count, header)


def iter_opened(payload: bytes, count: int, header: BatchHeader) -> Iterator[Record]:
    """The same of opened bytes, or of some records cut out of them."""
    fixed_timestamp = header.max_timestamp if header.log_append_time else None
    return _iter_payload(payload, count, header.base_offset, header.base_timestamp, fixed_timestamp)


def _iter_payload(
    data: bytes, count: int, base_offset: int, base_timestamp: int, fixed_timestamp: int | None
) -> Iterator[Record]:
    # Lengths under 64 and small deltas are one byte, most others two; those cases are written out: a call each would
    # double the time.
    if count < 0 or count * RECORD_MIN_BYTES > len(data):
        raise ProtocolError(f"{count} records in {len(data)} bytes")
    position = 0
    new = tuple.__new__
    key: bytes | None
    value: bytes | None
    try:
        for _ in range(count):
            byte = data[position]
            if byte < 0x80:
                length = (byte >> 1) ^ -(byte & 1)
                position += 1
            elif (second := data[position + 1]) < 0x80:
                byte += (second << 7) - 0x80
                length = (byte >> 1) ^ -(byte & 1)
                position += 2
            else:
                length, position = read_varint(data, position)
            end = position + length
            if length < 0 or end > len(data):
                raise ProtocolError(f"a record of {length} bytes where {len(data) - position} remain")
            position += 1  # attributes: no bit of a record has a meaning yet
            byte = data[position]
            if byte < 0x80:
                timestamp_delta = (byte >> 1) ^ -(byte & 1)
                position += 1
            elif (second := data[position + 1]) < 0x80:
                byte += (second << 7) - 0x80
                timestamp_delta = (byte >> 1) ^ -(byte & 1)
                position += 2
            else:
                timestamp_delta, position = read_varlong(data, position)
            byte = data[position]
            if byte < 0x80:
                offset_delta = (byte >> 1) ^ -(byte & 1)
                position += 1
            elif (second := data[position + 1]) < 0x80:
                byte += (second << 7) - 0x80
                offset_delta = (byte >> 1) ^ -(byte & 1)
                position += 2
            else:
                offset_delta, position = read_varint(data, position)

            byte = data[position]
            if byte < 0x80:
                length = (byte >> 1) ^ -(byte & 1)
                position += 1
            else:
                length, position = read_varint(data, position)
            if length >= 0:
                key = data[position : position + length]
                position += length
            elif length == -1:
                key = None
            else:
                raise ProtocolError(f"a key of {length} bytes")

            byte = data[position]
            if byte < 0x80:
                length = (byte >> 1) ^ -(byte & 1)
                position += 1
            elif (second := data[position + 1]) < 0x80:
                byte += (second << 7) - 0x80
                length = (byte >> 1) ^ -(byte & 1)
                position += 2
            else:
                length, position = read_varint(data, position)
            if length >= 0:
                value = data[position : position + length]
                position += length
            elif length == -1:
                value = None
            else:
                raise ProtocolError(f"a value of {length} bytes")

            headers: Headers = ()
            if data[position] == 0:
                position += 1
            else:
                headers, position = _read_headers(data, position)
            if position != end:
                raise ProtocolError(f"a record ends at {position}, not at {end} as it claims")
            timestamp = base_timestamp + timestamp_delta if fixed_timestamp is None else fixed_timestamp
            yield new(Record, (base_offset + offset_delta, timestamp, key, value, headers))
    except IndexError:
        raise ProtocolError("a record is cut") from None
    if position != len(data):
        raise ProtocolError(f"{len(data) - position} bytes after the last record")


def _read_headers(data: bytes, position: int) -> tuple[Headers, int]:
    count, position = read_varint(data, position)
    if count < 0 or count * 2 > len(data) - position:
        raise ProtocolError(f"{count} headers where {len(data) - position} bytes remain")
    headers = []
    for _ in range(count):
        length, position = read_varint(data, position)
        if length < 0 or length > len(data) - position:
            raise ProtocolError(f"a header name of {length} bytes")
        try:
            name = data[position : position + length].decode()
        except UnicodeDecodeError:
            raise ProtocolError("a header name is not UTF-8") from None
        position += length
        length, position = read_varint(data, position)
        if length < -1 or length > len(data) - position:
            raise ProtocolError(f"a header of {length} bytes")
        value = None if length == -1 else data[position : position + length]
        position += max(length, 0)
        headers.append((name, value))
    return tuple(headers), position


def build_batch(
    records: Sequence[Record],
    *,
    base_offset: int | None = None,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    leader_epoch: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    log_append_time_ms: int | None = None,
    delete_horizon_ms: int | None = None,
    last_offset: int | None = None,
    max_timestamp: int | None = None,
) -> bytearray:
    """One batch of these records, offsets ascending and not necessarily dense (compaction leaves gaps).

    `base_offset` and `last_offset` may lie outside the records, as they must when a cleaned batch keeps its range; an
    empty batch needs both (`max_timestamp` is then what it keeps of its time).
    """
    if base_offset is None:
        base_offset = records[0].offset
    if last_offset is None:
        last_offset = records[-1].offset
    assert base_offset <= last_offset, f"a batch from {base_offset} to {last_offset}"
    assert not records or base_offset <= records[0].offset <= records[-1].offset <= last_offset
    timestamps = [record.timestamp for record in records]
    if log_append_time_ms is not None:
        base_timestamp = highest_timestamp = log_append_time_ms
        timestamps = [log_append_time_ms] * len(records)
    else:
        base_timestamp = timestamps[0] if timestamps else -1 if max_timestamp is None else max_timestamp
        highest_timestamp = max(timestamps, default=base_timestamp)
    if delete_horizon_ms is not None:
        base_timestamp = delete_horizon_ms
    if max_timestamp is not None:
        highest_timestamp = max_timestamp

    body = bytearray()
    for record, timestamp in zip(records, timestamps, strict=True):
        _write_record(body, record, record.offset - base_offset, timestamp - base_timestamp)
    payload = compress(codec, body, level) if codec is not Codec.NONE and records else body

    attributes = (
        (int(codec) if records else 0)
        | (LOG_APPEND_TIME_BIT if log_append_time_ms is not None else 0)
        | (TRANSACTIONAL_BIT if transactional else 0)
        | (CONTROL_BIT if control else 0)
        | (DELETE_HORIZON_BIT if delete_horizon_ms is not None else 0)
    )
    batch = bytearray(HEADER_BYTES)
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        HEADER_BYTES - LENGTH_OVERHEAD_BYTES + len(payload),
        leader_epoch,
        MAGIC,
        0,
        attributes,
        last_offset - base_offset,
        base_timestamp,
        highest_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        len(records),
    )
    batch += payload
    write_crc(batch)
    return batch


def frame_value(value: bytes, offset_delta: int) -> bytes:
    """A record without key and headers, of its batch's base timestamp, as it stands in an uncompressed batch."""
    body = b"".join((b"\0\0", varint(offset_delta), b"\1", varint(len(value)), value, b"\0"))
    return varint(len(body)) + body


def batch_of_frames(frames: Sequence[bytes], *, base_offset: int, timestamp: int, leader_epoch: int) -> bytearray:
    """The batch of records that were framed one by one (`frame_value`), their offset deltas 0, 1, 2 and so on."""
    payload = b"".join(frames)
    length, last_delta = HEADER_BYTES - LENGTH_OVERHEAD_BYTES + len(payload), len(frames) - 1
    header = (base_offset, length, leader_epoch, MAGIC, 0, 0, last_delta, timestamp, timestamp, -1, -1, -1, len(frames))
    batch = bytearray(HEADER.pack(*header))
    batch += payload
    write_crc(batch)
    return batch


def _write_record(out: bytearray, record: Record, offset_delta: int, timestamp_delta: int) -> None:
    parts = [b"\0", varint(timestamp_delta), varint(offset_delta)]  # attributes first
    _add_bytes(parts, record.key)
    _add_bytes(parts, record.value)
    parts.append(varint(len(record.headers)))
    for name, value in record.headers:
        _add_bytes(parts, name.encode())
        _add_bytes(parts, value)
    body = b"".join(parts)
    out += varint(len(body))
    out += body


def _add_bytes(parts: list[bytes], value: bytes | None) -> None:
    if value is None:
        parts.append(b"\1")  # -1 in zigzag
    else:
        parts += (varint(len(value)), value)
