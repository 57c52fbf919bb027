"""Frames of STOMP 1.2: a command, headers, a body that may have any bytes in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

HEAD_BYTES_MAX = 256 * 1024

_ESCAPES = {"\\": "\\\\", "\r": "\\r", "\n": "\\n", ":": "\\c"}
_ESCAPED = re.compile(r"[\\\r\n:]")
_UNESCAPES = {"\\\\": "\\", "\\r": "\r", "\\n": "\n", "\\c": ":"}
_UNESCAPED = re.compile(r"\\.?", re.DOTALL)


class BadFrame(Exception):
    """What came is no STOMP."""


@dataclass(slots=True)
class Frame:
    command: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    dropped: int = 0  # bytes of a body that was too long; the body is empty then


def encode(command: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """With the length of the body only if the headers have it: brokers make a message of text of one without."""
    plain = command == "CONNECT"  # as STOMP 1.0 had it
    lines = [command]
    for name, value in headers.items():
        lines.append(f"{name}:{value}" if plain else f"{_escape(name)}:{_escape(value)}")
    return ("\n".join(lines) + "\n\n").encode(errors="replace") + body + b"\0"


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], text)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _UNESCAPED.sub(lambda found: _UNESCAPES.get(found[0], found[0]), text)


class Decoder:
    """Bytes in any cut, frames out. What is kept is at most a head and a body of `body_bytes`; of a longer body nothing
    is, and the frame says so."""

    def __init__(self, body_bytes: int) -> None:
        self._most = body_bytes
        self._data = bytearray()
        self._frame: Frame | None = None  # its body has not come yet
        self._left: int | None = None  # bytes of it that have not come; None: it ends with a null
        self._searched = 0

    def add(self, data: bytes) -> list[Frame]:
        """Raises BadFrame."""
        self._data += data
        frames = []
        while (frame := self._next()) is not None:
            frames.append(frame)
        return frames

    def _next(self) -> Frame | None:
        if self._frame is None and not self._read_head():
            return None
        assert self._frame is not None
        done = self._read_counted() if self._left is not None else self._read_to_null()
        if not done:
            return None
        frame, self._frame, self._left = self._frame, None, None
        return frame

    def _read_head(self) -> bool:
        data = self._data
        start = 0
        while start < len(data) and data[start] in b"\r\n":  # heart-beats
            start += 1
        if start:
            del data[:start]
        end = data.find(b"\n\n")
        other = data.find(b"\n\r\n")
        length = 2
        if other >= 0 and (end < 0 or other < end):
            end, length = other, 3
        if end < 0:
            if len(data) > HEAD_BYTES_MAX or (len(data) > 20 and b"\n" not in data[:20]):
                raise BadFrame("no command of STOMP in what came")
            return False
        if end > HEAD_BYTES_MAX:
            raise BadFrame(f"headers of {end} bytes")
        lines = bytes(data[:end]).decode(errors="replace").split("\n")
        del data[: end + length]
        command = lines[0].rstrip("\r")
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, colon, value = line.rstrip("\r").partition(":")
            if not colon:
                raise BadFrame(f"a header without a colon in {command[:20]!r}")
            headers.setdefault(_unescape(name), _unescape(value))  # the first counts
        self._frame = Frame(command, headers)
        if "content-length" in headers:
            if not headers["content-length"].isdecimal() or len(headers["content-length"]) > 15:
                raise BadFrame(f"content-length {headers['content-length'][:40]!r}")
            self._left = int(headers["content-length"]) + 1
            if self._left > self._most + 1:
                self._frame.dropped = self._left - 1
        self._searched = 0
        return True

    def _read_counted(self) -> bool:
        assert self._frame is not None and self._left is not None
        if self._frame.dropped:
            part = min(self._left, len(self._data))
            del self._data[:part]
            self._left -= part
            return self._left == 0
        if len(self._data) < self._left:
            return False
        if self._data[self._left - 1] != 0:
            raise BadFrame("a body that is longer than its content-length")
        self._frame.body = bytes(self._data[: self._left - 1])
        del self._data[: self._left]
        return True

    def _read_to_null(self) -> bool:
        assert self._frame is not None
        end = self._data.find(b"\0", self._searched)
        length = end if end >= 0 else len(self._data)
        if self._frame.dropped or length > self._most:
            self._frame.dropped += length
            del self._data[: length + 1 if end >= 0 else length]
            self._searched = 0
            return end >= 0
        if end < 0:
            self._searched = len(self._data)
            return False
        self._frame.body = bytes(self._data[:end])
        del self._data[: end + 1]
        return True
