"""The database: an engine, its errors in one line, and what a table looks like."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import exc

from barnabas.connect.connectors.sql import values
from barnabas.connect.contract import Value
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.options import HIDDEN

_LENGTH_MAX = 300
_QUERY = "barnabas_query"
_CONVERT: dict[type[sa.types.TypeEngine[Value]], Callable[[Value], Value]] = {
    sa.DateTime: values.sqlite_datetime,
    sa.Date: values.sqlite_date,
    sa.Boolean: values.sqlite_boolean,
    sa.JSON: values.sqlite_json,
}


@dataclass(frozen=True)
class Shape:
    """A table or a query, ready to be selected from."""

    name: str
    source: sa.FromClause | sa.TextClause
    columns: Sequence[sa.ColumnElement[Value]]  # all of them
    by_name: Mapping[str, sa.ColumnElement[Value]]  # empty: of a query, whose columns nobody knows before it runs
    convert: Sequence[tuple[int, Callable[[Value], Value]]]  # by place of the column
    identity: Sequence[str]  # columns that tell rows apart: the primary key
    key: Sequence[str]  # of records
    zoned: bool | None = None  # whether the timestamp has a time zone; None: not known

    def column(self, name: str, database: str) -> sa.ColumnElement[Value]:
        if self.by_name and name not in self.by_name:
            raise Unavailable(f"{self.name} in {database} has no column {name}", f"It has: {', '.join(self.by_name)}")
        return self.by_name.get(name, sa.column(name))


class SqlDatabase:
    def __init__(self, url: str, password: str, connections: int) -> None:
        try:
            made = sa.make_url(url)
        except (exc.ArgumentError, ValueError):  # its text may have the password
            raise BadOption(
                "option 'url' of sql is not a URL of a database",
                'Write it as "postgresql://user@host/database" or "sqlite:////path/to/file"',
            ) from None
        if made.drivername == "postgresql":
            made = made.set(drivername="postgresql+psycopg")
        if password:
            made = made.set(password=password)
        self._secret = str(made.password or "")
        self.kind = made.get_backend_name()
        where = f"{made.host or ''}{':' + str(made.port) if made.port else ''}/{made.database or ''}"
        self.name = f"{self.kind} {where}"
        try:
            pooled = (
                {} if self.kind == "sqlite" else {"pool_size": connections, "max_overflow": 0, "pool_recycle": 1800}
            )
            self.engine = sa.create_engine(made, **pooled)
        except exc.NoSuchModuleError:
            raise BadOption(f"option 'url' of sql: SQLAlchemy has no dialect {made.drivername!r}") from None
        except ModuleNotFoundError as missing:
            raise BadOption(
                f"option 'url' of sql: {made.drivername} needs {missing.name}",
                f"Install it: pip install {missing.name}",
            ) from None

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection for a few statements."""
        with self.saying(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def saying(self) -> Iterator[None]:
        """Errors of the database as Unavailable, in one line, without a password."""
        try:
            yield
        except exc.SQLAlchemyError as problem:
            original = problem.orig if isinstance(problem, exc.DBAPIError) else None
            text = " ".join(str(original or problem).split())[:_LENGTH_MAX]
            if self._secret:
                text = text.replace(self._secret, HIDDEN)
            raise Unavailable(f"{self.name}: {text}") from None

    def matching(self, patterns: Sequence[str]) -> list[str]:
        """Tables by name, as they are written in the definition: with a schema or without."""
        found: dict[str, None] = {}
        for pattern in patterns:
            if not set(pattern) & set("*?["):
                found[pattern] = None
                continue
            schema, _, table = pattern.rpartition(".")
            with self.saying():
                names = sa.inspect(self.engine).get_table_names(schema or None)
            prefix = schema + "." if schema else ""
            found.update(dict.fromkeys(prefix + name for name in sorted(names) if fnmatch.fnmatchcase(name, table)))
        return list(found)

    def table(self, name: str, key: Sequence[str], timestamp: str) -> Shape:
        schema, _, table = name.rpartition(".")
        with self.saying():
            try:
                found = sa.Table(table, sa.MetaData(), schema=schema or None, autoload_with=self.engine)
            except exc.NoSuchTableError:
                raise Unavailable(
                    f"{self.name} has no table {name}", "Create it, or correct the option tables"
                ) from None
        by_name: dict[str, sa.ColumnElement[Value]] = {each.name: each for each in found.columns}
        convert: list[tuple[int, Callable[[Value], Value]]] = []
        if self.kind == "sqlite":
            for place, each in enumerate(found.columns):
                kinds = [kind for kind in _CONVERT if isinstance(each.type, kind)]
                convert += [(place, _CONVERT[kind]) for kind in kinds]
            by_name = {name: sa.type_coerce(each, sa.types.NullType()) for name, each in by_name.items()}
        zoned = None
        if timestamp in by_name and self.kind != "sqlite":
            declared = found.columns[timestamp].type
            if not isinstance(declared, sa.DateTime):
                raise Unavailable(
                    f"column {timestamp} of {name} in {self.name} is {declared}, and no timestamp",
                    "Name another by the option timestamp; a number that grows goes by increasing",
                )
            zoned = bool(declared.timezone)
        primary = [each.name for each in found.primary_key.columns]
        columns = [each.label(name) for name, each in by_name.items()]
        return Shape(name, found, columns, by_name, convert, primary, key or primary, zoned)

    def query(self, name: str, text: str, key: Sequence[str]) -> Shape:
        # Colons would be parameters of SQLAlchemy, and are casts, or part of a string.
        inner = sa.text(f"({text.strip().rstrip(';')}) {_QUERY}".replace(":", "\\:"))
        return Shape(name, inner, [sa.literal_column(f"{_QUERY}.*")], {}, (), key, key)

    def close(self) -> None:
        self.engine.dispose()
