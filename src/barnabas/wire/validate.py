"""Whether a produced batch may enter a log, judged by its header and CRC alone: no record is looked at.

Follows what Kafka's broker checks of a client's batch, in its order and with its codes (compared with a live 4.3.1):
ProduceRequest (exactly one batch, magic 2, zstd only from version 7), the log (base offset zero, max.message.bytes,
CRC), LogValidator (count against offsets, no control batch, a sequence with a producer id). Stricter where no client
goes: a codec number that means nothing is UNSUPPORTED_COMPRESSION_TYPE (Kafka: an unknown server error), the
log-append-time bit, which is the broker's to set, is INVALID_TIMESTAMP on every topic (Kafka clears it on CreateTime
topics), the bit of a delete horizon, which is the cleaner's, INVALID_RECORD (Kafka takes it: tombstones go early), and
a few bytes after the batch are INVALID_RECORD (Kafka drops them). Bits without a meaning are kept, as in Kafka.

Kafka also opens each batch; record_validation.py does that, and only topics that ask for it pay. Of what the header
says about its records, this is believed unseen: the timestamps, as long as they are no more than an hour ahead of the
clock and in order (else record_validation.py looks and corrects them), and the count, as long as an uncompressed batch
has the bytes for so many and a compressed one names no more than a million. A client that lies within these bounds
spoils its own batch.
"""

from barnabas.model.errors import ErrorCode, KafkaError, RefusedBatch
from barnabas.model.limits import RECORDS_PER_BATCH_MAX
from barnabas.wire.batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    BatchHeader,
    crc_matches,
)
from barnabas.wire.checksum import crc32c
from barnabas.wire.compression import Codec

FIRST_VERSION_WITH_ZSTD = 7
_NOT_PLAIN = CONTROL_BIT | LOG_APPEND_TIME_BIT | DELETE_HORIZON_BIT
_STRAY_BYTES_MAX = 16  # behind the batch: less than it takes to see the magic of another one
_ZSTD = int(Codec.ZSTD)  # a plain number: looking it up in the enumeration costs more than the comparison
_COUNT_MAX = RECORDS_PER_BATCH_MAX
_RECORD_MIN = 7  # bytes of the smallest record, see records.py
_unpack = HEADER.unpack_from
_new = tuple.__new__


def validate_for_produce(
    buffer: bytearray | memoryview,
    start: int,
    end: int,
    *,
    max_message_bytes: int | None = None,
    version: int = FIRST_VERSION_WITH_ZSTD,
) -> BatchHeader:
    """The header of the one batch that stands at `start`..`end` of `buffer`, a memoryview if speed matters.

    Raises KafkaError with the code Kafka answers. `version` is that of the Produce request.
    """
    size = end - start
    if size < HEADER_BYTES:
        raise _too_short(buffer, start, end)
    header = _new(BatchHeader, _unpack(buffer, start))
    base_offset, length, _, magic, crc, attributes, last_delta, _, _, producer_id, _, sequence, count = header
    if length != size - LENGTH_OVERHEAD_BYTES or magic != MAGIC:
        _check_shape(buffer, start, header, size)
        end = start + header.size
    if attributes and attributes & CODEC_MASK == _ZSTD and version < FIRST_VERSION_WITH_ZSTD:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs Produce {FIRST_VERSION_WITH_ZSTD} or later"
        )
    if base_offset:
        raise _refused(f"the base offset of a produced batch is 0, not {base_offset}")
    if max_message_bytes is not None and size > max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE, f"a batch of {size} bytes, max.message.bytes is {max_message_bytes}"
        )
    view = buffer if type(buffer) is memoryview else memoryview(buffer)
    if crc32c(view[start + ATTRIBUTES_POSITION : end]) != crc:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"the batch's CRC is not {crc}")
    if not 0 < count <= _COUNT_MAX or count != last_delta + 1:
        raise _wrong_count(count, last_delta)
    if count * _RECORD_MIN > size and not attributes & CODEC_MASK:
        raise _refused(f"{count} records in a batch of {size} bytes")
    if attributes and (attributes & _NOT_PLAIN or attributes & CODEC_MASK > _ZSTD):
        raise _wrong_attributes(attributes)
    if producer_id >= 0 and sequence < 0:
        raise _refused(f"sequence {sequence} in a batch of producer {producer_id}")
    return header


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)


def _refused(message: str) -> KafkaError:
    return RefusedBatch(ErrorCode.INVALID_RECORD, message)


def _check_shape(buffer: bytearray | memoryview, start: int, header: BatchHeader, size: int) -> None:
    """Something else than one batch stands there. Too few bytes behind it to be another one are passed over."""
    length, magic = header.batch_length, header.magic
    if length > size - LENGTH_OVERHEAD_BYTES:
        raise _invalid("a partition's records hold no whole batch")
    if length < HEADER_BYTES - LENGTH_OVERHEAD_BYTES or not 0 <= magic <= MAGIC:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch of length {length} and magic {magic}")
    if magic != MAGIC:
        raise _invalid(f"magic {magic}: only record batches of magic {MAGIC} are taken")
    if not crc_matches(buffer, start, header.size):
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch of length {length} in {size} bytes")
    if size - header.size > _STRAY_BYTES_MAX:
        raise _invalid("exactly one batch a partition is taken")


def _too_short(buffer: bytearray | memoryview, start: int, end: int) -> KafkaError:
    """Less than a header. Kafka looks at the magic first, which tells an old message set from a cut batch."""
    if end - start > 16 and buffer[start + 16] != MAGIC:
        return _invalid(f"magic {buffer[start + 16]}: only record batches of magic {MAGIC} are taken")
    return _invalid("a partition's records hold no whole batch")


def _wrong_count(count: int, last_delta: int) -> KafkaError:
    """Every record takes an offset: a count of 2**31 in 70 bytes would use up as many, and make readers fail."""
    if count > _COUNT_MAX:
        return _refused(f"a batch of {count} records, at most {_COUNT_MAX} are taken")
    return _refused(f"a batch of {count} records whose last offset delta is {last_delta}")


def _wrong_attributes(attributes: int) -> KafkaError:
    if attributes & CONTROL_BIT:
        return _refused("clients do not write control records")
    if attributes & LOG_APPEND_TIME_BIT:
        return RefusedBatch(ErrorCode.INVALID_TIMESTAMP, "the log append time is the broker's to set")
    if attributes & DELETE_HORIZON_BIT:
        return _refused("the delete horizon is the cleaner's to set")
    return RefusedBatch(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"unknown compression codec {attributes & CODEC_MASK}")
