"""Messages of syslog in a stream of TCP (RFC 6587): by a count before each, or each on a line of its own."""

from __future__ import annotations

import re

from barnabas.connect.connectors.logs.cutter import Cutter

_COUNTED = re.compile(rb"[1-9]\d{0,8} <")
_PERHAPS_COUNTED = re.compile(rb"[1-9]\d{0,8} ?")
_COUNT = re.compile(rb"([1-9]\d{0,8}) ")
_COUNT_BYTES_MAX = 11


class Frames:
    def __init__(self, message_bytes: int) -> None:
        self._most = message_bytes
        self._lines: Cutter | None = None
        self.broken = False  # a count is no number: the stream cannot be read on
        self._counted = False
        self._data = b""
        self._kept = b""
        self._length = self._left = 0  # of a message, and of what has not come of it

    def add(self, data: bytes) -> list[bytes]:
        if self._lines is not None:
            return [line.rstrip(b"\r\0") for line in self._lines.cut(data)[0] if line.strip(b"\r\0")]
        self._data += data
        if not self._counted:
            if _PERHAPS_COUNTED.fullmatch(self._data):
                return []
            self._counted = _COUNTED.match(self._data) is not None
            if not self._counted:
                self._lines = Cutter("utf-8", self._most)
                data, self._data = self._data, b""
                return self.add(data)
        return self._by_count()

    def finish(self) -> list[bytes]:
        """What a sender that has closed left without an end."""
        if self._lines is None:
            return [self._data] if self._data and not self._counted else []
        return [line.rstrip(b"\r\0") for line in self._lines.finish()[0]]

    def _by_count(self) -> list[bytes]:
        messages = []
        data, at = self._data, 0
        while at < len(data):
            if not self._left:
                count = _COUNT.match(data, at)
                if count is None:
                    if len(data) - at >= _COUNT_BYTES_MAX or not data[at:].isdigit():
                        self.broken = True
                    break
                self._left, at = int(count[1]), count.end()
                self._kept, self._length = b"", int(count[1])
            part = data[at : at + self._left]
            at, self._left = at + len(part), self._left - len(part)
            self._kept += part[: self._most - len(self._kept)]
            if not self._left:
                cut = self._length - len(self._kept)
                messages.append(self._kept.rstrip(b"\n") + (b" [cut: %d bytes more]" % cut if cut else b""))
        self._data = data[at:]
        return messages
