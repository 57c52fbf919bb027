"""The files of one log: which are known, which are new, which is a copy of another.

A position has an entry for each file that is there, finished or not. A file without one is new, unless it is a copy
that rotation makes before it truncates the original. What a file is, identity.py says.
"""

from __future__ import annotations

import logging
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from barnabas.connect.connectors.logs.cutter import Cutter
from barnabas.connect.connectors.logs.folders import Folders
from barnabas.connect.connectors.logs.identity import BEFORE_BYTES, Entry, Identity, begins_like, fingerprint
from barnabas.connect.connectors.logs.multiline import Joiner
from barnabas.connect.connectors.logs.tail import Tail
from barnabas.connect.contract import Position
from barnabas.connect.errors import Unavailable

log = logging.getLogger("barnabas.connect")

FORGET_S = 10.0  # a file that is being renamed may be missing from one listing, or from two
IDLE_S = 300.0  # then a file that is read to its end is closed
OPEN_MAX = 256
ENTRIES_MAX = 200  # more are kept only of files that may still grow
MAY_GROW_S = 24 * 3600

Parts = Callable[[], tuple[Cutter, Joiner | None, float]]


@dataclass(slots=True)
class Seen:
    """A file as the last listing found it."""

    name: str
    identity: Identity
    size: int
    modified: int  # nanoseconds


@dataclass(slots=True, eq=False)
class Orphan:
    """What was read of a file that is not any more what it was."""

    entry: Entry
    tail: Tail | None
    has_copy: bool = False


class LogFiles:
    def __init__(self, folders: Folders, split: str, position: Position | None, parts: Parts) -> None:
        """`parts` makes what a file is read with."""
        self._folders, self._split, self._parts = folders, split, parts
        self._folder, _, self.active = split.rpartition("/")  # the name of the file that grows, if rotation renames
        self._first = position is None
        given = position or {}
        entries = [Entry.from_json(each) for each in given.get("files", ())]
        self._finished_before = int(given.get("finished_before", 0))
        self.entries = {entry.identity: entry for entry in entries}
        self.tails: dict[Identity, Tail] = {}
        self.orphans: list[Orphan] = []
        self.moved = False  # the position has changed
        self._seen: dict[Identity, Seen] = {}
        self._known: dict[tuple[int, int, int], Identity | None] = {}  # by inode, size and time
        self._missing: dict[Identity, float] = {}
        self._active_inode = 0
        self.crowded = False  # there are more files to read than may be open

    def position(self) -> Position:
        position: Position = {"files": [entry.as_json() for entry in self.entries.values()]}
        if self._finished_before:
            position["finished_before"] = self._finished_before
        return position

    def path(self, name: str) -> str:
        return f"{self._folder}/{name}"

    def unread(self) -> int:
        found = ((each.size, self.entries.get(each.identity)) for each in self._seen.values())
        return sum(max(0, size - (entry.offset if entry else 0)) for size, entry in found)

    def close(self) -> None:
        for tail in (*self.tails.values(), *(orphan.tail for orphan in self.orphans)):
            if tail is not None:
                tail.close()
        self.tails, self.orphans = {}, []

    def unreadable(self, name: str, problem: OSError) -> Unavailable:
        return Unavailable(
            f"{self.path(name)} cannot be read: {problem.strerror}",
            "Give the worker the right to read it, or exclude it",
        )

    # Listing

    def is_renamed(self) -> bool:
        """Whether another file has the name of the log than at the last listing: no reason to wait for the next."""
        try:
            inode = os.stat(self._split).st_ino  # noqa: PTH116  # asked before each chunk
        except OSError:
            return False
        return inode != self._active_inode

    def scan(self) -> None:
        for _ in range(3):  # a file that turns out to have changed makes a new one of itself
            before = len(self.orphans)
            self._scan()
            if len(self.orphans) <= before:
                break

    def _scan(self) -> None:
        self.crowded = False
        seen: dict[Identity, Seen] = {}
        known: dict[tuple[int, int, int], Identity | None] = {}
        for name in self._folders.files(self._split):
            if (each := self._look(name, known)) is not None:
                seen[each.identity] = each
        self._seen, self._known = seen, known
        inodes = {inode for inode, _, _ in known}
        for entry in list(self.entries.values()):
            if entry.identity.inode in inodes and entry.identity not in seen:
                self.orphan(entry)
        for each in sorted(seen.values(), key=lambda each: (each.modified, each.name == self.active)):
            entry_of = self.entries.get(each.identity) or self._new(each)
            if entry_of is not None:
                self._follow(entry_of, each)
        self._first = False
        self._forget()

    def _look(self, name: str, known: dict[tuple[int, int, int], Identity | None]) -> Seen | None:
        try:
            status = Path(self.path(name)).stat()
            if not stat.S_ISREG(status.st_mode):
                return None
            key = (status.st_ino, status.st_size, status.st_mtime_ns)
            identity = self._known.get(key)
            if identity is None:
                descriptor = os.open(self.path(name), os.O_RDONLY)
                try:
                    status = os.fstat(descriptor)
                    head = fingerprint(descriptor)
                finally:
                    os.close(descriptor)
                identity = Identity(status.st_ino, head) if head is not None else None
                key = (status.st_ino, status.st_size, status.st_mtime_ns)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise self.unreadable(name, problem) from None
        known[key] = identity
        if name == self.active:
            self._active_inode = status.st_ino
        if identity is None:  # the first line is not complete
            return None
        return Seen(name, identity, status.st_size, status.st_mtime_ns)

    def _new(self, each: Seen) -> Entry | None:
        """An entry for a file without one; None if there is nothing in it that is not read elsewhere."""
        try:
            descriptor = os.open(self.path(each.name), os.O_RDONLY)
        except OSError:
            return None
        try:
            if self._moved_to(each, descriptor):
                return self.entries[each.identity]
            if self._is_copy(each, descriptor) or each.modified <= self._finished_before:
                return None
            entry = Entry(each.name, each.identity)
            if self._first and not self._folders.matches(self._split, each.name):  # rotated before we were there
                entry.left(each.size, _last_bytes(descriptor, each.size))
        finally:
            os.close(descriptor)
        self.entries[each.identity] = entry
        self.moved = True
        return entry

    def _moved_to(self, each: Seen, descriptor: int) -> bool:
        """Whether this is where the bytes of a file are now that is no more what it was: its copy."""
        missing = [entry for entry in self.entries.values() if entry.identity not in self._seen]
        for lost in (*self.orphans, *(Orphan(entry, self.tails.get(entry.identity)) for entry in missing)):
            entry, tail = lost.entry, lost.tail
            if entry.identity.fingerprint != each.identity.fingerprint:
                continue
            moved = Entry(each.name, each.identity, entry.offset, entry.before, entry.checksum)
            if entry.is_still(descriptor, each.size):
                if lost in self.orphans:
                    self.orphans.remove(lost)
                else:
                    del self.entries[entry.identity]
                    self.tails.pop(entry.identity, None)
                if tail is not None:
                    tail.close()
            elif lost in self.orphans and self._is_shorter_copy(lost, each, descriptor):
                lost.has_copy = True
                moved.left(each.size, _last_bytes(descriptor, each.size))
            else:
                continue
            self.entries[each.identity] = moved
            self.moved = True
            return True
        return False

    def _is_shorter_copy(self, lost: Orphan, each: Seen, descriptor: int) -> bool:
        """Whether it is the copy of a file that was truncated, and has no more than what was read of that: we have read
        lines that were written between copy and truncation."""
        entry = lost.entry
        if (
            each.identity.inode == entry.identity.inode
            or each.size >= entry.offset
            or not self._may_be_copy(each, entry)
        ):
            return False
        return lost.tail is None or lost.tail.had(each.size, _last_bytes(descriptor, each.size))

    def _may_be_copy(self, each: Seen, original: Entry) -> bool:
        """By their names. What has the log's own name is never a copy."""
        return each.name != self.active and (original.name == self.active or each.name.startswith(original.name))

    def _is_copy(self, each: Seen, descriptor: int) -> bool:
        """Whether it has only what another has that is there: rotation copies before it truncates."""
        for entry in self.entries.values():
            original = self._seen.get(entry.identity)
            if original is None or entry.identity.fingerprint != each.identity.fingerprint:
                continue
            if not self._may_be_copy(each, entry):
                continue
            try:
                other = os.open(self.path(original.name), os.O_RDONLY)
            except OSError:
                continue
            try:
                size = os.fstat(other).st_size
                if size < each.size and not entry.is_still(other, size):
                    return True  # just truncated: the next reading of it finds out, and then it moves to this copy
                if size >= each.size and begins_like(descriptor, other, each.size):
                    return True
            finally:
                os.close(other)
        return False

    # What is open

    def _follow(self, entry: Entry, each: Seen) -> None:
        if entry.name != each.name:
            entry.name, self.moved = each.name, True
        if each.identity in self.tails:
            return
        quiet = time.time() - each.modified / 1e9 > IDLE_S
        if each.size == entry.offset and quiet:
            return
        if not self._may_open():
            self.crowded = True
            return
        try:
            descriptor = os.open(self.path(each.name), os.O_RDONLY)
        except FileNotFoundError:
            return
        except OSError as problem:
            raise self.unreadable(each.name, problem) from None
        status = os.fstat(descriptor)
        if status.st_ino != each.identity.inode or fingerprint(descriptor) != each.identity.fingerprint:
            os.close(descriptor)  # renamed or truncated since the listing
        elif not entry.is_still(descriptor, status.st_size):
            os.close(descriptor)
            self.orphan(entry)
        else:
            self.tails[each.identity] = Tail(descriptor, entry, *self._parts())

    def _may_open(self) -> bool:
        if len(self.tails) < OPEN_MAX:
            return True
        for identity, tail in list(self.tails.items()):
            if tail.is_done() and tail.size() == tail.entry.offset:
                tail.close()
                del self.tails[identity]
        return len(self.tails) < OPEN_MAX

    def orphan(self, entry: Entry) -> None:
        """The file has changed under its entry; the next listing looks for a copy."""
        del self.entries[entry.identity]
        self.orphans.append(Orphan(entry, self.tails.pop(entry.identity, None)))
        self.moved = True

    def drop_orphans(self) -> None:
        for orphan in self.orphans:
            if not orphan.has_copy:
                log.warning(
                    "logs: %s was truncated or written anew and no copy of it is there; its first %d bytes were read",
                    self.path(orphan.entry.name),
                    orphan.entry.offset,
                )
            if orphan.tail is not None:
                orphan.tail.close()
        self.orphans = []

    def _forget(self) -> None:
        now = time.monotonic()
        for identity, entry in list(self.entries.items()):
            tail = self.tails.get(identity)
            if identity in self._seen:
                self._missing.pop(identity, None)
                if tail is not None and tail.is_done() and tail.idle_s() > IDLE_S:
                    tail.close()
                    del self.tails[identity]
                continue
            since = self._missing.setdefault(identity, now)
            if now - since < FORGET_S or (tail is not None and not (tail.is_done() and tail.size() == entry.offset)):
                continue
            if tail is not None:
                tail.close()
                del self.tails[identity]
            else:
                log.info("logs: %s is gone; its first %d bytes were read", self.path(entry.name), entry.offset)
            del self.entries[identity], self._missing[identity]
            self.moved = True
        if len(self.entries) > ENTRIES_MAX:
            self._forget_finished()

    def _forget_finished(self) -> None:
        """Of very many files, those that were finished longest ago need no entry of their own: nothing that was written
        before the last of them is new."""
        old = (time.time() - MAY_GROW_S) * 1e9
        entries = [(self._seen[each], self.entries[each]) for each in self.entries if each in self._seen]
        finished = [seen for seen, entry in entries if seen.size == entry.offset and seen.modified < old]
        finished.sort(key=lambda each: each.modified)
        for each in finished[: len(self.entries) - ENTRIES_MAX]:
            if (tail := self.tails.pop(each.identity, None)) is not None:
                tail.close()
            del self.entries[each.identity]
            self._finished_before = max(self._finished_before, each.modified)
            self.moved = True


def _last_bytes(descriptor: int, size: int) -> bytes:
    return os.pread(descriptor, min(size, BEFORE_BYTES), max(0, size - BEFORE_BYTES))
