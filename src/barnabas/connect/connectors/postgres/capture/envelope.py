"""Changes as records: plain rows (an upsert has the row, a delete is a tombstone), or Debezium's envelope.

A key that changes is a delete of the old one and an insert of the new one, in both. A method appends to `records`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from barnabas.connect.connectors.postgres.capture.pgoutput import UNCHANGED, Row, Steps
from barnabas.connect.connectors.postgres.capture.position import TableStand
from barnabas.connect.contract import Record, Value


@dataclass(slots=True, eq=False)
class Relation:
    """A table as its records need it."""

    schema: str
    table: str
    steps: Steps  # of the columns in the order of a message
    keys: tuple[str, ...]  # columns; none: the row is its own key
    topic: str | None
    stand: TableStand | None  # None: it is not captured
    plain: bool = False  # captured, and every change counts
    of_xid: int = -1  # the transaction that `counts` is about
    counts: list[bool] = field(default_factory=list)  # whether its changes count, by the range of the key


class Envelope(ABC):
    def __init__(self, placeholder: str) -> None:
        self.records: list[Record] = []
        self.timestamp_ms: int | None = None  # of the commit
        self.xid = 0
        self._placeholder = placeholder

    @abstractmethod
    def read(self, relation: Relation, row: Row, lsn: int) -> None: ...

    @abstractmethod
    def insert(self, relation: Relation, row: Row, lsn: int) -> None: ...

    @abstractmethod
    def update(self, relation: Relation, old: Row | None, row: Row, lsn: int) -> None: ...

    @abstractmethod
    def delete(self, relation: Relation, old: Row, lsn: int) -> None: ...

    @abstractmethod
    def truncate(self, relation: Relation, lsn: int) -> None: ...

    def complete(self, row: Row, old: Row | None) -> None:
        """Large values that the server did not send, because they are as before: from the old row where there is one
        (REPLICA IDENTITY FULL, or a column of the key), else the placeholder."""
        for name, value in row.items():
            if value is UNCHANGED:
                before = None if old is None else old.get(name)
                row[name] = self._placeholder if before is None or before is UNCHANGED else before


def key_of(relation: Relation, row: Row) -> Row:
    keys = relation.keys
    if len(keys) == 1:
        name = keys[0]
        return {name: row[name]}
    return {name: row[name] for name in keys} if keys else dict(row)


class Plain(Envelope):
    def insert(self, relation: Relation, row: Row, lsn: int) -> None:
        keys = relation.keys
        key = {keys[0]: row[keys[0]]} if len(keys) == 1 else key_of(relation, row)
        self.records.append(Record(row, key, relation.topic, self.timestamp_ms))

    read = insert

    def update(self, relation: Relation, old: Row | None, row: Row, lsn: int) -> None:
        key = key_of(relation, row)
        if old is not None and (before := key_of(relation, old)) != key:
            self.records.append(Record(None, before, relation.topic, self.timestamp_ms))
        self.records.append(Record(row, key, relation.topic, self.timestamp_ms))

    def delete(self, relation: Relation, old: Row, lsn: int) -> None:
        self.records.append(Record(None, key_of(relation, old), relation.topic, self.timestamp_ms))

    def truncate(self, relation: Relation, lsn: int) -> None:
        """Nothing says it without naming every row."""


class Debezium(Envelope):
    def __init__(self, placeholder: str, connector: str, database: str) -> None:
        super().__init__(placeholder)
        self._connector, self._database = connector, database

    def read(self, relation: Relation, row: Row, lsn: int) -> None:
        self._append(relation, "r", None, row, lsn)

    def insert(self, relation: Relation, row: Row, lsn: int) -> None:
        self._append(relation, "c", None, row, lsn)

    def update(self, relation: Relation, old: Row | None, row: Row, lsn: int) -> None:
        if old is not None and relation.keys and key_of(relation, old) != key_of(relation, row):
            self.delete(relation, old, lsn)
            self.insert(relation, row, lsn)
        else:
            self._append(relation, "u", old, row, lsn)

    def delete(self, relation: Relation, old: Row, lsn: int) -> None:
        self._append(relation, "d", old, None, lsn)
        if relation.keys:
            self.records.append(Record(None, key_of(relation, old), relation.topic, self.timestamp_ms))

    def truncate(self, relation: Relation, lsn: int) -> None:
        self._append(relation, "t", None, None, lsn)

    def _append(self, relation: Relation, op: str, before: Row | None, after: Row | None, lsn: int) -> None:
        row = after if after is not None else before
        key = key_of(relation, row) if row is not None and relation.keys else None
        value: Value = {
            "before": before,
            "after": after,
            "source": {
                "connector": "postgresql",
                "name": self._connector,
                "ts_ms": self.timestamp_ms,
                "snapshot": "true" if op == "r" else "false",
                "db": self._database,
                "schema": relation.schema,
                "table": relation.table,
                "txId": None if op == "r" else self.xid,
                "lsn": lsn,
            },
            "op": op,
            "ts_ms": int(time.time() * 1000),
        }
        self.records.append(Record(value, key, relation.topic, self.timestamp_ms))
