"""The small files beside a segment: offset index, time index, producer snapshot, checkpoints, properties.

With --verify an index is held against its segment: every entry of an offset index must point at a batch that ends at
that offset, and every entry of a time index at an offset that the segment has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from struct import Struct

from barnabas.cli.log.rows import CHECKPOINTS, Row, base_offset, damage
from barnabas.model.limits import CLI_SMALL_FILE_MAX_BYTES
from barnabas.storage.damage import Damaged
from barnabas.storage.disk import DISK
from barnabas.storage.walk import walk

_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")


def rows(path: Path, *, verify: bool) -> Iterator[Row]:
    size = path.stat().st_size
    if size > CLI_SMALL_FILE_MAX_BYTES:
        yield damage(0, f"{size:,} bytes are too many for such a file")
        return
    data = path.read_bytes()
    if path.suffix == ".index":
        yield from _offset_index(path, data, verify)
    elif path.suffix == ".timeindex":
        yield from _time_index(path, data, verify)
    elif path.suffix == ".snapshot":
        yield from _snapshot(data)
    elif path.name in CHECKPOINTS:
        yield from _checkpoint(path.name, data)
    else:
        yield from _properties(data)


def _offset_index(path: Path, data: bytes, verify: bool) -> Iterator[Row]:
    base = base_offset(path) or 0
    ends = _batch_ends(path.with_suffix(".log"), base) if verify else {}
    before = (-1, -1)
    for at in range(0, len(data) - len(data) % _OFFSET_ENTRY.size, _OFFSET_ENTRY.size):
        relative, position = _OFFSET_ENTRY.unpack_from(data, at)
        if not relative and not position:
            return  # Kafka's files are made large and filled up with zeros until they are closed; no entry is (0, 0)
        yield Row("entry", {"offset": base + relative, "position": position})
        if relative <= before[0] or position <= before[1]:
            yield damage(at, "the entries do not ascend")
        elif verify and ends.get(position) != base + relative:
            yield damage(at, f"no batch that ends at offset {base + relative} stands at position {position}")
        before = (relative, position)
    yield from _odd_end(data, _OFFSET_ENTRY.size)


def _time_index(path: Path, data: bytes, verify: bool) -> Iterator[Row]:
    base = base_offset(path) or 0
    ends = _batch_ends(path.with_suffix(".log"), base) if verify else {}
    last = max(ends.values(), default=-1)
    before = -1
    for at in range(0, len(data) - len(data) % _TIME_ENTRY.size, _TIME_ENTRY.size):
        timestamp, relative = _TIME_ENTRY.unpack_from(data, at)
        if not timestamp and not relative:
            return
        yield Row("entry", {"timestamp": timestamp, "offset": base + relative})
        if timestamp < before:
            yield damage(at, "the timestamps do not ascend")
        elif verify and base + relative > last:
            yield damage(at, f"the segment has no offset {base + relative}")
        before = timestamp
    yield from _odd_end(data, _TIME_ENTRY.size)


def _odd_end(data: bytes, entry_bytes: int) -> Iterator[Row]:
    if len(data) % entry_bytes:
        yield damage(len(data) - len(data) % entry_bytes, f"half an entry: entries are {entry_bytes} bytes")


def _batch_ends(segment: Path, base: int) -> dict[int, int]:
    """Position of each batch of the segment -> its last offset, as far as the segment can be walked."""
    if not segment.exists():
        return {}
    found: dict[int, int] = {}
    descriptor = os.open(segment, os.O_RDONLY)
    try:
        end = os.fstat(descriptor).st_size
        for position, _, _, last_offset in walk(DISK, descriptor, str(segment), 0, end, lowest_offset=base):
            found[position] = last_offset
    except Damaged:
        pass  # the dump of the segment itself tells
    finally:
        os.close(descriptor)
    return found


def _snapshot(data: bytes) -> Iterator[Row]:
    from barnabas.storage.snapshots import decode

    producers = decode(data)
    if producers is None:
        yield damage(0, "not a whole producer snapshot: the checksum or the length is wrong")
        return
    for producer in producers:
        yield Row("entry", producer._asdict())


def _checkpoint(name: str, data: bytes) -> Iterator[Row]:
    fields = ("epoch", "start_offset") if name.startswith("leader") else ("topic", "partition", "offset")
    lines = data.decode("utf-8", "replace").splitlines()
    if len(lines) < 2 or lines[0] != "0" or not lines[1].isdigit() or int(lines[1]) != len(lines) - 2:
        yield damage(0, "not a whole checkpoint: the first two lines are the version 0 and the number of entries")
        return
    for line in lines[2:]:
        values = line.split()
        if len(values) != len(fields):
            yield damage(data.find(line.encode()), f"{line!r} is not {' '.join(fields)}")
        else:
            yield Row("entry", {key: _number(value) for key, value in zip(fields, values, strict=True)})


def _properties(data: bytes) -> Iterator[Row]:
    for line in data.decode("utf-8", "replace").splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.replace(":", "=", 1).partition("=")
            yield Row("entry", {name.strip(): value.strip()})


def _number(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdigit() else text
