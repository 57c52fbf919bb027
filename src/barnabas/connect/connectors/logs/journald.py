"""Entries of journald, by journalctl. A position is the cursor of the last entry."""

from __future__ import annotations

import collections
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from barnabas.connect.connectors.logs.cutter import Cutter
from barnabas.connect.contract import Chunk, Position, Reader, Record, Value
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.model.readiness import readable

SPLIT = "journald"
ENTRY_BYTES_MAX = 1024 * 1024
_READ_BYTES = 256 * 1024
_HIDDEN = ("__CURSOR", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "__SEQNUM", "__SEQNUM_ID")


def journal_command(directory: str, units: Sequence[str]) -> list[str]:
    program = shutil.which("journalctl")
    if program is None:
        raise BadOption("logs: there is no journalctl on this machine", "Install systemd, or leave out journald")
    command = [program, "--output=json", "--all", "--follow", "--no-tail", "--no-pager", "--quiet"]
    if directory:
        command.append(f"--directory={directory}")
    return command + [f"--unit={unit}" for unit in units]


class JournalReader(Reader):
    def __init__(self, command: Sequence[str], position: Position | None) -> None:
        cursor = (position or {}).get("cursor")
        after = [f"--after-cursor={cursor}"] if cursor else []
        self._cutter = Cutter("utf-8", ENTRY_BYTES_MAX)
        self._lines: collections.deque[bytes] = collections.deque()
        self._said: collections.deque[bytes] = collections.deque(maxlen=1)
        self._cursor: str | None = cursor
        self._process = subprocess.Popen(
            [*command, *after], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self._process.stderr is not None
        self._listener = threading.Thread(target=self._said.extend, args=(self._process.stderr,), daemon=True)
        self._listener.start()

    def read(self, most: int, wait_s: float) -> Chunk | None:
        deadline = time.monotonic() + wait_s
        while not self._lines:
            if not self._fill(max(0.0, deadline - time.monotonic())) and time.monotonic() >= deadline:
                return None
        records: list[Record] = []
        while len(records) < most and (self._lines or self._fill(0)):
            while self._lines and len(records) < most:
                record = self._record(self._lines.popleft())
                if record is not None:
                    records.append(record)
        return Chunk(records, {"cursor": self._cursor})

    def _fill(self, wait_s: float) -> bool:
        output = self._process.stdout
        assert output is not None
        if not readable(output, wait_s):
            return False
        data = os.read(output.fileno(), _READ_BYTES)
        if not data:
            self._listener.join(5)
            said = self._said[0].decode(errors="replace").strip()[:200] if self._said else "no reason given"
            raise Unavailable(f"journalctl ended: {said}", "Try the same by hand: journalctl --output=json")
        self._lines.extend(self._cutter.cut(data)[0])
        return True

    def _record(self, line: bytes) -> Record | None:
        try:
            entry = msgspec.json.decode(line)
        except msgspec.DecodeError:
            # An entry of more than ENTRY_BYTES_MAX was cut and has no cursor: the next one moves the position.
            text = line[:1000].decode(errors="replace")
            return Record({"message": text, "tags": ["cut"]}, key=SPLIT)
        if not isinstance(entry, dict) or "__CURSOR" not in entry:
            return None
        self._cursor = str(entry["__CURSOR"])
        return entry_record(entry)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(10)
        self._listener.join(10)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


def entry_record(entry: dict[str, Value]) -> Record:
    """Names in lower case, without the underscores that mark what journald itself has found out."""
    fields: dict[str, Value] = {}
    for name in sorted(entry):  # "_PID" after "PID": what journald says counts, not what a program says of itself
        if name not in _HIDDEN:
            fields[name.lstrip("_").lower()] = _text(entry[name])
    timestamp_ms = None
    try:
        microseconds = int(entry["__REALTIME_TIMESTAMP"])
        fields["time"] = datetime.fromtimestamp(microseconds / 1e6, UTC)
        timestamp_ms = microseconds // 1000
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        pass
    key = fields.get("systemd_unit") or fields.get("syslog_identifier")
    return Record(fields, key=key if isinstance(key, str) else None, timestamp_ms=timestamp_ms)


def _text(value: Value) -> Value:
    """Bytes that are no text come as a list of numbers."""
    if isinstance(value, list) and value and all(isinstance(each, int) and 0 <= each < 256 for each in value):
        return bytes(value).decode(errors="replace")
    return value
