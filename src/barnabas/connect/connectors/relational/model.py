"""Tables and columns as a sink sees them, and rows on their way into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from barnabas.connect.connectors.relational.kinds import Kind
from barnabas.connect.contract import Value


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind
    type: str  # in the database's own words
    filled: bool = False  # by a default where a row does not name it: left to the database then
    computed: bool = False  # GENERATED ALWAYS: cannot be written
    scale: int = 0  # digits behind the point, where the database fixes them


@dataclass(frozen=True)
class Table:
    name: tuple[str, ...]  # (schema, table) or (table,)
    columns: Mapping[str, Column]  # by name, as the dialect compares names
    keys: Sequence[frozenset[str]] = ()  # columns of unique constraints, the primary key first

    @property
    def text(self) -> str:
        return ".".join(self.name)


@dataclass(frozen=True)
class Change:
    """What a table lacks: itself (`create`), columns, or width."""

    create: bool = False
    add: Sequence[tuple[str, str]] = ()  # name, type
    widen: Sequence[tuple[Column, Kind]] = ()
    key: Sequence[str] = ()  # of a table that is created
    unique: Sequence[str] = ()

    def __bool__(self) -> bool:
        return self.create or bool(self.add) or bool(self.widen)


class Action(Enum):
    APPEND = auto()
    ADD = auto()  # unless a row with the same key is there
    UPSERT = auto()
    DELETE = auto()


@dataclass(frozen=True, slots=True)
class Load:
    """Rows for one table, as columns. In an upsert and in a deletion each key is there once."""

    action: Action
    table: Table
    columns: Sequence[Column]
    data: Sequence[Sequence[Value]]  # for each column, its values
    indexes: Sequence[int]  # for each row, where its record is in the batch
    key: Sequence[str] = ()

    def part(self, start: int, stop: int) -> Load:
        return Load(
            self.action,
            self.table,
            self.columns,
            [values[start:stop] for values in self.data],
            self.indexes[start:stop],
            self.key,
        )

    def joined(self, other: Load) -> Load | None:
        """Both as one, where they are of one kind."""
        if (self.action, self.table, self.columns) != (other.action, other.table, other.columns):
            return None
        data = [[*first, *second] for first, second in zip(self.data, other.data, strict=True)]
        return Load(self.action, self.table, self.columns, data, [*self.indexes, *other.indexes], self.key)
