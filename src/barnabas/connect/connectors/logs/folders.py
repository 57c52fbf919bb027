"""Which files there are, and which of them are one log.

A log and its rotated files differ by numbers and dates in their names (app.log, app.log.1, app-20261118.log) and are
read as one split, by one reader: it alone knows what has been read of each, in which order they come, and which of them
is a copy of another. The split has the name of the log, with numbers and dates left out.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path

from barnabas.connect.errors import BadOption, Unavailable

LOGS_MAX = 10_000
FILES_MAX = 2_000  # of one log
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip", ".z", ".br", ".tgz", ".lzma")
_NUMBERS = re.compile(r"(?:^|[-._~])\d[\dT:Z+]*(?=$|[-._~])")
_OLD = re.compile(r"[-._](?:old|bak|prev)$")


def log_name(name: str) -> str:
    """The name of the log that a file belongs to."""
    return _OLD.sub("", _NUMBERS.sub("", _OLD.sub("", name))) or name


class Folders:
    """The files that the options `paths` and `exclude` name."""

    def __init__(self, paths: Sequence[str], exclude: Sequence[str]) -> None:
        for path in paths:
            if not Path(path).is_absolute():
                raise BadOption(f"option 'paths' of logs: {path!r} does not begin with /", "Give it from the root on")
        self._patterns = [(str(Path(path).parent), Path(path).name) for path in paths]
        self._exclude = exclude

    def logs(self) -> list[str]:
        """Names of splits."""
        found: set[str] = set()
        for parent, pattern in self._patterns:
            for folder in self._matching(parent):
                for name in self._names(folder):
                    log = log_name(name)
                    if fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(log, pattern):
                        found.add(os.path.join(folder, log))  # noqa: PTH118  # called for each file of a large folder
            if len(found) > LOGS_MAX:
                raise Unavailable(f"paths of logs match more than {LOGS_MAX} logs", "Narrow the patterns")
        return sorted(found)

    def _matching(self, parent: str) -> list[str]:
        if not glob.has_magic(parent):
            return [parent]
        return [each for each in glob.glob(parent, recursive=True) if Path(each).is_dir()]  # noqa: PTH207  # "**"

    def files(self, log: str) -> list[str]:
        """Names of the files of a log, whether they match a pattern or are what rotation has made of such a file."""
        folder, _, wanted = log.rpartition("/")
        names = [name for name in self._names(folder or "/") if log_name(name) == wanted]
        if len(names) > FILES_MAX:
            raise Unavailable(f"{log} has more than {FILES_MAX} files", "Remove old ones, or use exclude")
        return names

    def matches(self, log: str, name: str) -> bool:
        """Whether a file matches by its own name: read from the beginning, even when the connector is new."""
        folder = log.rpartition("/")[0] or "/"
        return any(
            fnmatch.fnmatchcase(name, pattern) and (folder == parent or folder in self._matching(parent))
            for parent, pattern in self._patterns
        )

    def _names(self, folder: str) -> list[str]:
        try:
            with os.scandir(folder) as entries:
                return [entry.name for entry in entries if self._is_log(folder, entry)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as problem:
            raise Unavailable(
                f"folder {folder} cannot be listed: {problem.strerror}", "Give the worker the right"
            ) from None

    def _is_log(self, folder: str, entry: os.DirEntry[str]) -> bool:
        name = entry.name
        if name.lower().endswith(_COMPRESSED) or any(fnmatch.fnmatchcase(name, each) for each in self._exclude):
            return False
        if any("/" in each and fnmatch.fnmatchcase(entry.path, each) for each in self._exclude):
            return False
        try:
            if entry.is_symlink() and str(Path(entry.path).resolve().parent) == str(Path(folder).resolve()):
                return False  # "current.log" for a file that is there by its own name
            return entry.is_file()
        except OSError:
            return False
