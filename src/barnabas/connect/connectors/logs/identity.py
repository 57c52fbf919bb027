"""Which file it is, whatever its name.

A file is known by its inode and a fingerprint of its first line, since an inode is used again for the next file. Where
it was left, a checksum of the bytes before says whether they are still those that were read: a file that was truncated
and has grown again since is another file with the same inode, even if each begins with the same line.

The device is not part of it: files are only ever compared with others of the same folder, and the number of a device
may change when a machine starts anew.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

HEAD_BYTES = 256
BEFORE_BYTES = 256


class Identity(NamedTuple):
    inode: int
    fingerprint: str


@dataclass(slots=True)
class Entry:
    """A file in a position: how far it was read."""

    name: str  # when it was read last; for people, and to tell a file that was renamed from a new one
    identity: Identity
    offset: int = 0
    before: int = 0  # how many bytes before `offset` the checksum is of
    checksum: int = 0

    def as_json(self) -> list[str | int]:
        return [self.name, self.identity.inode, self.identity.fingerprint, self.offset, self.before, self.checksum]

    @classmethod
    def from_json(cls, given: list[str | int]) -> Entry:
        name, inode, fingerprint, offset, before, checksum = given
        return cls(str(name), Identity(int(inode), str(fingerprint)), int(offset), int(before), int(checksum))

    def left(self, offset: int, last: bytes) -> None:
        """Read up to `offset`; `last` are the bytes right before it."""
        last = last[-BEFORE_BYTES:]
        self.offset, self.before, self.checksum = offset, len(last), zlib.crc32(last)

    def is_still(self, descriptor: int, size: int) -> bool:
        """Whether the file still has what was read of it."""
        if size < self.offset:
            return False
        there = os.pread(descriptor, self.before, self.offset - self.before)
        return len(there) == self.before and zlib.crc32(there) == self.checksum


def fingerprint(descriptor: int) -> str | None:
    """Of the first line, of which HEAD_BYTES at most; None while it is not complete."""
    return fingerprint_of(os.pread(descriptor, HEAD_BYTES, 0))


def fingerprint_of(head: bytes) -> str | None:
    end = head.find(b"\n") + 1
    if not end and len(head) < HEAD_BYTES:
        return None
    return blake2b(head[: end or HEAD_BYTES], digest_size=8).hexdigest()


def begins_like(descriptor: int, other: int, size: int) -> bool:
    """Whether the first `size` bytes of both are the same, by their beginning and end."""
    for start, length in ((0, min(size, 64 * 1024)), (max(0, size - 4096), min(size, 4096))):
        if os.pread(descriptor, length, start) != os.pread(other, length, start):
            return False
    return True
