"""Reads a log: the file that grows and those that rotation has made of it, each to its end, oldest first.

What happens to files, and what is done about it:

- renamed: it is still the same inode, and is read to its end under whatever name, by the open descriptor even if it is
  deleted or compressed in the meantime; the new file of the old name is read after it;
- copied and truncated: the rest is read from the copy, which is found by what it begins with and by the bytes before
  the place that was reached. Lost is what was written between the end of the copy and the truncation (logrotate's
  manual says so), and what was not read yet if the copy is compressed or deleted before it is found;
- gone while no worker ran: what was not read of it is lost, which is logged.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from barnabas.connect.connectors.logs.folders import Folders
from barnabas.connect.connectors.logs.logfiles import LogFiles, Parts
from barnabas.connect.connectors.logs.tail import Changed, Tail
from barnabas.connect.contract import Behind, Chunk, Position, Reader, Record, together

SCAN_S = 1.0
CHUNK_LINES_MAX = 2000  # with more, Python's collector walks the records of a chunk several times
CHUNK_LINES_ENOUGH = 1000  # not worth a further block, which would have to be joined to the first
POLL_S = 0.05

MakeRecords = Callable[[list[bytes], str], Sequence[Record]]


class LogReader(Reader):
    def __init__(
        self, folders: Folders, split: str, position: Position | None, make: MakeRecords, parts: Parts
    ) -> None:
        """`make` makes records of lines and the path they were read from."""
        self._files = LogFiles(folders, split, position, parts)
        self._make = make
        self._queue: list[tuple[Tail, int]] = []
        self._next_scan = 0.0

    def read(self, most: int, wait_s: float) -> Chunk | None:
        deadline = time.monotonic() + wait_s
        while True:
            records = self._collect(min(most, CHUNK_LINES_MAX))
            left = deadline - time.monotonic()
            if records or (self._files.moved and left <= 0):
                self._files.moved = False
                return Chunk(records, self._files.position())
            if left <= 0:
                return None
            time.sleep(min(POLL_S, left))

    def behind(self) -> Behind:
        return Behind(bytes=self._files.unread())

    def close(self) -> None:
        self._queue = []
        self._files.close()

    def _collect(self, most: int) -> Sequence[Record]:
        due = time.monotonic() >= self._next_scan or self._files.is_renamed()
        parts = self._scan() if due else []
        count = sum(map(len, parts))
        if not self._queue:
            self._queue = self._due()
        while self._queue and count < min(most, CHUNK_LINES_ENOUGH):
            tail, upto = self._queue[0]
            try:
                lines = tail.take(most - count, upto)
            except Changed:
                if parts:  # they are of other files, and go out first
                    break
                self._files.orphan(tail.entry)
                return together(self._scan())
            except OSError as problem:
                raise self._files.unreadable(tail.entry.name, problem) from None
            if lines:
                parts.append(self._make(lines, self._files.path(tail.entry.name)))
                count += len(lines)
            else:
                self._queue.pop(0)
        if parts and not self._queue and self._files.crowded:
            self._next_scan = 0.0
        return together(parts)

    def _scan(self) -> list[Sequence[Record]]:
        """Looks at the folder. What was read of files that were truncated, and has no copy, is all that is left."""
        self._queue = []
        self._files.scan()
        parts: list[Sequence[Record]] = []
        for orphan in self._files.orphans:
            if orphan.tail is not None and (rest := orphan.tail.rest()):
                parts.append(self._make(rest, self._files.path(orphan.entry.name)))
        self._files.drop_orphans()
        self._next_scan = time.monotonic() + SCAN_S
        return parts

    def _due(self) -> list[tuple[Tail, int]]:
        """Files with something to read, in the order in which they were written: what was rotated was written before
        the file that has its name now. Their sizes are asked for after the listing, so that a file that was rotated
        before the listing is read to its end before the next."""
        due = []
        for tail in self._files.tails.values():
            status = os.fstat(tail.descriptor)
            tail.deleted = status.st_nlink == 0
            if tail.is_due(status.st_size):
                due.append((status.st_mtime_ns, tail.entry.name == self._files.active, tail, status.st_size))
        due.sort(key=lambda each: each[:2])
        return [(tail, size) for _, _, tail, size in due]
