"""Files that appear in a folder, a record for each line or for each file.

A file is whole when it appears: it was renamed into the folder, or has not changed for a moment. It is known by its
name, size and time; one that is changed later is another file. The position has a mark of each file in the folder that
is finished, and where the one that is being read stands.
"""

from __future__ import annotations

import codecs
import contextlib
import fnmatch
import logging
import os
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Literal

import msgspec

from barnabas.connect.connectors.logs.cutter import Cutter, is_utf8
from barnabas.connect.contract import Alike, Behind, Chunk, Options, Position, Reader, Record, Source, together
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.options import read_options

log = logging.getLogger("barnabas.connect")

SPLIT = "folder"
SCAN_S = 0.5
FORGET_S = 3600.0
_BLOCK_BYTES = 512 * 1024
_UNFINISHED = (".tmp", ".part", ".partial", ".crdownload", ".swp", "~")


class FilesSourceOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    folder: str
    pattern: str = "*"
    each: Literal["line", "file"] = "line"
    value: Literal["text", "bytes"] = "text"
    encoding: str = "utf-8"
    done: Literal["leave", "move", "delete"] = "leave"
    done_folder: str = ""
    settle_s: float = 1.0
    max_files: int = 10_000
    max_line_bytes: int = 1024 * 1024
    max_file_bytes: int = 8 * 1024 * 1024


class FilesSource(Source):
    def __init__(self, name: str, given: Options) -> None:
        self._options = options = read_options("files", FilesSourceOptions, given)
        if not Path(options.folder).is_absolute():
            raise BadOption(f"option 'folder' of files: {options.folder!r} does not begin with /")
        if (options.done == "move") != bool(options.done_folder):
            raise BadOption("files: 'done: move' and 'done_folder' go together")
        if options.done_folder and not Path(options.done_folder).is_absolute():
            raise BadOption(f"option 'done_folder' of files: {options.done_folder!r} does not begin with /")
        if options.done_folder and Path(options.done_folder) == Path(options.folder):
            raise BadOption("option 'done_folder' of files is 'folder' itself")
        for limit in ("max_files", "max_line_bytes", "max_file_bytes"):
            if getattr(options, limit) < 1:
                raise BadOption(f"option {limit!r} of files: {getattr(options, limit)} is not above 0")
        try:
            newline = "\n".encode(options.encoding)
        except (LookupError, UnicodeError):
            raise BadOption(f"option 'encoding' of files: there is no {options.encoding!r}") from None
        if newline.strip(b"\0") != b"\n":  # nor UTF-16 without a byte order
            raise BadOption(f"option 'encoding' of files: {options.encoding!r}", "Name one such as utf-8 or utf-16-le")

    def splits(self) -> Sequence[str]:
        return [SPLIT]

    def open(self, split: str, position: Position | None) -> Reader:
        return FilesReader(self._options, position)


@dataclass(slots=True)
class Found:
    """A file as a listing has it."""

    name: str
    size: int
    modified: int  # nanoseconds

    @property
    def mark(self) -> str:
        named = f"{self.name}\0{self.size}\0{self.modified}".encode(errors="surrogateescape")
        return blake2b(named, digest_size=8).hexdigest()


class FilesReader(Reader):
    def __init__(self, options: FilesSourceOptions, position: Position | None) -> None:
        given = position or {}
        self._options = options
        self._folder = Path(options.folder)
        self._done: set[str] = {str(each) for each in given.get("done", ())}
        self._resume: tuple[str, int] | None = (given["now"][0], int(given["now"][1])) if given.get("now") else None
        self._to_clear: list[tuple[int, Found]] = []  # finished, by the number of the position that says so
        self._number = int(given.get("number", 0))
        self._waiting: list[Found] = []
        self._behind = Behind(0, 0)
        self._current: _OpenFile | None = None
        self._next_scan = 0.0
        self._missing: dict[str, float] = {}
        self._said: set[str] = set()

    def read(self, most: int, wait_s: float) -> Chunk | None:
        deadline = time.monotonic() + wait_s
        while True:
            records, moved = self._collect(most)
            if records or moved:
                self._number += 1
                return Chunk(records, self._position())
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(0.05, left))

    def _position(self) -> Position:
        position: Position = {"number": self._number, "done": sorted(self._done)}
        if self._current is not None:
            position["now"] = [self._current.found.mark, self._current.offset]
        return position

    def _collect(self, most: int) -> tuple[Sequence[Record], bool]:
        parts: list[Sequence[Record]] = []
        count, moved = 0, False
        while count < most:
            if self._current is None and not self._open_next():
                break
            assert self._current is not None
            try:
                more = self._current.take(most - count)
            except OSError as problem:
                raise self._unreadable(self._current.found.name, problem) from None
            if more:
                parts.append(more)
                count += len(more)
            else:
                self._finish()
                moved = True
        return together(parts), moved

    def _finish(self) -> None:
        assert self._current is not None
        found, changed = self._current.found, self._current.changed
        self._current.close()
        self._current = None
        if changed:
            log.warning("files: %s was changed while it was read, and is read again", self._folder / found.name)
            return
        self._done.add(found.mark)
        self._to_clear.append((self._number + 1, found))

    def _open_next(self) -> bool:
        if not self._waiting and time.monotonic() >= self._next_scan:
            self._scan()
        while self._waiting:
            found = self._waiting.pop(0)
            offset = 0
            if self._resume is not None and self._resume[0] == found.mark:
                offset = self._resume[1]
            self._resume = None
            try:
                self._current = _OpenFile(self._folder, found, offset, self._options)
            except FileNotFoundError:
                continue
            except OSError as problem:
                raise self._unreadable(found.name, problem) from None
            return True
        return False

    def _scan(self) -> None:
        """New files, the oldest first, and the one that was begun before them. Marks of files that are gone are
        forgotten, and files that a position has as finished are cleared."""
        began = time.monotonic()
        listed = {found.mark: found for found in self._listed()}
        self._next_scan = time.monotonic() + max(SCAN_S, 20 * (time.monotonic() - began))
        self._forget(set(listed), began)
        later = {found.mark for _, found in self._to_clear}
        for mark in self._done - later:
            if mark in listed:
                self._clear(listed[mark])
        begun = self._resume[0] if self._resume is not None else ""
        new = [found for mark, found in listed.items() if mark not in self._done and self._is_settled(found)]
        new.sort(key=lambda found: (found.mark != begun, found.modified, found.name))
        self._waiting = new
        self._behind = Behind(None if self._options.each == "line" else len(new), sum(found.size for found in new))

    def _forget(self, listed: set[str], now: float) -> None:
        """Not at once: a folder that is empty may be one that is not mounted."""
        for mark in listed & set(self._missing):
            del self._missing[mark]
        for mark in self._done - listed:
            if now - self._missing.setdefault(mark, now) > FORGET_S:
                self._done.discard(mark)
                del self._missing[mark]

    def _is_settled(self, found: Found) -> bool:
        return abs(time.time() - found.modified / 1e9) >= self._options.settle_s

    def _listed(self) -> list[Found]:
        found = []
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    name = entry.name
                    if name.startswith(".") or name.endswith(_UNFINISHED):
                        continue
                    if not fnmatch.fnmatchcase(name, self._options.pattern) or not entry.is_file():
                        continue
                    with contextlib.suppress(FileNotFoundError):  # it went meanwhile
                        status = entry.stat()
                        found.append(Found(name, status.st_size, status.st_mtime_ns))
        except OSError as problem:
            raise Unavailable(f"folder {self._folder} cannot be listed: {problem.strerror}") from None
        if len(found) > self._options.max_files:
            way_out = "Use 'done: move' or 'done: delete', or raise max_files"
            raise Unavailable(f"folder {self._folder} has more than {self._options.max_files} files", way_out)
        return found

    def _unreadable(self, name: str, problem: OSError) -> Unavailable:
        return Unavailable(f"{self._folder / name} cannot be read: {problem.strerror or problem}")

    def committed(self, position: Position) -> None:
        number = int(position["number"])
        while self._to_clear and self._to_clear[0][0] <= number:
            self._clear(self._to_clear.pop(0)[1])

    def _clear(self, found: Found) -> None:
        """Moves or deletes what is finished, unless it has changed meanwhile."""
        if self._options.done == "leave":
            return
        path = self._folder / found.name
        try:
            status = path.stat()
            if (status.st_size, status.st_mtime_ns) != (found.size, found.modified):
                return
            if self._options.done == "delete":
                path.unlink()
            else:
                target = Path(self._options.done_folder)
                target.mkdir(parents=True, exist_ok=True)
                path.rename(_free_name(target / found.name))
        except FileNotFoundError:
            return
        except OSError as problem:
            if found.mark not in self._said:
                self._said.add(found.mark)
                log.warning("files: %s cannot be cleared away: %s", path, problem.strerror or problem)

    def behind(self) -> Behind:
        return self._behind

    def close(self) -> None:
        if self._current is not None:
            self._current.close()
            self._current = None


def _free_name(path: Path) -> Path:
    """Not that of another file with the same name."""
    if not path.exists():
        return path
    return next(each for number in range(1, 10**9) if not (each := path.with_name(f"{path.name}.{number}")).exists())


class _OpenFile:
    """One file that is being read, from an offset on."""

    def __init__(self, folder: Path, found: Found, offset: int, options: FilesSourceOptions) -> None:
        self.found, self.offset, self.changed = found, offset, False
        self._options = options
        self._path = folder / found.name
        self._file = self._path.open("rb", buffering=0)
        self._read_to = offset
        self._file.seek(offset)
        encoding = codecs.lookup(options.encoding).name
        self._cutter = Cutter(encoding, options.max_line_bytes)
        self._wide = encoding.startswith(("utf-16", "utf-32"))
        self._is_utf8 = self._wide or encoding == "utf-8"
        self._lines: list[bytes] = []
        self._sizes: list[int] = []
        self._key = os.fsencode(found.name).decode(errors="replace")
        self._headers: tuple[tuple[str, bytes | None], ...] = (("path", os.fsencode(self._path)),)

    def take(self, most: int) -> Sequence[Record]:
        """Nothing: the file is finished, or has changed."""
        if self._options.each == "file":
            return self._whole()
        while not self._lines:
            block = self._file.read(_BLOCK_BYTES)
            if self._has_changed():
                return []
            self._read_to += len(block)
            lines, sizes = self._cutter.cut(block) if block else self._cutter.finish()
            self._lines, self._sizes = lines, sizes if sizes is not None else [len(line) + 1 for line in lines]
            if not block and not lines:
                return []
        lines, self._lines = self._lines[:most], self._lines[most:]
        if self.offset == 0 and lines:
            lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
        self.offset += sum(self._sizes[:most])
        self._sizes = self._sizes[most:]
        if self._options.value == "bytes":
            return Alike(lines, self._key, self._headers)
        return Alike.of_text(self._texts(lines), self._key, self._headers)

    def _texts(self, lines: list[bytes]) -> list[bytes]:
        """In UTF-8, without the CR of an end of line."""
        joined = b"\n".join(lines)
        if self._is_utf8 and b"\r" not in joined and is_utf8(joined):
            return lines
        encoding = "utf-8" if self._wide else self._options.encoding  # the cutter has made UTF-8 of the wide ones
        return [line.decode(encoding, "replace").removesuffix("\r").encode("utf-8", "replace") for line in lines]

    def _whole(self) -> list[Record]:
        if self.offset:
            return []
        if self.found.size > self._options.max_file_bytes:
            raise Unavailable(
                f"{self._path} has {self.found.size} bytes, and max_file_bytes is {self._options.max_file_bytes}",
                "Raise it, or take the file away",
            )
        data = self._file.read(self.found.size + 1)
        while len(data) <= self.found.size and (more := self._file.read(self.found.size + 1 - len(data))):
            data += more
        if self._has_changed() or len(data) != self.found.size:
            self.changed = True
            return []
        self.offset = len(data) or 1  # an empty file is a record, too
        return [Record(self._value(data), self._key, None, self.found.modified // 1_000_000, self._headers)]

    def _value(self, data: bytes) -> str | bytes:
        if self._options.value == "bytes":
            return data
        return data.decode(self._options.encoding, "replace")

    def _has_changed(self) -> bool:
        status = os.fstat(self._file.fileno())
        regular = stat.S_ISREG(status.st_mode)
        self.changed = not regular or (status.st_size, status.st_mtime_ns) != (self.found.size, self.found.modified)
        return self.changed

    def close(self) -> None:
        self._file.close()
