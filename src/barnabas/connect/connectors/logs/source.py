"""The logs source: files that grow and rotate, journald, syslog. Each log, the journal and each address of syslog is a
split."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from barnabas.connect.connectors.logs.cutter import Cutter, is_utf8
from barnabas.connect.connectors.logs.files import LogReader
from barnabas.connect.connectors.logs.folders import Folders
from barnabas.connect.connectors.logs.formats import Formats
from barnabas.connect.connectors.logs.journald import SPLIT as JOURNAL
from barnabas.connect.connectors.logs.journald import JournalReader, journal_command
from barnabas.connect.connectors.logs.multiline import Joiner, Multiline, named_multiline
from barnabas.connect.connectors.logs.network import SyslogReader, address_of
from barnabas.connect.contract import Alike, Options, Position, Reader, Record, Source
from barnabas.connect.errors import BadOption
from barnabas.connect.options import read_options

_WIDE = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}  # a byte order mark is left out


class LogsOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    paths: str | list[str] = []
    exclude: list[str] = []
    journald: bool = False
    journal_directory: str = ""
    units: list[str] = []
    syslog: str | list[str] = []
    value: Literal["text", "bytes"] = "text"
    encoding: str = "utf-8"
    pattern: str | list[str] = []
    patterns: dict[str, str] = {}
    timezone: str = ""
    multiline: str | Multiline | None = None
    max_line_bytes: int = 512 * 1024
    line_timeout_s: float = 60.0


def _list(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


class LogsSource(Source):
    def __init__(self, name: str, given: Options) -> None:
        options = read_options("logs", LogsOptions, given)
        if not (options.paths or options.journald or options.syslog):
            raise BadOption("logs needs one of the options 'paths', 'journald' and 'syslog'")
        if not 64 <= options.max_line_bytes <= 16 * 1024 * 1024:
            raise BadOption(f"option 'max_line_bytes' of logs: {options.max_line_bytes} is not between 64 and 16777216")
        self._options = options
        self._encoding = _encoding(options.encoding)
        self._folders = Folders(_list(options.paths), options.exclude)
        self._formats = Formats(_list(options.pattern), options.patterns, options.timezone)
        self._rule = named_multiline(options.multiline) if options.multiline is not None else None
        if self._rule is not None:
            Joiner(self._rule)  # raises BadOption
        self._syslog = {f"syslog+{url}": address_of(url) for url in _list(options.syslog)}
        if self._syslog:
            self.exactly_once = False  # type: ignore[misc]  # the class says it of files and of journald
        self._journal = journal_command(options.journal_directory, options.units) if options.journald else []

    def splits(self) -> Sequence[str]:
        return [*self._folders.logs(), *([JOURNAL] if self._journal else []), *self._syslog]

    def open(self, split: str, position: Position | None) -> Reader:
        if split == JOURNAL:
            return JournalReader(self._journal, position)
        if split in self._syslog:
            return SyslogReader(self._syslog[split], self._options.max_line_bytes, self._formats.syslog)
        make: Callable[[list[bytes], str, str], Sequence[Record]]
        if self._options.pattern:
            make = self._parsed
        else:
            make = self._bytes if self._options.value == "bytes" else self._text
        return LogReader(self._folders, split, position, lambda lines, path: make(lines, path, split), self._parts)

    def _parts(self) -> tuple[Cutter, Joiner | None, float]:
        joiner = Joiner(self._rule) if self._rule is not None else None
        return Cutter(self._encoding, self._options.max_line_bytes), joiner, self._options.line_timeout_s

    # Records. Their key is the log, so that its lines stay in order; the header is the file.

    def _bytes(self, lines: list[bytes], path: str, split: str) -> Alike:
        return Alike(lines, split, _headers(path))

    def _text(self, lines: list[bytes], path: str, split: str) -> Alike:
        if not self._is_plain(b"\n".join(lines)):
            lines = [text.encode("utf-8", "replace") for text in self._decoded(lines)]
        return Alike.of_text(lines, split, _headers(path))

    def _is_plain(self, lines: bytes) -> bool:
        """Whether they go out as they are: text in UTF-8 without anything to leave out."""
        if b"\r" in lines or lines.startswith(codecs.BOM_UTF8):
            return False
        return is_utf8(lines) if self._encoding == "utf-8" else self._encoding == "ascii" and lines.isascii()

    def _parsed(self, lines: list[bytes], path: str, split: str) -> list[Record]:
        fields = map(self._formats.fields, self._decoded(lines))
        headers = _headers(path)
        return [Record(value, split, None, timestamp_ms, headers) for value, timestamp_ms in fields]

    def _decoded(self, lines: list[bytes]) -> list[str]:
        encoding = "utf-8" if self._encoding.startswith(("utf-16", "utf-32")) else self._encoding
        whole = b"\n".join(lines).decode(encoding, "replace")
        texts = whole.split("\n")  # all at once: a line has no newline in it
        if len(texts) != len(lines):  # but an event has
            texts = [line.decode(encoding, "replace") for line in lines]
        if "\r" in whole:
            texts = [text.removesuffix("\r").replace("\r\n", "\n") for text in texts]
        texts[0] = texts[0].removeprefix("\ufeff")
        return texts


def _headers(path: str) -> tuple[tuple[str, bytes | None], ...]:
    return (("path", path.encode(errors="surrogateescape")),)


def _encoding(given: str) -> str:
    try:
        name = codecs.lookup(given).name
        name = _WIDE.get(name, name)
        newline = "\n".encode(name)
    except (LookupError, UnicodeError):
        raise BadOption(
            f"option 'encoding' of logs: there is no {given!r}", "Name one such as utf-8 or cp1252"
        ) from None
    if newline.strip(b"\0") != b"\n":
        raise BadOption(f"option 'encoding' of logs: lines of {given!r} cannot be found by their newline")
    return name
