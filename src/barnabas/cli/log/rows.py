"""What a dump is made of: rows of named fields, shown as `name value` or as JSON; and which files can be dumped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from barnabas.cli.common import human
from barnabas.cli.common.screen import paint, quoted

SEGMENT_SUFFIXES = (".log", ".checkpoint")  # a .checkpoint is a snapshot of the metadata log: batches, like a segment
_SUFFIXES = (*SEGMENT_SUFFIXES, ".index", ".timeindex", ".snapshot")
CHECKPOINTS = (
    "leader-epoch-checkpoint",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
PROPERTIES = ("meta.properties", "partition.metadata")


def readable(path: Path) -> bool:
    name = path.name
    if name in CHECKPOINTS or name in PROPERTIES:
        return True
    return path.suffix in _SUFFIXES and base_offset(path) is not None


def base_offset(path: Path) -> int | None:
    """The offset in a file's name: 20 digits, and for a .checkpoint an epoch after it."""
    digits = path.name.partition(".")[0].partition("-")[0]
    return int(digits) if len(digits) == 20 and digits.isascii() and digits.isdigit() else None


def partition_name(path: Path) -> str:
    """The topic of the folder a file lies in: `views` of `views-0`."""
    return path.absolute().parent.name.rpartition("-")[0]


@dataclass(frozen=True, slots=True)
class Row:
    """kind: batch, record, entry, damage. Fields as a program wants them; `text` says them for people."""

    kind: str
    fields: Mapping[str, object]

    def text(self) -> str:
        return "  ".join(f"{paint(name, 'dim')} {_shown(name, value)}" for name, value in self.fields.items())


def damage(position: int, reason: str) -> Row:
    return Row("damage", {"position": position, "reason": reason})


def _shown(name: str, value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith(("timestamp", "timestamp_ms")) and isinstance(value, int):
        return human.moment(value)
    if isinstance(value, dict):
        return " ".join(f"{key}={_shown(key, inner)}" for key, inner in value.items())
    return quoted(str(value))


def text_of(data: bytes | None) -> str | None:
    """Bytes for people and for JSON: UTF-8 where it is, escaped where it is not."""
    return None if data is None else data.decode("utf-8", "backslashreplace")
