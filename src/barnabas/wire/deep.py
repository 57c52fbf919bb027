"""Opening a produced batch, for the topics that ask for it: compacted ones need keys, others a codec of their own.

`deep_check` refuses records that are not what the header promises (KafkaError INVALID_RECORD, as Kafka answers);
`recompress` writes the same records in another codec. An ordinary produce calls neither.
"""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.model.errors import ErrorCode, RefusedBatch
from barnabas.wire.batch import CODEC_MASK, HEADER, HEADER_BYTES, LENGTH_OVERHEAD_BYTES, Buffer, read_header, write_crc
from barnabas.wire.compression import Codec, compress
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import iter_records, open_payload


class DeepCheck(NamedTuple):
    """What a look at every record found: indexes of those without a key, and the range of their timestamps."""

    without_key: Sequence[int]
    min_timestamp: int
    max_timestamp: int


def deep_check(batch: Buffer, require_keys: bool) -> DeepCheck:
    """Read every record of a batch that passed validate_for_produce; raises KafkaError where one is not well formed.

    A missing key is not an exception but an index in the result (only when `require_keys`), for the answer names each.
    """
    header = read_header(batch)
    without_key = []
    low, high = header.max_timestamp, header.max_timestamp
    try:
        for index, record in enumerate(iter_records(batch)):
            if record.offset != header.base_offset + index:
                raise ProtocolError(f"record {index} has offset delta {record.offset - header.base_offset}")
            if require_keys and record.key is None:
                without_key.append(index)
            if record.timestamp < low:
                low = record.timestamp
            if record.timestamp > high or index == 0:
                high = record.timestamp
    except ProtocolError as problem:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, str(problem)) from None
    return DeepCheck(without_key, low, high)


def recompress(batch: Buffer, codec: Codec, level: int | None = None) -> bytearray:
    """The batch with its records in `codec`, all else as it was, and a CRC of its own."""
    header = read_header(batch)
    try:
        payload = open_payload(batch, header)
    except ProtocolError as problem:
        raise RefusedBatch(ErrorCode.INVALID_RECORD, str(problem)) from None
    packed = compress(codec, payload, level)
    result = bytearray(HEADER_BYTES)
    fields = header._replace(
        batch_length=HEADER_BYTES - LENGTH_OVERHEAD_BYTES + len(packed),
        attributes=header.attributes & ~CODEC_MASK | codec,
    )
    HEADER.pack_into(result, 0, *fields)
    result += packed
    write_crc(result)
    return result
