"""Bytes of a file as lines.

Lines are cut by one call for a block, and nothing is done for a single line here: at 100 MB/s there is a microsecond
for each. A line that is too long is cut: only its beginning is kept in memory, however long it becomes.
"""

from __future__ import annotations

_WIDE = {"utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}


def is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class Cutter:
    """Takes blocks in order, gives the lines that are complete. Lines of UTF-16 and UTF-32 come out as UTF-8."""

    def __init__(self, encoding: str, line_bytes: int) -> None:
        self._encoding, self._most = encoding, line_bytes
        self._wide = _WIDE.get(encoding, 1)
        self._newline = "\n".encode(encoding) if self._wide > 1 else b"\n"
        self._partial = b""  # of a line whose end has not come
        self._dropped = 0  # bytes of that line that are not kept
        self._half = b""  # of a character

    def __bool__(self) -> bool:
        """Whether a line is not complete."""
        return bool(self._partial or self._half)

    def cut(self, block: bytes) -> tuple[list[bytes], list[int] | None]:
        """Lines without their end, and the bytes that each takes in the file; None: itself and a newline."""
        if self._wide > 1:
            block = self._half + block
            whole = len(block) // self._wide * self._wide
            block, self._half = block[:whole], block[whole:]
        if self._dropped:
            return self._end_long(block)
        data = self._partial + block
        lines = data.split(b"\n") if self._wide == 1 else self._split(data)
        self._partial = lines.pop()
        if len(self._partial) > self._most:
            keep = self._most // self._wide * self._wide
            self._partial, self._dropped = self._partial[:keep], len(self._partial) - keep
        if self._wide == 1 and (len(data) <= self._most or not lines or len(max(lines, key=len)) <= self._most):
            return lines, None
        return [self._line(line, len(line)) for line in lines], [len(line) + len(self._newline) for line in lines]

    def finish(self) -> tuple[list[bytes], list[int]]:
        """The line that is not complete, as it is."""
        length = len(self._partial) + self._dropped + len(self._half)
        line = self._line(self._partial + self._half, length)
        self._partial, self._dropped, self._half = b"", 0, b""
        return ([line], [length]) if length else ([], [])

    def _end_long(self, block: bytes) -> tuple[list[bytes], list[int] | None]:
        end = self._find(block, 0)
        if end < 0:
            self._dropped += len(block)
            return [], None
        length = len(self._partial) + self._dropped + end
        line, size = self._line(self._partial, length), length + len(self._newline)
        self._partial, self._dropped = b"", 0
        lines, sizes = self.cut(block[end + len(self._newline) :])
        return [line, *lines], [size, *(sizes or (len(each) + 1 for each in lines))]

    def _line(self, line: bytes, length: int) -> bytes:
        """As it goes out; `length` is that of the whole line."""
        kept = line[: self._most]
        if self._wide > 1:
            kept = kept.decode(self._encoding, "replace").encode()
        return kept if length <= self._most else kept + b" [cut: %d bytes more]" % (length - self._most)

    def _split(self, data: bytes) -> list[bytes]:
        lines, start = [], 0
        while (end := self._find(data, start)) >= 0:
            lines.append(data[start:end])
            start = end + len(self._newline)
        lines.append(data[start:])
        return lines

    def _find(self, data: bytes, start: int) -> int:
        end = data.find(self._newline, start)
        while end >= 0 and end % self._wide:  # the second half of one character and the first of the next
            end = data.find(self._newline, end + 1)
        return end
