"""Where the source stands: a JSON object that the runtime keeps.

    {"system": "7390...", "timeline": 1,         which server, so that another one is noticed
     "slot": "0/15D6A80",                        the slot's restart LSN: it goes back only in a server that was restored
     "lsn": "0/16B3748",                         every transaction that committed before this has been delivered
     "open": {"commit": "0/16C0000", "done": 7}, of the transaction after it, as many changes
     "tables": {"public.orders": {"oid": 16388}, read: only changes count
                "public.items": {"oid": 16390, "all": false, "key": ["id"], "after": "0/16B3748",
                                 "read": [{"to": ["17"], "snapshot": "10:20:10,14", "lsn": "0/16B0000"}]}}}

A table is read in ranges of its key, each at a snapshot of its own (snapshot.py). While transactions may still come
that a snapshot contains, the table's ranges say of each change whether it has been read already (ranges.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from barnabas.connect.connectors.postgres.capture.wal import Visibility, lsn_of, lsn_text
from barnabas.connect.contract import Position
from barnabas.connect.errors import Unavailable


@dataclass(frozen=True, slots=True)
class Range:
    """Rows with keys up to `to`, from where the range before it ends, were read at `snapshot`."""

    to: tuple[str, ...] | None  # as text; None: to the end of the table
    snapshot: Visibility | None  # None: no transaction that it contains can come any more
    text: str  # of the snapshot
    lsn: int  # from here on nothing commits that the snapshot contains


@dataclass(slots=True)
class TableStand:
    oid: int
    ranges: list[Range] = field(default_factory=list)
    whole: bool = False  # read to the end of the table
    keys: tuple[str, ...] = ()  # columns in whose order it is read
    after: int = 0  # where the stream stood when it was last known that a snapshot has all that is before (snapshot.py)

    @property
    def last_key(self) -> tuple[str, ...] | None:
        return self.ranges[-1].to if self.ranges else None

    @property
    def is_streaming(self) -> bool:
        """Every change counts."""
        return self.whole and not self.ranges

    def settle(self, lsn: int) -> bool:
        """The stream has come to `lsn`: snapshots before it decide nothing any more. Whether ranges have changed."""
        settled = sum(each.lsn <= lsn for each in self.ranges)
        if settled == 0 or (settled == 1 and self.ranges[0].snapshot is None and not self.whole):
            return False
        if settled == len(self.ranges) and self.whole:
            self.ranges.clear()
        else:
            last = self.ranges[settled - 1]
            self.ranges[:settled] = [Range(last.to, None, "", last.lsn)]
        return True

    def as_json(self) -> Position:
        if self.is_streaming:
            return {"oid": self.oid}
        ranges = [
            {"to": None if each.to is None else list(each.to), "snapshot": each.text, "lsn": lsn_text(each.lsn)}
            for each in self.ranges
        ]
        return {
            "oid": self.oid,
            "all": self.whole,
            "key": list(self.keys),
            "after": lsn_text(self.after),
            "read": ranges,
        }


@dataclass(slots=True)
class Stand:
    """A position, as the reader uses it."""

    system: str
    timeline: int
    lsn: int
    slot_lsn: int = 0
    commit_lsn: int = 0  # of the transaction that is delivered in part; 0: none
    done: int = 0
    tables: dict[str, TableStand] = field(default_factory=dict)

    @property
    def reached(self) -> int:
        """The last commit of which something was delivered."""
        return max(self.lsn, self.commit_lsn)

    def as_json(self) -> Position:
        found: Position = {
            "system": self.system,
            "timeline": self.timeline,
            "slot": lsn_text(self.slot_lsn),
            "lsn": lsn_text(self.lsn),
        }
        if self.commit_lsn:
            found["open"] = {"commit": lsn_text(self.commit_lsn), "done": self.done}
        found["tables"] = {name: each.as_json() for name, each in self.tables.items()}
        return found


class _Range(msgspec.Struct):
    to: list[str] | None
    snapshot: str
    lsn: str

    def as_range(self) -> Range:
        snapshot = Visibility.of(self.snapshot) if self.snapshot else None
        return Range(None if self.to is None else tuple(self.to), snapshot, self.snapshot, lsn_of(self.lsn))


class _Table(msgspec.Struct):
    oid: int
    all: bool = True
    key: list[str] = []
    after: str = "0/0"
    read: list[_Range] = []

    def as_stand(self) -> TableStand:
        ranges = [each.as_range() for each in self.read]
        return TableStand(self.oid, ranges, self.all, tuple(self.key), lsn_of(self.after))


class _Open(msgspec.Struct):
    commit: str
    done: int


class _Position(msgspec.Struct):
    system: str
    timeline: int
    lsn: str
    tables: dict[str, _Table]
    slot: str = "0/0"
    open: _Open | None = None


def stand_of(position: Position, connector: str) -> Stand:
    try:
        found = msgspec.convert(position, _Position)
        stand = Stand(found.system, found.timeline, lsn_of(found.lsn), lsn_of(found.slot))
        if found.open is not None:
            stand.commit_lsn, stand.done = lsn_of(found.open.commit), found.open.done
        for name, table in found.tables.items():
            stand.tables[name] = table.as_stand()
    except (msgspec.ValidationError, ValueError) as problem:
        raise Unavailable(
            f"the position of connector {connector} cannot be read: {problem}",
            f"`barnabas connect reset {connector}` starts again with a snapshot",
        ) from None
    return stand
