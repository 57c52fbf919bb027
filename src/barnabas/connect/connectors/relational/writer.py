"""Writes one partition into tables: exactly once, by the next offset in the same transaction as the rows.

The transaction moves the offset first, and only from the number that this writer knows. A worker that was paused, lost
the partition and wakes up finds another number, and nothing of its batch goes in. A commit whose answer was lost is
found in the same way: the offset is read again, and what is below it is skipped.

Records that the table does not take are returned, and become dead letters only after the transaction. A crash between
the two would lose them, as the offset is behind them already; so they are kept beside the offset until the next batch
is written, and `next_offset` goes back to the first of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

import msgspec

from barnabas.connect.connectors.relational.database import Database, NotChanged, Owner, Session
from barnabas.connect.connectors.relational.model import Load, Table
from barnabas.connect.connectors.relational.planning import Columns, Loads, columns_of, fitting, missing
from barnabas.connect.connectors.relational.rows import Rows, rows_of
from barnabas.connect.connectors.relational.rules import Rules
from barnabas.connect.connectors.relational.schema_columns import shape_of
from barnabas.connect.contract import Delivered, Rejected, Writer
from barnabas.connect.errors import Unavailable
from barnabas.connect.shapes import NO_FIELDS, Shape, Shapes

REASON_MAX = 300
_CHANGES_MAX = 8  # of one table for one batch: more only if others change it at the same time
_FIXED_MAX = 10_000

Reasons = dict[int, str]  # by the record's index in the batch


def pack(rejected: Sequence[Rejected]) -> str | None:
    """For the table of offsets. Many records have one reason, so by reason."""
    if not rejected:
        return None
    by_reason: dict[str, list[int]] = {}
    for each in rejected:
        by_reason.setdefault(each.reason, []).append(each.record.place)
    return msgspec.json.encode(by_reason).decode()


def unpack(text: str | None) -> dict[int, str]:
    if not text:
        return {}
    by_reason = msgspec.json.decode(text, type=dict[str, list[int]])
    return {offset: reason for reason, offsets in by_reason.items() for offset in offsets}


class _Changed(Exception):
    """Somebody has changed a table between our look at it and the transaction."""


class TableWriter(Writer):
    def __init__(
        self, database: Database, rules: Rules, topic: str, partition: int, shapes: Shapes | None = None
    ) -> None:
        """`shapes`: what is known of the records' schemas; it grows while records are decoded."""
        self._database, self._rules, self._shapes = database, rules, shapes
        self._owner = Owner(rules.connector, topic, partition)
        self._fixed: dict[tuple[str, str], str] = {}  # columns that the database does not change, and why
        self._known = False  # whether the two below are what the database has
        self._expected: int | None = None
        self._pending: dict[int, str] = {}
        with database.session() as session:
            self._learn(session)

    def _learn(self, session: Session) -> None:
        stored = session.stored(self._owner)
        self._expected = stored.next_offset if stored else None
        # Who writes on has dealt with what was returned before. It is not told again when only a connection was lost.
        known = stored is None or self._database.dealt_with.get(self._owner) == stored.next_offset
        self._pending = {} if stored is None or known else unpack(stored.rejected)
        self._known = True

    def next_offset(self) -> int | None:
        if self._expected is None:
            return None
        return min(self._pending, default=self._expected)

    def write(self, records: Sequence[Delivered], next_offset: int) -> Sequence[Rejected]:
        with self._database.session() as session:
            if not self._known:
                self._learn(session)
            self._known = False  # until the commit is through
            if len(self._fixed) > _FIXED_MAX:
                self._fixed.clear()
            for _ in range(_CHANGES_MAX):
                with contextlib.suppress(_Changed):
                    rejected = self._write(session, records, next_offset)
                    self._known = True
                    return rejected
        raise self._changing()

    def _changing(self) -> Unavailable:
        return Unavailable(f"{self._database.name}: tables change faster than records can be written")

    def _write(self, session: Session, records: Sequence[Delivered], next_offset: int) -> list[Rejected]:
        again: list[Rejected] = []
        if self._expected is not None:
            again = [Rejected(r, self._pending[r.place]) for r in records if r.place in self._pending]
            if next_offset <= self._expected:
                return again
            if self._pending:
                self._database.dealt_with[self._owner] = self._expected
            records = [record for record in records if record.place >= self._expected]
        reasons: Reasons = {}
        ready = [
            loads
            for name, indexes in self._by_table(records, reasons).items()
            if (loads := self._prepare(session, name, records, indexes, reasons)) is not None
        ]
        if not session.begin(self._owner, self._expected, next_offset):
            raise self._moved(session)
        for loads in ready:
            if _settle(session, loads, reasons) and session.table(loads.table.name, fresh=True) != loads.table:
                session.rollback()  # they were refused by a table that is not as it was seen any more
                raise _Changed
        rejected = again + [Rejected(records[index], reasons[index][:REASON_MAX]) for index in sorted(reasons)]
        session.commit(self._owner, pack(rejected))
        self._expected = next_offset
        self._pending = {each.record.place: each.reason for each in rejected}
        return rejected

    def _moved(self, session: Session) -> Unavailable:
        stored = session.stored(self._owner)
        return Unavailable(
            f"{self._database.name}: the next offset of {self._owner.topic}-{self._owner.partition} should be "
            f"{self._expected}, and is {stored.next_offset if stored else None}: another worker writes this partition"
        )

    def _by_table(self, records: Sequence[Delivered], reasons: Reasons) -> Mapping[tuple[str, ...], list[int]]:
        topics: dict[str, list[int]] = {}
        for index, record in enumerate(records):
            topics.setdefault(record.topic, []).append(index)
        found: dict[tuple[str, ...], list[int]] = {}
        for topic, indexes in topics.items():
            name = self._rules.table_of(topic)
            if name is None:
                longest = self._rules.dialect.name_bytes
                reasons.update(dict.fromkeys(indexes, f"topic {topic}: its table's name has more than {longest} bytes"))
            else:
                found[name] = sorted(found.get(name, []) + indexes)
        return found

    def _prepare(
        self,
        session: Session,
        name: tuple[str, ...],
        records: Sequence[Delivered],
        indexes: Sequence[int],
        reasons: Reasons,
    ) -> Loads | None:
        """The table as the records need it, and the rows for it. Before a record is rejected for what the table was a
        while ago, the table is looked at again: somebody may have changed it."""
        found: Reasons = {}
        for fresh in (False, True):
            found.clear()
            table = session.table(name, fresh)
            rows, wrong = rows_of(self._rules, records, indexes, table)
            found.update(wrong)
            loads, bad = self._fitted(session, name, table, rows, records)
            found.update(bad)
            if not found:
                break
        reasons.update(found)
        return loads

    def _fitted(
        self,
        session: Session,
        name: tuple[str, ...],
        table: Table | None,
        rows: Rows,
        records: Sequence[Delivered],
    ) -> tuple[Loads | None, Reasons]:
        rules = self._rules
        found: Reasons = {}
        changes = 0
        shape = self._shape(rows, records)
        while True:
            columns = self._columns(rows, records)
            change, bad = missing(rules, table, rows, columns, self._fixed, shape)
            if bad:
                found.update((rows.indexes[row], reason) for row, reason in bad.items())
                rows = rows.without(bad)
                continue
            if not rows.indexes:
                return None, found
            if not change:
                break
            if change.create and not rules.create:
                raise Unavailable(
                    f"there is no table {'.'.join(name)} in {self._database.name}", "Create it, or set create: true"
                )
            try:
                session.change(name, change)
                changes += 1
            except NotChanged as refused:  # one column less that is asked for, so this ends
                self._fixed[".".join(name), refused.column] = refused.reason
            if changes > _CHANGES_MAX:
                raise self._changing()
            table = session.table(name, fresh=True)
        if table is None:
            nothing = "none of its fields has a value, so there is no table to make"
            return None, {**found, **dict.fromkeys(rows.indexes, nothing)}
        loads, bad = self._loads(table, rows, columns, shape)
        found.update((rows.indexes[row], reason) for row, reason in bad.items())
        return loads, found

    def _shape(self, rows: Rows, records: Sequence[Delivered]) -> Shape:
        if self._shapes is None:
            return NO_FIELDS
        origins = dict.fromkeys(records[index].origin for index in rows.indexes)
        return shape_of(self._rules, rows, [(self._shapes.key(each), self._shapes.value(each)) for each in origins])

    def _columns(self, rows: Rows, records: Sequence[Delivered]) -> Columns:
        own = [records[index] for index in rows.indexes] if self._rules.metadata else []
        metadata = self._rules.metadata_of(self._owner.topic, own) if own else {}
        return columns_of(self._rules, rows, metadata)

    def _loads(self, table: Table, rows: Rows, columns: Columns, shape: Shape) -> tuple[Loads, Reasons]:
        fitted = fitting(self._rules, table, rows, columns, shape)
        return Loads(self._rules, table, rows, fitted), fitted.bad


def _settle(session: Session, loads: Loads, reasons: Reasons) -> bool:
    """Whether the database has refused any."""
    refused: Reasons = {}
    for load in loads.first():
        _halve(session, load, refused)
    any_refused = bool(refused)
    while refused:
        reasons.update(refused)
        now, refused = refused, {}
        for load in loads.instead(now):
            _halve(session, load, refused)
    return any_refused


def _halve(session: Session, load: Load, refused: Reasons) -> None:
    """All rows but those that the database refuses, which are found by trying halves."""
    parts = [load]
    while parts:
        part = parts.pop()
        reason = session.put(part)
        if reason is None:
            continue
        rows = len(part.indexes)
        if rows == 1:
            refused[part.indexes[0]] = reason
        else:
            parts += [part.part(rows // 2, rows), part.part(0, rows // 2)]
