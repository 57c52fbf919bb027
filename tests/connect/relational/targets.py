"""A database to write to, PostgreSQL or DuckDB, and the records of a partition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from barnabas.connect.connectors.duckdb.sink import DuckdbSink
from barnabas.connect.connectors.postgres.sink import PostgresSink
from barnabas.connect.contract import Delivered, Rejected, Sink, Value, Writer
from tests.support.postgres import PASSWORD, Postgres

Row = tuple[Any, ...]  # Any: columns of any statement


class Target(ABC):
    kind: str
    sinks: list[Sink]

    @abstractmethod
    def options(self) -> dict[str, Any]: ...  # Any: options as a definition has them

    def sink(self, name: str = "orders", **options: Value) -> Sink:
        made: Sink = SINKS[self.kind](name, {**self.options(), **options})
        self.sinks.append(made)
        return made

    @abstractmethod
    def execute(self, statement: str) -> list[Row]: ...

    def close(self) -> None:
        for sink in self.sinks:
            sink.close()

    def types(self, table: str) -> dict[str, str]:
        found = self.execute(
            f"select column_name, data_type from information_schema.columns where table_name = '{table}'"
        )
        return {name: str(declared).lower() for name, declared in found}


SINKS: dict[str, type[PostgresSink] | type[DuckdbSink]] = {"postgres": PostgresSink, "duckdb": DuckdbSink}


class PostgresTarget(Target):
    kind = "postgres"

    def __init__(self, server: Postgres, database: str) -> None:
        self.server, self.database, self.sinks = server, database, []
        server.execute(f"create database {database} template template0")

    def options(self) -> dict[str, Any]:
        return {"url": self.server.url(self.database), "password": PASSWORD}

    def execute(self, statement: str) -> list[Row]:
        return self.server.execute(statement, database=self.database)


class DuckdbTarget(Target):
    kind = "duckdb"

    def __init__(self, folder: Path) -> None:
        self.path, self.sinks = folder / "warehouse.db", []

    def options(self) -> dict[str, Any]:
        return {"path": str(self.path)}

    def execute(self, statement: str) -> list[Row]:
        # The same settings as the sink's: within a process, a file is opened by all in one way.
        with duckdb.connect(str(self.path), config={"threads": 1}) as connection:
            return connection.execute(statement).fetchall()


def record(offset: int, value: Value, key: Value = None, topic: str = "orders", partition: int = 0) -> Delivered:
    return Delivered(topic, partition, offset, 1_700_000_000_000 + offset, key, value)


def write(writer: Writer, records: Sequence[Delivered]) -> list[tuple[int, str]]:
    """One batch; the offsets that were rejected, with the reasons."""
    rejected: Sequence[Rejected] = writer.write(records, records[-1].offset + 1)
    return [(each.record.offset, each.reason) for each in rejected]
