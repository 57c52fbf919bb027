"""Records as rows of PostgreSQL: upserts by key, or every record appended; exactly once, because the next offset is in
the same transaction (relational/writer.py)."""

from __future__ import annotations

from typing import Annotated

import msgspec

from barnabas.connect.connectors.postgres.tables.catalog import DIALECT
from barnabas.connect.connectors.postgres.tables.pool import PostgresDatabase
from barnabas.connect.connectors.relational.database import OFFSETS, Owner
from barnabas.connect.connectors.relational.rules import Rules, TableOptions
from barnabas.connect.connectors.relational.writer import TableWriter
from barnabas.connect.contract import Options, Sink, Writer
from barnabas.connect.errors import BadOption
from barnabas.connect.options import Secret, read_options
from barnabas.connect.shapes import TakesShapes


class PostgresSinkOptions(TableOptions, kw_only=True, forbid_unknown_fields=True):
    url: str
    password: Secret = ""
    offsets_table: str = OFFSETS
    connections: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 8
    connect_timeout: Annotated[float, msgspec.Meta(ge=1)] = 10  # seconds
    lock_timeout: Annotated[float, msgspec.Meta(gt=0)] = 10  # seconds


class PostgresSink(TakesShapes, Sink):
    def __init__(self, name: str, given: Options) -> None:
        options = read_options("postgres", PostgresSinkOptions, given)
        self._rules = Rules(name, options, DIALECT)
        offsets = tuple(options.offsets_table.split("."))
        if not 1 <= len(offsets) <= 2 or not all(offsets):
            raise BadOption(f"option 'offsets_table' of postgres: {options.offsets_table!r} is not a table")
        self._database = PostgresDatabase(
            options.url,
            options.password,
            offsets,
            options.connections,
            options.connect_timeout,
            options.lock_timeout,
        )

    def open(self, topic: str, partition: int) -> Writer:
        return TableWriter(self._database, self._rules, topic, partition, self.shapes)

    def reset(self, topic: str, partition: int, offset: int) -> None:
        self._database.reset(Owner(self._rules.connector, topic, partition), offset)

    def close(self) -> None:
        self._database.close()
