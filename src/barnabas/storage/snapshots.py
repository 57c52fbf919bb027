"""`<offset>.snapshot`: what the partition knew of its producers when its log ended at that offset, in Kafka's format.

Version 1: int16 version, uint32 CRC-32C of all that follows, int32 count, then 46 bytes for each producer. Storage
writes and finds them; the content belongs to the owner of the log, who replays the headers after the offset. The two
newest are kept: the newest may be torn by a crash, which its CRC tells. What a clean stop wrote of this log among
others (stop_snapshots.py) counts as a snapshot at its end.
"""

from collections.abc import Iterable, Sequence
from struct import Struct
from struct import error as StructError

from barnabas.model.producers import ProducerEntry
from barnabas.storage.disk import Disk
from barnabas.storage.stop_snapshots import AtStop
from barnabas.wire.checksum import crc32c

VERSION = 1
KEPT = 2
_HEAD = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")


def encode(producers: Iterable[ProducerEntry]) -> bytes:
    entries = [_ENTRY.pack(*producer) for producer in producers]
    body = _COUNT.pack(len(entries)) + b"".join(entries)
    return _HEAD.pack(VERSION, crc32c(body)) + body


def decode(data: bytes) -> list[ProducerEntry] | None:
    """None for anything that is not a whole snapshot of this version."""
    try:
        version, crc = _HEAD.unpack_from(data)
        body = data[_HEAD.size :]
        (count,) = _COUNT.unpack_from(body)
    except StructError:
        return None
    if version != VERSION or crc != crc32c(body) or len(body) != _COUNT.size + count * _ENTRY.size:
        return None
    return [ProducerEntry(*fields) for fields in _ENTRY.iter_unpack(body[_COUNT.size :])]


def path_of(directory: str, offset: int) -> str:
    return f"{directory}/{offset:020d}.snapshot"


def offsets_in(names: Iterable[str]) -> list[int]:
    """The offsets of the snapshots among these file names, ascending."""
    return sorted(
        int(name[:20]) for name in names if len(name) == 29 and name.endswith(".snapshot") and name[:20].isdigit()
    )


class Snapshots:
    """The snapshots of one log."""

    __slots__ = ("_at_stop", "_directory", "_disk", "offsets")

    def __init__(self, disk: Disk, directory: str, names: Iterable[str] = ()) -> None:
        self._disk = disk
        self._directory = directory
        self.offsets = offsets_in(names)
        self._at_stop: AtStop | None = None

    @property
    def newest_offset(self) -> int | None:
        """Of the newest one that may be whole."""
        if self._at_stop is not None:
            return self._at_stop[0]
        return self.offsets[-1] if self.offsets else None

    def use(self, at_stop: AtStop) -> None:
        """The log was closed cleanly, ends at this offset, and this is what its last owner knew there."""
        self._at_stop = at_stop

    def write(
        self, offset: int, producers: Sequence[ProducerEntry], *, recovery_point: int, sync: bool = False
    ) -> str | None:
        """None when there is one for this offset already. The newest at or below the recovery point is always kept:
        after a power loss it is the only one that the rest of the folder can be held to."""
        if self.offsets and self.offsets[-1] == offset:
            return None
        path = path_of(self._directory, offset)
        if sync or offset in self.offsets:
            self._disk.write_whole(path, encode(producers), sync=sync)
        else:
            self._disk.write_new(path, encode(producers))
        self._at_stop = None
        self.offsets = [kept for kept in self.offsets if kept < offset] + [offset]
        anchor = max((kept for kept in self.offsets if kept <= recovery_point), default=-1)
        for old in self.offsets[:-KEPT]:
            if old != anchor:
                self._remove(old)
        return path

    def newest(self) -> tuple[int, list[ProducerEntry]] | None:
        """The newest one that is whole; torn ones are removed."""
        if (known := self._known_at_stop()) is not None:
            return known
        while self.offsets:
            offset = self.offsets[-1]
            producers = decode(self._disk.read_whole(path_of(self._directory, offset)) or b"")
            if producers is not None:
                return offset, producers
            self._remove(offset)
        return None

    def peek(self) -> tuple[int, list[ProducerEntry]] | None:
        """As `newest`, in any thread: nothing is removed."""
        if (known := self._known_at_stop()) is not None:
            return known
        for offset in reversed(list(self.offsets)):
            producers = decode(self._disk.read_whole(path_of(self._directory, offset)) or b"")
            if producers is not None:
                return offset, producers
        return None

    def _known_at_stop(self) -> tuple[int, list[ProducerEntry]] | None:
        at_stop = self._at_stop
        if at_stop is None or (producers := decode(at_stop[1])) is None:
            return None
        return at_stop[0], producers

    def drop_above(self, offset: int) -> None:
        """Remove those that speak of offsets the log does not have."""
        if self._at_stop is not None and self._at_stop[0] > offset:
            self._at_stop = None
        while self.offsets and self.offsets[-1] > offset:
            self._remove(self.offsets[-1])

    def _remove(self, offset: int) -> None:
        self.offsets.remove(offset)
        self._disk.unlink(path_of(self._directory, offset))
