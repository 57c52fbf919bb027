"""`producers-at-clean-stop`: what snapshots of the producers of many logs would say at a clean stop, in one file.

A clean opening reads the producers of a log from a snapshot at its end. When thousands of logs are closed, to make
thousands of new files is most of what the stop costs: so those that have written little since their newest snapshot go
into one file of the data directory together, and after a crash the little is read again.

The file counts only after the clean stop that wrote it: it names the broker epoch that the clean-shutdown marker has,
and an entry is used only for a log that ends at its offset. Format: int16 version, uint32 CRC-32C of all that follows,
int64 broker epoch; then for each log int16 and its folder's name, int64 offset, int32 and a snapshot (snapshots.py).
"""

from collections.abc import Mapping
from struct import Struct
from struct import error as StructError
from typing import TypeAlias

from barnabas.wire.checksum import crc32c

AtStop: TypeAlias = tuple[int, bytes]
"""The end of a log, and the snapshot of its producers there."""

VERSION = 1
LITTLE_BYTES = 1024 * 1024  # of a log since its newest snapshot: 14 ms to read again, of small batches
_HEAD = Struct(">hI")
_EPOCH = Struct(">q")
_NAME = Struct(">h")
_ENTRY = Struct(">qi")


def encode(broker_epoch: int, logs: Mapping[str, AtStop]) -> bytes:
    parts = [_EPOCH.pack(broker_epoch)]
    for folder, (offset, snapshot) in logs.items():
        name = folder.encode()
        parts += (_NAME.pack(len(name)), name, _ENTRY.pack(offset, len(snapshot)), snapshot)
    body = b"".join(parts)
    return _HEAD.pack(VERSION, crc32c(body)) + body


def decode(data: bytes, broker_epoch: int) -> dict[str, AtStop]:
    """By folder; nothing of a file that is damaged, or of another stop."""
    found: dict[str, AtStop] = {}
    try:
        version, crc = _HEAD.unpack_from(data)
        if version != VERSION or crc != crc32c(memoryview(data)[_HEAD.size :]):
            return {}
        if _EPOCH.unpack_from(data, _HEAD.size)[0] != broker_epoch:
            return {}
        at = _HEAD.size + _EPOCH.size
        while at < len(data):
            (size,) = _NAME.unpack_from(data, at)
            at += _NAME.size
            folder = data[at : at + size].decode()
            offset, length = _ENTRY.unpack_from(data, at + size)
            at += size + _ENTRY.size
            found[folder] = offset, data[at : at + length]
            at += length
    except (StructError, UnicodeDecodeError):
        return {}
    return found
