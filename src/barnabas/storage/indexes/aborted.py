"""`<base offset>.txnindex`: which transactions of a log were aborted, for a read_committed reader to leave out.

An entry is written when the abort marker is. The entries of a whole log are kept in memory, four numbers each, in the
order of their markers; the files (Kafka's format) are read when the log is opened. A file is named after the segment
that was active when its first entry came, and goes when everything in it lies before the start of the log.

A fetch asks for the few that touch its slice. They end at or after its start, which bisection finds, but a transaction
that ends much later may have begun before: so the smallest first offset of each block of rows is kept, and blocks in
which all began behind the slice are passed over. A million aborted transactions cost 4,000 comparisons that way. A
slice of 50 MiB may hold 350,000 of them, so a fetch ends its slice where its answer would name too many (`bound`).
"""

import sys
from array import array
from bisect import bisect_left
from itertools import pairwise
from operator import lt
from struct import Struct
from typing import NamedTuple

from barnabas.storage.disk import DISK, Disk

ENTRY = Struct(">hqqqq")  # version, producer id, first offset, last offset, last stable offset
_VERSION = 0
TRANSACTION_INDEX = ".txnindex"
_BLOCK_ROWS = 256
_Columns = tuple["array[int]", "array[int]", "array[int]"]  # producer ids, first offsets, last offsets


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int  # of the marker
    last_stable_offset: int


class AbortedTransactions:
    __slots__ = ("_columns", "_disk", "_files", "_folder", "_log_start_offset")

    def __init__(self, folder: str, *, disk: Disk = DISK) -> None:
        self._disk = disk
        self._folder = folder
        # Producer ids, first offsets, the smallest first offset of each block, last offsets. A thread may read while
        # the loop writes, so a row is there when its last offset is, and rows go by new columns, never out of old ones.
        self._columns = (array("q"), array("q"), array("q"), array("q"))
        self._files: dict[str, int] = {}  # path: the last offset in it
        self._log_start_offset = 0

    def load(self, names: dict[str, int], end_offset: int) -> None:
        """Read the files; entries from `end_offset` on are not trusted (the owner replays them) and are cut off.

        Their names do not always say their order: what a recovery replayed is in the file of the segment that was
        active then, and stays there when the log is cut to before that segment and goes on in an earlier one."""
        parts: list[_Columns] = []
        for name in sorted(name for name in names if name.endswith(TRANSACTION_INDEX)):
            path = f"{self._folder}/{name}"
            data = self._disk.read_whole(path) or b""
            columns = _columns_in(data)
            good, part = _before(columns, end_offset) if columns else _entries_before(data, end_offset)
            if part[2]:
                self._files[path] = part[2][-1]
                parts.append(part)
            if good * ENTRY.size < names[name]:
                self._cut(path, good * ENTRY.size)
        if any(after[2][0] <= before[2][-1] for before, after in pairwise(parts)):
            parts = [_merged(parts)]
        for part in parts:
            self._extend(*part)

    def add(self, entry: AbortedTransaction, segment_base_offset: int) -> str:
        """One more, behind all others; gives the path that now needs a flush."""
        assert entry.first_offset <= entry.last_offset and entry.last_offset > self._newest(), entry
        path = f"{self._folder}/{segment_base_offset:020d}{TRANSACTION_INDEX}"
        file = self._disk.open(path, write=True, create=True)
        data = ENTRY.pack(_VERSION, *entry)
        size = self._disk.size(path) if path in self._files else 0
        self._disk.write_all(file.fd, data, size - size % ENTRY.size)  # over what a full disk left of an entry
        self._files[path] = entry.last_offset
        self._remember(entry.producer_id, entry.first_offset, entry.last_offset)
        return path

    def bound(self, start_offset: int, end_offset: int, most: int) -> int:
        """An offset, at most `end_offset`, before which a reader from `start_offset` on meets no more than `most`
        markers. Those transactions and the ones that are open there are all that touch what it reads."""
        lasts = self._columns[3]
        row = bisect_left(lasts, max(start_offset, self._log_start_offset)) + most
        return min(end_offset, lasts[row]) if row < len(lasts) else end_offset

    def ended_between(self, start_offset: int, end_offset: int) -> int:
        """How many have their marker there."""
        lasts = self._columns[3]
        return bisect_left(lasts, end_offset) - bisect_left(lasts, start_offset)

    def between(self, start_offset: int, end_offset: int) -> list[tuple[int, int]]:
        """(producer id, first offset) of every one that touches the offsets from start to before end."""
        producers, firsts, block_firsts, lasts = self._columns
        row, count = bisect_left(lasts, max(start_offset, self._log_start_offset)), len(lasts)
        found: list[tuple[int, int]] = []
        for block in range(row // _BLOCK_ROWS, -(-count // _BLOCK_ROWS)):
            if block_firsts[block] < end_offset:
                rows = range(max(row, block * _BLOCK_ROWS), min(count, (block + 1) * _BLOCK_ROWS))
                found += [(producers[row], firsts[row]) for row in rows if firsts[row] < end_offset]
        return found

    def forget_before(self, log_start_offset: int) -> None:
        """What ended before the start of the log no longer matters: whole blocks of it go."""
        producers, firsts, block_firsts, lasts = self._columns
        self._log_start_offset = log_start_offset
        gone = bisect_left(lasts, log_start_offset)
        if not gone:
            return
        blocks = gone // _BLOCK_ROWS if gone < len(lasts) else len(block_firsts)
        if blocks:
            rows = blocks * _BLOCK_ROWS
            self._columns = (producers[rows:], firsts[rows:], block_firsts[blocks:], lasts[rows:])
        for path in [path for path, last in self._files.items() if last < log_start_offset]:
            self._disk.unlink(path)
            del self._files[path]

    def truncate_to(self, end_offset: int) -> list[str]:
        """The log ends there now, and markers from there on are gone; gives the paths that need a flush."""
        producers, firsts, block_firsts, lasts = self._columns
        rows = bisect_left(lasts, end_offset)
        if rows == len(lasts):
            return []
        whole = rows // _BLOCK_ROWS
        block_firsts = block_firsts[:whole]
        if rows % _BLOCK_ROWS:
            block_firsts.append(min(firsts[whole * _BLOCK_ROWS : rows]))
        self._columns = (producers[:rows], firsts[:rows], block_firsts, lasts[:rows])
        # All of them: a power loss may have left a file whose entries are in another one too.
        paths = [f"{self._folder}/{name}" for name in self._disk.scan(self._folder) if name.endswith(TRANSACTION_INDEX)]
        return [path for path in paths if self._truncate_file(path, end_offset)]

    def _truncate_file(self, path: str, end_offset: int) -> bool:
        """By bisection in the file: entries stand in the order of their markers, and there may be a million."""
        file = self._disk.open(path, write=True)

        def last_offset(entry: int) -> int:
            return int(ENTRY.unpack(self._disk.pread(file.fd, ENTRY.size, entry * ENTRY.size))[3])

        count = self._disk.size(path) // ENTRY.size
        kept = bisect_left(range(count), end_offset, key=last_offset)
        if kept == count:
            return False
        if kept:
            self._disk.truncate(file.fd, kept * ENTRY.size)
            self._files[path] = last_offset(kept - 1)
        else:
            self._disk.unlink(path)
            self._files.pop(path, None)
        return True

    def __len__(self) -> int:
        return len(self._columns[3])

    def _newest(self) -> int:
        lasts = self._columns[3]
        return lasts[-1] if lasts else -1

    def _extend(self, producer_ids: "array[int]", first_offsets: "array[int]", last_offsets: "array[int]") -> None:
        producers, firsts, block_firsts, lasts = self._columns
        at = -len(firsts) % _BLOCK_ROWS  # what the last block has room for
        if at:
            block_firsts[-1] = min(block_firsts[-1], *first_offsets[:at])
        block_firsts.extend(
            min(first_offsets[row : row + _BLOCK_ROWS]) for row in range(at, len(last_offsets), _BLOCK_ROWS)
        )
        producers.extend(producer_ids)
        firsts.extend(first_offsets)
        lasts.extend(last_offsets)

    def _remember(self, producer_id: int, first_offset: int, last_offset: int) -> None:
        producers, firsts, block_firsts, lasts = self._columns
        if not len(firsts) % _BLOCK_ROWS:
            block_firsts.append(first_offset)
        elif first_offset < block_firsts[-1]:
            block_firsts[-1] = first_offset
        producers.append(producer_id)
        firsts.append(first_offset)
        lasts.append(last_offset)

    def _cut(self, path: str, size: int) -> None:
        if size:
            file = self._disk.open(path, write=True)
            self._disk.truncate(file.fd, size)
            self._disk.sync(file.fd, path)  # else a power loss brings back entries of a log that went another way
        else:
            self._disk.unlink(path)


def _before(columns: _Columns, end_offset: int) -> tuple[int, _Columns]:
    """How many entries are before `end_offset`, and those."""
    producers, firsts, lasts = columns
    good = bisect_left(lasts, end_offset)
    return good, (producers[:good], firsts[:good], lasts[:good])


def _entries_before(data: bytes, end_offset: int) -> tuple[int, _Columns]:
    """The same, entry by entry, of a file that is not in order: what is not behind all before it is left out."""
    producers, firsts, lasts = array("q"), array("q"), array("q")
    good = 0
    for version, producer_id, first, last, _ in ENTRY.iter_unpack(data[: len(data) - len(data) % ENTRY.size]):
        if version != _VERSION or last >= end_offset:
            break
        good += 1
        if not lasts or last > lasts[-1]:
            producers.append(producer_id)
            firsts.append(first)
            lasts.append(last)
    return good, (producers, firsts, lasts)


def _merged(parts: list[_Columns]) -> _Columns:
    """In the order of their markers, each once: one that was cut from a file may be in another one too."""
    rows: dict[int, tuple[int, int]] = {}
    for producers, firsts, lasts in parts:
        for producer_id, first, last in zip(producers, firsts, lasts, strict=True):
            rows.setdefault(last, (producer_id, first))
    lasts = array("q", sorted(rows))
    return array("q", (rows[last][0] for last in lasts)), array("q", (rows[last][1] for last in lasts)), lasts


def _columns_in(data: bytes) -> _Columns | None:
    """Producer ids, first and last offsets of a file; None when it is not in order. Whole columns at a time: a
    partition is opened on the thread of the loop, and there may be a million entries."""
    count = len(data) // ENTRY.size
    end = count * ENTRY.size
    producers, firsts, lasts = (_column_at(data, position, count) for position in (2, 10, 18))
    if any(data[0 : end : ENTRY.size]) or any(data[1 : end : ENTRY.size]) or not all(map(lt, lasts, lasts[1:])):
        return None
    return producers, firsts, lasts


def _column_at(data: bytes, position: int, count: int) -> "array[int]":
    """The numbers of 8 bytes that stand at this position of each entry."""
    column = bytearray(8 * count)
    end = count * ENTRY.size
    for byte in range(8):
        column[byte if sys.byteorder == "big" else 7 - byte :: 8] = data[position + byte : end : ENTRY.size]
    return array("q", bytes(column))
