"""One file, read in blocks from where it was left, with a look at each block whether it is still the same file."""

from __future__ import annotations

import os
import time

from barnabas.connect.connectors.logs.cutter import Cutter
from barnabas.connect.connectors.logs.identity import BEFORE_BYTES, HEAD_BYTES, Entry, fingerprint_of
from barnabas.connect.connectors.logs.multiline import Joiner

BLOCK_BYTES = 384 * 1024


class Changed(Exception):
    """The file is not what it was: truncated, perhaps written anew."""


class Tail:
    """Reads one file from where its entry says. `take` moves the entry."""

    def __init__(self, descriptor: int, entry: Entry, cutter: Cutter, joiner: Joiner | None, line_s: float) -> None:
        """`line_s` is how long a line may be without its end."""
        self.descriptor, self.entry = descriptor, entry
        self.deleted = False
        self._cutter, self._joiner, self._line_s = cutter, joiner, line_s
        self._event_s = joiner.timeout_s if joiner is not None else 0.0
        self._lines: list[bytes] = []
        self._sizes: list[int] | None = None  # what each line takes in the file; None: itself and a newline
        self._next = 0
        self._grew = time.monotonic()
        if entry.offset == 0:
            entry.offset = self._behind_hole()
        self._read_to = entry.offset
        self._block = os.pread(descriptor, entry.before, entry.offset - entry.before)  # what ends at _read_to

    def _behind_hole(self) -> int:
        """A file that was truncated under a writer that does not append begins with a hole as long as it was."""
        if os.pread(self.descriptor, HEAD_BYTES, 0).strip(b"\0"):
            return 0
        try:
            return os.lseek(self.descriptor, 0, os.SEEK_DATA)
        except OSError:  # no data, or a file system that does not know
            return 0

    def close(self) -> None:
        os.close(self.descriptor)

    def size(self) -> int:
        return os.fstat(self.descriptor).st_size

    def idle_s(self) -> float:
        return time.monotonic() - self._grew

    def is_due(self, size: int) -> bool:
        """Whether `take` may give something, for a file of this size."""
        return size != self._read_to or self._next < len(self._lines) or self._is_overdue()

    def is_done(self) -> bool:
        """Everything that was read has been given."""
        return self._next >= len(self._lines) and not self._cutter and not self._joiner

    def rest(self) -> list[bytes]:
        """The lines that were read and not given yet, of a file that is no more."""
        return self._lines[self._next :]

    def had(self, offset: int, last: bytes) -> bool:
        """Whether what was read had these bytes right before `offset`, as far as it is still in memory."""
        stop = len(self._block) - (self._read_to - offset)
        return stop < len(last) or self._block[stop - len(last) : stop] == last

    def take(self, most: int, upto: int) -> list[bytes]:
        """Up to `most` lines, or events, reading up to about `upto`. Raises Changed."""
        while self._next >= len(self._lines):
            if (self._read_to < upto or self.size() < self._read_to) and self._fill():
                continue
            if not self._is_overdue():
                return []
            self._end_waiting()
        begin, end = self._next, min(self._next + most, len(self._lines))
        lines = self._lines[begin:end]
        taken = sum(map(len, lines)) + len(lines) if self._sizes is None else sum(self._sizes[begin:end])
        self._next = end
        offset = self.entry.offset + taken
        stop = len(self._block) - (self._read_to - offset)
        self.entry.left(offset, self._block[max(0, stop - BEFORE_BYTES) : max(0, stop)])
        return lines

    def _fill(self) -> bool:
        """Reads and cuts one block. False: there is nothing more."""
        before = self._block[-BEFORE_BYTES:]
        there = os.pread(self.descriptor, len(before), self._read_to - len(before))
        block = os.pread(self.descriptor, BLOCK_BYTES, self._read_to)
        # Looked at after the block was read: had the file been truncated before that, it would show here.
        head = os.pread(self.descriptor, HEAD_BYTES, 0)
        size = self.size()
        if (
            there != before
            or fingerprint_of(head) != self.entry.identity.fingerprint
            or size < self._read_to + len(block)
        ):
            raise Changed
        if not block:
            return False
        self._block = block if len(block) >= BEFORE_BYTES else before + block
        self._read_to += len(block)
        self._grew = time.monotonic()
        self._have(*self._cutter.cut(block))
        return True

    def _have(self, lines: list[bytes], sizes: list[int] | None) -> None:
        if self._joiner is not None:
            lines, sizes = self._joiner.add(lines, sizes or [len(line) + 1 for line in lines])
        self._lines, self._sizes, self._next = lines, sizes, 0

    def _is_overdue(self) -> bool:
        """Something waits for more, and has waited for long enough: nobody goes on with a deleted file."""
        if self._cutter:
            return self.deleted or self.idle_s() >= self._line_s
        return bool(self._joiner) and (self.deleted or self.idle_s() >= self._event_s)

    def _end_waiting(self) -> None:
        if self._cutter:
            self._have(*self._cutter.finish())
        if self._joiner is not None:
            events, sizes = self._joiner.flush()
            assert self._sizes is not None or not self._lines
            self._lines, self._sizes = self._lines[self._next :] + events, (self._sizes or [])[self._next :] + sizes
            self._next = 0
