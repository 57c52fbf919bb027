"""The five codecs of a record batch, with a ceiling on what they may open to.

Refuses: data that opens to more than `max_bytes` (a bomb), data that is cut or damaged. Memory is bounded before it is
spent: output goes into a buffer that starts small and grows to at most `max_bytes`, or, for snappy, is checked against
what the data claims and against the best ratio the format can reach.

Formats, as Java, librdkafka and the Python clients read them: gzip members; snappy in xerial's chunked framing (read
also raw, as librdkafka once wrote it); the LZ4 frame with independent blocks, the only kind Java reads; zstd frames.
"""

from collections.abc import Callable
from enum import IntEnum
from struct import Struct

import cramjam

from barnabas.model.limits import DECOMPRESS_MAX_BYTES, DECOMPRESS_MAX_RATIO, DECOMPRESS_SMALL_BYTES
from barnabas.wire.errors import ProtocolError

Buffer = bytes | bytearray | memoryview


class OpensTooLarge(ProtocolError):
    """The data opens to more than it may."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"opens to more than {max_bytes} bytes")


class Codec(IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_CODECS = tuple(Codec)


def codec_of(number: int) -> Codec:
    """The codec with this number; 5, 6 and 7 fit the attribute bits but mean nothing."""
    if number >= len(_CODECS):
        raise ProtocolError(f"unknown compression codec {number}")
    return _CODECS[number]


def opened_max_bytes(compressed_bytes: int) -> int:
    """How much a batch with so many compressed bytes may open to."""
    return min(DECOMPRESS_MAX_BYTES, max(DECOMPRESS_SMALL_BYTES, compressed_bytes * DECOMPRESS_MAX_RATIO))


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    """`data` in this codec; `level` as in Kafka's compression.<codec>.level, None for its default."""
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return bytes(cramjam.gzip.compress(data, level=6 if level is None or level < 0 else level))
        case Codec.SNAPPY:
            return _compress_snappy(memoryview(data))
        case Codec.LZ4:
            return _compress_lz4(memoryview(data), level)
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=3 if level is None else level))


def decompress(codec: Codec, data: Buffer, max_bytes: int) -> bytes:
    """What `data` opens to; raises ProtocolError past `max_bytes` and for damaged data."""
    match codec:
        case Codec.NONE:
            if len(data) > max_bytes:
                raise ProtocolError(f"{len(data)} bytes where {max_bytes} are allowed")
            return bytes(data)
        case Codec.GZIP:
            return _decompress_growing(cramjam.gzip.decompress_into, data, max_bytes)
        case Codec.SNAPPY:
            return _decompress_snappy(memoryview(data), max_bytes)
        case Codec.LZ4:
            return _decompress_growing(cramjam.lz4.decompress_into, data, max_bytes)
        case Codec.ZSTD:
            return _decompress_growing(cramjam.zstd.decompress_into, data, max_bytes)


_FIRST_OUTPUT_BYTES = 64 * 1024
_FIRST_GUESS = 8  # times the compressed size: text shrinks less than that, and what is not written to costs nothing
_GROWTH = 4  # each retry opens the data again, so at most a third is opened twice
_OUTPUT_FULL = "failed to write whole buffer"


def _decompress_growing(into: Callable[[Buffer, bytearray], int], data: Buffer, max_bytes: int) -> bytes:
    size = min(max_bytes, max(_FIRST_OUTPUT_BYTES, _FIRST_GUESS * len(data)))
    while True:
        output = bytearray(size)
        try:
            used = into(data, output)
        except cramjam.DecompressionError as problem:
            if _OUTPUT_FULL not in str(problem):
                raise ProtocolError(f"cannot decompress: {problem}") from None
            if size >= max_bytes:
                raise OpensTooLarge(max_bytes) from None
            size = min(max_bytes, size * _GROWTH)
        else:
            return bytes(memoryview(output)[:used])


# --- snappy ---------------------------------------------------------------------------------------------------------

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + bytes((0, 0, 0, 1, 0, 0, 0, 1))  # version 1, readable by version 1
_XERIAL_CHUNK_BYTES = 32 * 1024  # what the Java library writes
_SNAPPY_MAX_RATIO = 22  # the densest element is three bytes that copy 64
_INT32 = Struct(">i")


def _compress_snappy(data: memoryview) -> bytes:
    pieces = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_CHUNK_BYTES):
        chunk = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_CHUNK_BYTES]))
        pieces.append(_INT32.pack(len(chunk)))
        pieces.append(chunk)
    return b"".join(pieces)


def _decompress_snappy(data: memoryview, max_bytes: int) -> bytes:
    if data[:8] != _XERIAL_MAGIC:
        return _decompress_snappy_block(data, max_bytes)
    pieces = []
    remaining = max_bytes
    position = len(_XERIAL_HEADER)
    while position < len(data):
        if len(data) - position < 4:
            raise ProtocolError("snappy: a chunk length is cut")
        length = _INT32.unpack_from(data, position)[0]
        position += 4
        if length <= 0 or length > len(data) - position:
            raise ProtocolError(f"snappy: a chunk of {length} bytes where {len(data) - position} remain")
        piece = _decompress_snappy_block(data[position : position + length], remaining)
        pieces.append(piece)
        remaining -= len(piece)
        position += length
    return b"".join(pieces)


def _decompress_snappy_block(block: memoryview, max_bytes: int) -> bytes:
    try:
        claimed = cramjam.snappy.decompress_raw_len(block)
        if claimed > max_bytes:
            raise OpensTooLarge(max_bytes)
        if claimed > len(block) * _SNAPPY_MAX_RATIO:
            raise ProtocolError(f"snappy: {len(block)} bytes cannot open to {claimed}")
        output = bytearray(claimed)
        used = cramjam.snappy.decompress_raw_into(block, output) if claimed else 0
    except cramjam.DecompressionError as problem:
        raise ProtocolError(f"cannot decompress: {problem}") from None
    return bytes(memoryview(output)[:used])


# --- LZ4 ------------------------------------------------------------------------------------------------------------

_LZ4_HEADER = bytes.fromhex("04224d18604082")  # version 1, independent blocks of at most 64 KiB, header checksum
_LZ4_BLOCK_BYTES = 64 * 1024
_LZ4_STORED = 0x80000000  # the block did not shrink and stands as it is
_LZ4_END = bytes(4)
_UINT32_LITTLE = Struct("<I")


def _compress_lz4(data: memoryview, level: int | None) -> bytes:
    """Our own frame around the library's blocks: its frames link each block to the last, which Java refuses."""
    mode = {"mode": "fast"} if level is None else {"mode": "high_compression", "compression": level}
    pieces = [_LZ4_HEADER]
    for start in range(0, len(data), _LZ4_BLOCK_BYTES):
        plain = data[start : start + _LZ4_BLOCK_BYTES]
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False, **mode))
        if len(block) < len(plain):
            pieces.append(_UINT32_LITTLE.pack(len(block)))
            pieces.append(block)
        else:
            pieces.append(_UINT32_LITTLE.pack(len(plain) | _LZ4_STORED))
            pieces.append(bytes(plain))
    pieces.append(_LZ4_END)
    return b"".join(pieces)
