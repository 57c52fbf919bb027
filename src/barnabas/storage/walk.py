"""Walking a segment from batch to batch, as cheaply as the question allows.

`walk` hops over headers and looks at nothing else; it answers "where is this offset". `scan` reads every byte and
checks every CRC; recovery and verification use it. Both refuse a header that no batch can have (`Damaged`), because
after one nothing that follows can be found. A last batch that is cut is damage too: a log is written in whole
batches.
"""

from collections.abc import Iterator
from struct import Struct

from barnabas.storage.damage import Damage, Damaged
from barnabas.storage.disk import Disk
from barnabas.wire.batch import HEADER_BYTES, LENGTH_OVERHEAD_BYTES, MAGIC, BatchHeader, crc_matches, read_header

# base offset, batch length, magic, last offset delta: the four fields that lead from one batch to the next
_STEP = Struct(">qi4xb6xi")
WALK_BYTES = 16 * 1024  # a few index intervals of headers in one read
SPAN_MAX = 2**31  # a segment spans no more offsets than its index can express
SCAN_BYTES = 1024 * 1024  # sequential reading in pieces the page cache reads ahead anyway

Step = tuple[int, int, int, int]  # position, size, base offset, last offset


def walk(disk: Disk, fd: int, path: str, position: int, end: int, *, lowest_offset: int) -> Iterator[Step]:
    """Each batch that starts at or after `position`, a batch boundary, and ends at or before `end`."""
    buffer = b""
    start = stop = position
    expected = lowest_offset
    while position < end:
        if position + HEADER_BYTES > stop:
            start = position
            buffer = disk.pread(fd, min(WALK_BYTES, end - position), position)
            stop = start + len(buffer)
            if len(buffer) < HEADER_BYTES:
                raise Damaged(Damage(path, position, "a batch header is cut"))
        base_offset, length, magic, delta = _STEP.unpack_from(buffer, position - start)
        size = length + LENGTH_OVERHEAD_BYTES
        problem = header_problem(base_offset, size, magic, delta, end - position, expected)
        if problem:
            raise Damaged(Damage(path, position, problem))
        last_offset = base_offset + delta
        yield position, size, base_offset, last_offset
        expected = last_offset + 1
        position += size


def header_problem(base_offset: int, size: int, magic: int, delta: int, room: int, expected: int) -> str | None:
    """Why this cannot be the header of the batch that follows, or None."""
    if magic != MAGIC:
        return f"batch format {magic}, not {MAGIC}"
    if size < HEADER_BYTES:
        return f"a batch of {size} bytes"
    if size > room:
        return f"a batch of {size} bytes where {room} remain"
    if not expected <= base_offset < expected + SPAN_MAX:
        return f"offset {base_offset} after {expected - 1}"
    if delta < 0:
        return f"a last offset {-delta} below the first"
    return None


def scan(
    disk: Disk, fd: int, path: str, position: int, end: int, *, lowest_offset: int, check_crc: bool = True
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """As `walk`, but with the whole header, the bytes of the batch, and its CRC found right.

    The memoryview is good until the next step.
    """
    buffer = memoryview(b"")
    start = stop = position
    expected = lowest_offset
    while position < end:
        if position + HEADER_BYTES > stop:
            start = position
            buffer = memoryview(disk.pread(fd, min(SCAN_BYTES, end - position), position))
            stop = start + len(buffer)
            if len(buffer) < HEADER_BYTES:
                raise Damaged(Damage(path, position, "a batch header is cut"))
        header = read_header(buffer, position - start)
        size = header.size
        problem = header_problem(
            header.base_offset, size, header.magic, header.last_offset_delta, end - position, expected
        )
        if problem:
            raise Damaged(Damage(path, position, problem))
        if position + size > stop:
            start = position
            buffer = memoryview(disk.pread(fd, min(max(SCAN_BYTES, size), end - position), position))
            stop = start + len(buffer)
            if len(buffer) < size:
                raise Damaged(Damage(path, position, f"a batch of {size} bytes of which {len(buffer)} can be read"))
        at = position - start
        if check_crc and not crc_matches(buffer, at, size):
            raise Damaged(Damage(path, position, "the CRC does not match"))
        yield position, header, buffer[at : at + size]
        expected = header.last_offset + 1
        position += size
