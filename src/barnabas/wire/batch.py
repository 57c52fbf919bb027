"""The record batch (format v2, magic 2) seen through its 61-byte header; records stay unopened bytes.

Decides nothing about a partition: it reads headers, checks the CRC-32C, and stamps in place what a broker may stamp.
The CRC covers everything from `attributes` on, so base offset and leader epoch can be stamped without touching it; a
log-append timestamp cannot (record_validation.py computes the CRC anew). Layout: Kafka's "Record Batch" (KIP-98).
"""

from collections.abc import Iterator, Sequence
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from barnabas.wire.checksum import crc32c
from barnabas.wire.compression import Codec, codec_of
from barnabas.wire.errors import ProtocolError

HEADER_BYTES = 61
LENGTH_OVERHEAD_BYTES = 12  # base_offset and batch_length stand before what batch_length counts
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21  # the CRC covers the batch from here to its end
MAGIC = 2

CODEC_MASK = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40  # KIP-534: the base timestamp says when tombstones may go

HEADER = Struct(">qiibIhiqqqhii")
_OFFSET_AND_LENGTH = Struct(">qi")
stamp = Struct(">qii").pack_into  # (buffer, position, base offset, batch length, leader epoch): outside the CRC
_CRC = Struct(">I")

Buffer = bytes | bytearray | memoryview


class BatchHeader(NamedTuple):
    """The fields before the records, in the order in which they stand."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included."""
        return self.batch_length + LENGTH_OVERHEAD_BYTES

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; sequences wrap at 2**31 to zero."""
        if self.base_sequence < 0:
            return self.base_sequence
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def codec(self) -> Codec:
        return codec_of(self.attributes & CODEC_MASK)

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME_BIT != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`, not judged: magic, length and CRC are for the caller to check."""
    try:
        return tuple.__new__(BatchHeader, HEADER.unpack_from(buffer, position))
    except StructError:
        raise ProtocolError(f"no room for a batch header at position {position}") from None


def crc_matches(buffer: Buffer, position: int, size: int) -> bool:
    """Whether the stored CRC-32C is that of the batch of `size` bytes at `position` (no copy is made)."""
    view = memoryview(buffer)
    return bool(
        crc32c(view[position + ATTRIBUTES_POSITION : position + size])
        == _CRC.unpack_from(view, position + CRC_POSITION)[0]
    )


def write_header(buffer: bytearray | memoryview, position: int, header: BatchHeader) -> None:
    """Write all fields as they are in `header`, the CRC included."""
    HEADER.pack_into(buffer, position, *header)


def with_header(batch: memoryview, header: BatchHeader, records: bytes | None) -> memoryview:
    """The batch under another header: in place, or, with other `records`, in a buffer of its own."""
    if records is None:
        assert header.size == len(batch), f"a header of {header.size} bytes for {len(batch)}"
        HEADER.pack_into(batch, 0, *header)
        return batch
    return memoryview(HEADER.pack(*header) + records)


def write_crc(buffer: bytearray | memoryview, position: int = 0) -> None:
    """Compute and store the CRC of the batch at `position`."""
    view = memoryview(buffer)
    size = _OFFSET_AND_LENGTH.unpack_from(view, position)[1] + LENGTH_OVERHEAD_BYTES
    _CRC.pack_into(view, position + CRC_POSITION, crc32c(view[position + ATTRIBUTES_POSITION : position + size]))


def with_crc(header: bytearray, records: Sequence[Buffer]) -> bytes:
    """The whole batch of a header and the pieces of its records, which are copied once; `header` gets its CRC."""
    crc = crc32c(memoryview(header)[ATTRIBUTES_POSITION:])
    for piece in records:
        crc = crc32c(piece, crc)
    _CRC.pack_into(header, CRC_POSITION, crc)
    return b"".join((header, *records))


def iter_batches(buffer: Buffer, start: int = 0, end: int | None = None) -> Iterator[tuple[int, BatchHeader]]:
    """Each whole batch as (position, header); ends before a torn tail, as a fetch may cut its last batch.

    A length no batch can have is not a torn tail: it raises, for there is no way to find the batch that follows.
    """
    if end is None:
        end = len(buffer)
    position = start
    while end - position >= HEADER_BYTES:
        header = read_header(buffer, position)
        if header.batch_length < HEADER_BYTES - LENGTH_OVERHEAD_BYTES:
            raise ProtocolError(f"batch length {header.batch_length} at position {position}")
        following = position + LENGTH_OVERHEAD_BYTES + header.batch_length
        if following > end:
            return
        yield position, header
        position = following
