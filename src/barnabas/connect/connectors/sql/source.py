"""Rows of any database that SQLAlchemy knows, asked for again and again: those behind the last one by an increasing
column, a timestamp, or both; or all of them."""

from __future__ import annotations

import zoneinfo
from collections.abc import Sequence
from typing import Annotated

import msgspec

from barnabas.connect.connectors.sql.database import SqlDatabase
from barnabas.connect.connectors.sql.reader import Reading
from barnabas.connect.contract import Options, Position, Reader, Source
from barnabas.connect.errors import BadOption
from barnabas.connect.options import Secret, read_options

Seconds = Annotated[float, msgspec.Meta(ge=0)]


class SqlSourceOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    url: str
    password: Secret = ""
    tables: list[str] = []
    queries: dict[str, str] = {}
    increasing: str = ""
    timestamp: str = ""
    bulk: bool = False
    key: list[str] = []
    topic: str = ""
    interval: Annotated[float, msgspec.Meta(ge=0.05)] = 5.0
    delay: Seconds = 10.0
    gap_timeout: Seconds = 60.0
    timezone: str = "UTC"
    wait_for_transactions: bool = False
    connections: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 4


class SqlSource(Source):
    def __init__(self, name: str, given: Options) -> None:
        self._options = options = read_options("sql", SqlSourceOptions, given)
        if not options.tables and not options.queries:
            raise BadOption("sql needs the option 'tables' or 'queries'")
        if options.bulk == bool(options.increasing or options.timestamp):
            raise BadOption(
                "sql needs the option 'increasing' or 'timestamp' (or both), and the name of a column",
                "To read everything again and again, set bulk: true and neither of them",
            )
        if both := sorted(set(options.tables) & set(options.queries)):
            raise BadOption(f"sql: {both[0]!r} is the name of a table and of a query")
        try:
            self._zone = zoneinfo.ZoneInfo(options.timezone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            raise BadOption(f"option 'timezone' of sql: there is no time zone {options.timezone!r}") from None
        if "{" in options.topic.replace("{table}", ""):
            raise BadOption(f"option 'topic' of sql: {options.topic!r} has more than {{table}} in braces")
        self._database = SqlDatabase(options.url, options.password, options.connections)
        if options.wait_for_transactions and (self._database.kind != "postgresql" or options.queries):
            raise BadOption("option 'wait_for_transactions' of sql is for tables of PostgreSQL only")

    def splits(self) -> Sequence[str]:
        return [*self._database.matching(self._options.tables), *self._options.queries]

    def open(self, split: str, position: Position | None) -> Reader:
        options = self._options
        return Reading(
            database=self._database,
            name=split,
            query=options.queries.get(split, ""),
            increasing=options.increasing,
            timestamp=options.timestamp,
            key=options.key,
            topic=options.topic.replace("{table}", split) or None,
            interval=options.interval,
            delay=options.delay,
            gap_timeout=options.gap_timeout,
            zone=self._zone,
            settled=options.wait_for_transactions,
        ).open(position)

    def close(self) -> None:
        self._database.close()
