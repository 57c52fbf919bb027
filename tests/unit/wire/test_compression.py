"""The codecs: what they write others read, what others write they read, and no bomb goes off."""

import random
import struct
import subprocess
import sys
import zlib

import cramjam
import pytest

from barnabas.wire.codec import ProtocolError
from barnabas.wire.compression import Codec, codec_of, compress, decompress, opened_max_bytes

MEGABYTE = 1 << 20
RNG = random.Random(5)
SAMPLES = {
    "empty": b"",
    "one byte": b"x",
    "text": b"one click after the other, " * 9000,
    "noise": RNG.randbytes(200_000),
    "both": RNG.randbytes(70_000) + bytes(70_000),
}
COMPRESSED = [codec for codec in Codec if codec is not Codec.NONE]


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("codec", list(Codec))
def test_there_and_back(codec: Codec, sample: str) -> None:
    data = SAMPLES[sample]
    for level in (None, 1, 9):
        packed = compress(codec, memoryview(bytearray(data)), level)
        assert decompress(codec, memoryview(bytearray(packed)), len(data)) == data
        if data:
            with pytest.raises(ProtocolError):
                decompress(codec, packed, len(data) - 1)


def test_gzip_is_everybodys_gzip() -> None:
    assert zlib.decompress(compress(Codec.GZIP, SAMPLES["text"]), 31) == SAMPLES["text"]
    members = zlib.compress(b"one ", 9, 31) + zlib.compress(b"two", 1, 31)
    assert decompress(Codec.GZIP, members, 100) == b"one two"


def test_snappy_is_written_in_xerials_chunks() -> None:
    packed = compress(Codec.SNAPPY, SAMPLES["both"])
    assert packed[:16] == b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    position, opened = 16, b""
    while position < len(packed):
        (length,) = struct.unpack_from(">i", packed, position)
        opened += bytes(cramjam.snappy.decompress_raw(packed[position + 4 : position + 4 + length]))
        position += 4 + length
    assert opened == SAMPLES["both"]


def test_raw_snappy_is_read_too() -> None:
    raw = bytes(cramjam.snappy.compress_raw(SAMPLES["text"]))
    assert decompress(Codec.SNAPPY, raw, MEGABYTE) == SAMPLES["text"]


def test_lz4_has_the_independent_blocks_that_java_needs_and_others_linked_ones_are_read() -> None:
    packed = compress(Codec.LZ4, SAMPLES["both"])
    assert packed[:4] == b"\x04\x22\x4d\x18"
    assert packed[4] & 0x20, "blocks depend on each other"
    assert bytes(cramjam.lz4.decompress(packed)) == SAMPLES["both"]
    linked = bytes(cramjam.lz4.compress(SAMPLES["text"]))
    assert not linked[4] & 0x20
    assert decompress(Codec.LZ4, linked, MEGABYTE) == SAMPLES["text"]


@pytest.mark.parametrize("codec", COMPRESSED)
def test_damaged_or_cut_data_is_refused(codec: Codec) -> None:
    packed = compress(codec, SAMPLES["text"])
    for bad in (packed[: len(packed) // 2], packed[:-3], b"", b"\x00\x01\x02", b"no such thing" * 3):
        with pytest.raises(ProtocolError):
            if decompress(codec, bad, MEGABYTE) != SAMPLES["text"]:
                raise ProtocolError("nothing, or something else, came out")


@pytest.mark.parametrize("chunk", [b"\x00\x00", b"\x00\x00\x00\x00", b"\xff\xff\xff\xff", b"\x00\x00\x00\x09abc"])
def test_xerial_chunks_that_cannot_be_are_refused(chunk: bytes) -> None:
    with pytest.raises(ProtocolError):
        decompress(Codec.SNAPPY, compress(Codec.SNAPPY, b"") + chunk, MEGABYTE)


def test_the_numbers_of_the_codecs() -> None:
    assert [codec_of(number) for number in range(5)] == list(Codec)
    with pytest.raises(ProtocolError):
        codec_of(5)


def test_how_far_a_batch_may_open() -> None:
    assert opened_max_bytes(100) == 16 * MEGABYTE  # a small batch of equal records is no bomb
    assert opened_max_bytes(MEGABYTE) == 64 * MEGABYTE
    assert opened_max_bytes(50 * MEGABYTE) == 100 * MEGABYTE


def bombs() -> dict[str, tuple[Codec, bytes]]:
    """Each opens to half a gigabyte or claims more."""
    zeros = bytes(16 * MEGABYTE)
    lz4_block = bytes(cramjam.lz4.compress_block(zeros[: 4 * MEGABYTE], store_size=False))
    snappy_block = bytes(cramjam.snappy.compress_raw(zeros[: MEGABYTE // 2]))

    def zstd_run(last: int) -> bytes:  # a block that says: 131,071 times this byte
        return (131_071 << 3 | 1 << 1 | last).to_bytes(3, "little") + b"a"

    return {
        "gzip": (Codec.GZIP, zlib.compress(zeros, 9, 31) * 32),
        "zstd": (Codec.ZSTD, bytes(cramjam.zstd.compress(zeros, 3)) * 32),
        "zstd with a window of 128 MB": (
            Codec.ZSTD,
            b"\x28\xb5\x2f\xfd\x00" + bytes((17 << 3,)) + zstd_run(0) * 4000 + zstd_run(1),
        ),
        "lz4": (
            Codec.LZ4,
            bytes.fromhex("04224d18607073") + (struct.pack("<I", len(lz4_block)) + lz4_block) * 128 + bytes(4),
        ),
        "snappy": (Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(zeros * 8))),
        "snappy in chunks": (
            Codec.SNAPPY,
            compress(Codec.SNAPPY, b"") + (struct.pack(">i", len(snappy_block)) + snappy_block) * 1024,
        ),
        "snappy that only claims": (Codec.SNAPPY, b"\xff\xff\xff\x7f" + b"\x00a" * 10),
    }


MEASURE = """
import resource, sys
from barnabas.wire.compression import Codec, ProtocolError, decompress
bomb = sys.stdin.buffer.read()
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
for limit in (1 << 20, 8 << 20):
    try:
        decompress(Codec(int(sys.argv[1])), bomb, limit)
        sys.exit("it opened")
    except ProtocolError:
        pass
print(peak() - before)
"""


@pytest.mark.parametrize("name", bombs())
def test_a_bomb_costs_no_more_memory_than_is_allowed(name: str) -> None:
    """Measured in a process of its own, for the libraries' memory is not Python's to count."""
    codec, bomb = bombs()[name]
    run = subprocess.run([sys.executable, "-c", MEASURE, str(int(codec))], input=bomb, capture_output=True, timeout=60)
    assert run.returncode == 0, run.stderr.decode()
    assert int(run.stdout) < 24 * 1024, f"{int(run.stdout)} KiB for a limit of 8 MiB"
