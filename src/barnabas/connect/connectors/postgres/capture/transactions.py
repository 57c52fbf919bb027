"""Messages of the replication stream to records, and to the position after them.

The server sends whole transactions in the order of their commits. A chunk may end inside one: the position then says
how many of its changes were delivered, and they are skipped when the stream is opened again. Changes are counted as the
server sends them, before anything is left out, so that the count does not depend on options.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from barnabas.connect.connectors.postgres.capture.envelope import Envelope, Relation, key_of
from barnabas.connect.connectors.postgres.capture.pgoutput import (
    BEGIN,
    COMMIT,
    DELETE,
    IGNORED,
    INSERT,
    KEY,
    NEW,
    OLD,
    RELATION,
    TRUNCATE,
    UNCHANGED,
    UPDATE,
    BadMessage,
    RelationMessage,
    check_end,
    raw_row,
    read_begin,
    read_commit,
    read_relation,
    read_row,
    read_truncate,
)
from barnabas.connect.connectors.postgres.capture.position import Stand
from barnabas.connect.connectors.postgres.capture.wal import lsn_text, unix_us
from barnabas.connect.errors import Unavailable

_HEADER = 25  # of every message of the stream: w, the LSN of the change, the end of the log, the server's clock
_oid = struct.Struct(">I").unpack_from
_lsn = struct.Struct(">Q").unpack_from


@dataclass(frozen=True, slots=True)
class Questionable:
    """Records of which only the database can say whether they count: by where their key is among those read."""

    relation: Relation
    key: dict[str, bytes | None]  # as text, by the column
    first: int  # records, by their places
    end: int
    counts: tuple[bool, ...]


class Transactions:
    def __init__(
        self, stand: Stand, envelope: Envelope, resolve: Callable[[RelationMessage], Relation], truncates: bool
    ) -> None:
        self.stand = stand
        self.envelope = envelope
        self.is_open = False
        self.questionable: list[Questionable] = []
        self.relations: dict[int, Relation] = {}
        self.commit_us: int | None = None  # when the last transaction committed, in Unix time
        self._resolve = resolve
        self._truncates = truncates
        self._commit_lsn = 0
        self._xid = 0
        self._done = 0  # changes of the open transaction that were seen
        self._skip = 0  # as many of them were delivered before

    def take(self, data: bytes) -> None:
        """One message of the stream, its header included."""
        kind = data[_HEADER]
        if kind == INSERT:
            self._done += 1
            if self._done > self._skip:
                relation = self.relations[_oid(data, 26)[0]]
                if relation.plain:
                    row, at = read_row(relation.steps, data, 31)
                    if at != len(data):
                        check_end(data, at)
                    self.envelope.insert(relation, row, _lsn(data, 1)[0])
                else:
                    self._insert(relation, data)
        elif kind in (UPDATE, DELETE):
            self._done += 1
            if self._done > self._skip:
                relation = self.relations[_oid(data, 26)[0]]
                if relation.plain or self._counts(relation):
                    (self._update if kind == UPDATE else self._delete)(relation, data)
        elif kind == BEGIN:
            self._begin(data)
        elif kind == COMMIT:
            self._commit(data)
        elif kind == RELATION:
            message = read_relation(data, 26)
            self.relations[message.oid] = self._resolve(message)
        elif kind == TRUNCATE:
            self._truncate(data)
        elif kind not in IGNORED:
            raise BadMessage(f"its kind is {kind}")

    # --- transactions -----------------------------------------------------------------------------------------------

    def _begin(self, data: bytes) -> None:
        if self.is_open:
            raise BadMessage("a transaction begins in another")
        commit_lsn, time_us, xid = read_begin(data, 26)
        stand, envelope = self.stand, self.envelope
        self.is_open, self._commit_lsn, self._xid = True, commit_lsn, xid
        self._done = self._skip = 0
        self.commit_us = commit_us = unix_us(time_us)
        envelope.timestamp_ms, envelope.xid = commit_us // 1000, xid
        if commit_lsn < stand.lsn:
            self._skip = 1 << 62
        elif stand.commit_lsn:
            if commit_lsn != stand.commit_lsn:
                raise Unavailable(
                    f"the rest of the transaction that committed at {lsn_text(stand.commit_lsn)} is missing: the slot"
                    f" goes on at {lsn_text(commit_lsn)}",
                    "Something else has moved the replication slot: `barnabas connect reset` starts with a snapshot",
                )
            self._skip = stand.done

    def _commit(self, data: bytes) -> None:
        if not self.is_open:
            raise BadMessage("a commit of no transaction")
        self.is_open = False
        stand = self.stand
        stand.lsn, stand.commit_lsn, stand.done = max(stand.lsn, read_commit(data, 26)), 0, 0

    def mark(self) -> None:
        """Everything that was taken goes into a chunk: the position is that after it."""
        if self.is_open and self._done and self._skip < 1 << 62:
            self.stand.commit_lsn, self.stand.done = self._commit_lsn, max(self._done, self._skip)

    # --- changes ----------------------------------------------------------------------------------------------------

    def _counts(self, relation: Relation) -> bool:
        """Whether changes of this transaction may count, of some row of the table."""
        stand = relation.stand
        if stand is None:
            return False
        if relation.of_xid != self._xid:
            relation.of_xid = self._xid
            ranges = stand.ranges
            relation.counts = [each.snapshot is None or not each.snapshot.contains(self._xid) for each in ranges]
            if not stand.whole:
                relation.counts.append(False)  # what has not been read yet will be, with this change
        return any(relation.counts)

    def _insert(self, relation: Relation, data: bytes) -> None:
        if self._counts(relation):
            row, at = read_row(relation.steps, data, 31)
            check_end(data, at)
            first = len(self.envelope.records)
            self.envelope.insert(relation, row, _lsn(data, 1)[0])
            self._question(relation, data, 31, first)

    def _update(self, relation: Relation, data: bytes) -> None:
        at, old = 31, None
        if data[30] != NEW:
            if data[30] not in (OLD, KEY):
                raise BadMessage(f"an update with a row of kind {data[30]}")
            old, at = read_row(relation.steps, data, at)
            if data[at] != NEW:
                raise BadMessage(f"an update with a second row of kind {data[at]}")
            at += 1
        row, end = read_row(relation.steps, data, at)
        check_end(data, end)
        if UNCHANGED in row.values():
            self.envelope.complete(row, old)
        moved = old is not None and key_of(relation, old) != key_of(relation, row)
        if data[30] == KEY and not moved:
            old = None  # only sent because a part of the key is stored out of line: nothing but the key is in it
        lsn: int = _lsn(data, 1)[0]
        first = len(self.envelope.records)
        if relation.plain or not moved or old is None or all(relation.counts):
            self.envelope.update(relation, old, row, lsn)
        else:  # from one range to another, perhaps: its two halves are judged by themselves
            self.envelope.delete(relation, old, lsn)
            self._question(relation, data, 31, first)
            first = len(self.envelope.records)
            self.envelope.insert(relation, row, lsn)
        if not relation.plain:
            self._question(relation, data, at, first)

    def _delete(self, relation: Relation, data: bytes) -> None:
        if data[30] not in (OLD, KEY):
            raise BadMessage(f"a delete with a row of kind {data[30]}")
        old, at = read_row(relation.steps, data, 31)
        check_end(data, at)
        first = len(self.envelope.records)
        self.envelope.delete(relation, old, _lsn(data, 1)[0])
        if not relation.plain:
            self._question(relation, data, 31, first)

    def _truncate(self, data: bytes) -> None:
        self._done += 1
        if self._done > self._skip and self._truncates:
            for oid in read_truncate(data, 26):
                relation = self.relations[oid]
                if relation.plain or (self._counts(relation) and all(relation.counts)):
                    self.envelope.truncate(relation, _lsn(data, 1)[0])

    def _question(self, relation: Relation, data: bytes, at: int, first: int) -> None:
        """Notes the records from `first` on, unless it is clear that they count."""
        if all(relation.counts):
            return
        texts = raw_row(data, at)
        key = {name: each for (name, _), each in zip(relation.steps, texts, strict=True) if name in relation.keys}
        counts = tuple(relation.counts)
        self.questionable.append(Questionable(relation, key, first, len(self.envelope.records), counts))
