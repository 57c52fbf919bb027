"""Records of MirrorMaker 2's topics, as its MirrorClient and its connectors read and write them.

A string is its length in two bytes and UTF-8; numbers are big-endian. Values of heartbeats and checkpoints begin with a
version, which is 0.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import NamedTuple

_SHORT, _INT, _LONG, _TWO_LONGS = Struct(">h"), Struct(">i"), Struct(">q"), Struct(">qq")
_VERSION = _SHORT.pack(0)


class Checkpoint(NamedTuple):
    """Where a group of the source stands, and what that is at the target. The topic is named as at the target."""

    group: str
    topic: str
    partition: int
    upstream: int
    downstream: int

    def key(self) -> bytes:
        return _string(self.group) + _string(self.topic) + _INT.pack(self.partition)

    def value(self) -> bytes:
        return _VERSION + _TWO_LONGS.pack(self.upstream, self.downstream) + _string("")


def heartbeat(source: str, target: str, timestamp_ms: int) -> tuple[bytes, bytes]:
    """Key and value."""
    return _string(source) + _string(target), _VERSION + _LONG.pack(timestamp_ms)


def offset_sync(topic: str, partition: int, upstream: int, downstream: int) -> tuple[bytes, bytes]:
    """Key and value: the record at `upstream` is the one at `downstream`. The topic is named as at the source."""
    return _string(topic) + _INT.pack(partition), _TWO_LONGS.pack(upstream, downstream)


def read_checkpoint(key: bytes, value: bytes) -> Checkpoint | None:
    """None for what is none."""
    try:
        group, at = _read_string(key, 0)
        topic, at = _read_string(key, at)
        return Checkpoint(group, topic, _INT.unpack_from(key, at)[0], *_TWO_LONGS.unpack_from(value, _SHORT.size))
    except (StructError, UnicodeDecodeError):
        return None


def _string(text: str) -> bytes:
    encoded = text.encode()
    return _SHORT.pack(len(encoded)) + encoded


def _read_string(data: bytes, at: int) -> tuple[str, int]:
    (length,) = _SHORT.unpack_from(data, at)
    at += _SHORT.size
    if length < 0 or at + length > len(data):
        raise StructError("a string that is longer than what is there")
    return data[at : at + length].decode(), at + length
