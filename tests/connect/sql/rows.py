"""A database to read, and a reader used as the runtime uses it: positions go through JSON, and now and then everything
is closed and opened again at the last of them."""

from __future__ import annotations

import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from barnabas.connect.connectors.sql.source import SqlSource
from barnabas.connect.contract import Position, Reader, Record, Value
from tests.support.members import until


class Database(ABC):
    kind: str
    options: dict[str, Any]  # Any: options as a definition has them
    sources: list[SqlSource]

    @abstractmethod
    def execute(self, statement: str) -> list[tuple[Any, ...]]:  # Any: columns of any statement
        """The rows that it gives."""

    def source(self, **options: Value) -> SqlSource:
        made = SqlSource("orders", {**self.options, "interval": 0.05, **options})
        self.sources.append(made)
        return made

    def close(self) -> None:
        for each in self.sources:
            each.close()


class Following:
    """Reads a split; `restart` forgets what was not in the position."""

    def __init__(self, source: SqlSource, split: str = "orders", most: int = 100) -> None:
        self.source, self.split, self.most = source, split, most
        self.position: Position | None = None
        self.records: list[Record] = []
        self.reader: Reader = source.open(split, None)

    def restart(self) -> None:
        self.reader.close()
        self.reader = self.source.open(self.split, self.position)

    def once(self) -> list[Record]:
        """One read; what it gave."""
        chunk = self.reader.read(self.most, 0.06)
        if chunk is None:
            return []
        self.position = json.loads(json.dumps(chunk.position))
        self.records += chunk.records
        return list(chunk.records)

    def until(self, enough: Callable[[], bool], what: str) -> None:
        def asked() -> bool:
            self.once()
            return enough()

        until(asked, what)

    def values(self, field: str) -> list[Any]:  # Any: of any column
        return [record.value[field] for record in self.records]


class SqliteDatabase(Database):
    kind = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.options = {"url": f"sqlite:///{path}"}
        self.sources = []

    def execute(self, statement: str) -> list[tuple[Any, ...]]:  # Any: columns of any statement
        connection = sqlite3.connect(self.path)
        try:
            connection.executescript(statement) if ";" in statement else connection.execute(statement)
            rows = connection.execute(statement).fetchall() if statement.startswith("select") else []
            connection.commit()
            return rows
        finally:
            connection.close()
