"""A record batch while it is written: what many records have in common is encoded once.

Records join many at once: with a key and a value each (`add_records`), with headers and a time too (`add_each`), with a
value each (`add_alike`), or encoded by somebody else (`add`). At 500,000 records a second there are two microseconds
for each, with everything else that has to be done for it: `add_alike` runs no Python code for a single record, only
`zip`, `map` and `join`.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, repeat

from barnabas.wire.batch import (
    HEADER,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL_BIT,
    Buffer,
    with_crc,
)
from barnabas.wire.compression import Codec, compress
from barnabas.wire.varints import varint

NO_HEADERS = b"\0"
RECORD_OVERHEAD_MAX = 5 + 1 + 10 + 5 + 5 + 5  # bytes of a record beside key, value and headers
_NULL = b"\1"  # a length of -1
_REMEMBERED = 8192  # lengths and offsets whose varints are kept
_WIDER_FROM = (64, 8192, 1 << 20, 1 << 27, 1 << 31)  # the offsets from which a varint has one byte more


def headers_of(headers: Sequence[tuple[str, bytes | None]]) -> bytes:
    """As they stand in a record."""
    if not headers:
        return NO_HEADERS
    parts = [varint(len(headers))]
    for name, value in headers:
        encoded = name.encode()
        parts += (varint(len(encoded)), encoded)
        parts += (_NULL,) if value is None else (varint(len(value)), value)
    return b"".join(parts)


class _Varints(dict[int, bytes]):
    def __missing__(self, value: int) -> bytes:
        found = varint(value)
        if -_REMEMBERED < value < _REMEMBERED:
            self[value] = found
        return found


class _BeforeValues(dict[int, bytes]):
    """What stands between a record's offset and its value, the value's length at last, by that length."""

    def __init__(self, key: bytes) -> None:
        super().__init__()
        self._key = key

    def __missing__(self, value_bytes: int) -> bytes:
        found = self._key + varint(value_bytes)
        if value_bytes < _REMEMBERED:
            self[value_bytes] = found
        return found


class _RecordLengths(dict[int, bytes]):
    """The length that stands before a record, by the length of its value; `others` is what the rest takes."""

    def __init__(self, others: int) -> None:
        super().__init__()
        self._others = others

    def __missing__(self, value_bytes: int) -> bytes:
        found = varint(self._others + len(varint(value_bytes)) + value_bytes)
        if value_bytes < _REMEMBERED:
            self[value_bytes] = found
        return found


_varints = _Varints()
_before_values = lru_cache(maxsize=16)(_BeforeValues)
_record_lengths = lru_cache(maxsize=32)(_RecordLengths)


class OpenBatch:
    """Records of one partition that are not sent yet."""

    __slots__ = ("_parts", "count", "newest_ms", "size", "timestamp_ms")

    def __init__(self, timestamp_ms: int) -> None:
        """`timestamp_ms` is that of its first record."""
        self.timestamp_ms = timestamp_ms
        self.newest_ms = 0
        self.count = 0
        self.size = HEADER_BYTES
        self._parts: list[Buffer] = []

    def add(self, records: Buffer, count: int, newest_ms: int) -> None:
        """Encoded already, with the offsets that follow."""
        self._parts.append(records)
        self.count += count
        self.size += len(records)
        if newest_ms > self.newest_ms:
            self.newest_ms = newest_ms

    def add_records(
        self, keys: Sequence[bytes | None], values: Sequence[bytes | None], headers: bytes, timestamp_ms: int
    ) -> None:
        """With the same headers and time."""
        before = b"\0" + varint(timestamp_ms - self.timestamp_ms)
        offsets = list(map(_varints.__getitem__, range(self.count, self.count + len(values))))
        known = _varints
        with_key = [_NULL if key is None else known[len(key)] + key for key in keys]
        with_value = [_NULL if value is None else known[len(value)] + value for value in values]
        fixed = len(before) + len(headers)
        lengths = map(int.__add__, map(int.__add__, map(len, offsets), map(len, with_key)), map(len, with_value))
        records = zip(
            [known[fixed + length] for length in lengths],
            repeat(before),
            offsets,
            with_key,
            with_value,
            repeat(headers),
            strict=False,  # what is repeated has no end
        )
        self.add(b"".join(chain.from_iterable(records)), len(values), timestamp_ms)

    def add_each(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        headers: Sequence[bytes],
        timestamps_ms: Sequence[int],
    ) -> None:
        """Each with headers and a time of its own."""
        known, base_ms = _varints, self.timestamp_ms
        befores = [b"\0" + known[each - base_ms] for each in timestamps_ms]
        offsets = list(map(known.__getitem__, range(self.count, self.count + len(values))))
        with_key = [_NULL if key is None else known[len(key)] + key for key in keys]
        with_value = [_NULL if value is None else known[len(value)] + value for value in values]
        parts = list(zip(befores, offsets, with_key, with_value, headers, strict=True))
        lengths = [known[sum(map(len, each))] for each in parts]
        encoded = b"".join(chain.from_iterable(chain.from_iterable(zip(zip(lengths, strict=True), parts, strict=True))))
        self.add(encoded, len(values), max(timestamps_ms))

    def add_alike(self, key: bytes | None, values: Sequence[bytes], headers: bytes, timestamp_ms: int) -> None:
        """A record for each value, with the same key, headers and time."""
        before = b"\0" + varint(timestamp_ms - self.timestamp_ms)
        key = _NULL if key is None else varint(len(key)) + key
        fixed = len(before) + len(key) + len(headers)
        begin, first, end = 0, self.count, self.count + len(values)
        while first < end:
            width, wider_from = next((at + 1, limit) for at, limit in enumerate(_WIDER_FROM) if first < limit)
            count = min(wider_from, end) - first
            some = values if count == len(values) else values[begin : begin + count]
            lengths = list(map(len, some))
            records = zip(
                map(_record_lengths(fixed + width).__getitem__, lengths),
                repeat(before),
                map(_varints.__getitem__, range(first, first + count)),
                map(_before_values(key).__getitem__, lengths),
                some,
                repeat(headers),
                strict=False,  # what is repeated has no end
            )
            self.add(b"".join(chain.from_iterable(records)), count, timestamp_ms)
            begin, first = begin + count, first + count

    def closed(self, codec: int, producer: tuple[int, int], sequence: int, transactional: bool) -> bytes:
        records, size = self._parts, self.size
        if codec:
            records = [compress(Codec(codec), b"".join(records))]
            size = HEADER_BYTES + len(records[0])
        header = bytearray(HEADER_BYTES)
        HEADER.pack_into(
            header, 0, 0, size - LENGTH_OVERHEAD_BYTES, -1, MAGIC, 0,
            codec | (TRANSACTIONAL_BIT if transactional else 0), self.count - 1, self.timestamp_ms, self.newest_ms,
            *producer, sequence, self.count,
        )  # fmt: skip
        return with_crc(header, records)
