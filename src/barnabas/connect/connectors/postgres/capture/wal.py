"""Places in the write-ahead log, and which transactions a snapshot of the database contains."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LSN = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")
_SNAPSHOT = re.compile(r"(\d{1,20}):(\d{1,20}):((?:\d{1,20}(?:,\d{1,20})*)?)")
_EPOCH_US = 946_684_800_000_000  # PostgreSQL counts microseconds from 2000-01-01
_XIDS = 1 << 32


def lsn_of(text: str) -> int:
    """`16/B374D848`, as the server writes it."""
    found = _LSN.fullmatch(text)
    if found is None:
        raise ValueError(f"no LSN: {text!r}")
    return int(found[1], 16) << 32 | int(found[2], 16)


def lsn_text(lsn: int) -> str:
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def unix_us(server_us: int) -> int:
    return server_us + _EPOCH_US


@dataclass(frozen=True, slots=True)
class Visibility:
    """What `pg_current_snapshot()` said: which transactions had committed when the snapshot was taken."""

    xmin: int
    xmax: int
    running: frozenset[int]

    @classmethod
    def of(cls, text: str) -> Visibility:
        found = _SNAPSHOT.fullmatch(text)
        if found is None:
            raise ValueError(f"no snapshot: {text!r}")
        return cls(int(found[1]), int(found[2]), frozenset(int(each) for each in found[3].split(",") if each))

    def contains(self, xid: int) -> bool:
        """Of a transaction that has committed by now, by the 32 bits that the replication stream gives of its id.

        The rest is that of the id nearest to the snapshot's: no two transactions that are 2^31 apart can be in one log.
        """
        full = self.xmax - (self.xmax % _XIDS) + xid
        if full - self.xmax > _XIDS // 2:
            full -= _XIDS
        elif self.xmax - full > _XIDS // 2:
            full += _XIDS
        return full < self.xmin or (full < self.xmax and full not in self.running)
