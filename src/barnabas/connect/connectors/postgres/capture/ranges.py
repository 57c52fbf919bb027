"""Which range of a table's key a changed row is in, asked of the database: only it knows the order of its types and
collations.

That is asked for few changes: those of transactions that some of the table's ranges contain and others do not. There
are none unless reading the table began anew after a crash, or took longer than one snapshot is held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import psycopg
from psycopg import sql

from barnabas.connect.connectors.postgres.capture.catalog import TableFacts, label
from barnabas.connect.connectors.postgres.capture.connection import in_words
from barnabas.connect.connectors.postgres.capture.transactions import Questionable
from barnabas.connect.contract import Record
from barnabas.connect.errors import Unavailable


def without_what_was_read(
    connection: psycopg.Connection,
    tables: Mapping[str, TableFacts],
    records: list[Record],
    questionable: Sequence[Questionable],
) -> list[Record]:
    """The records that count."""
    by_relation: dict[int, list[Questionable]] = {}
    for each in questionable:
        by_relation.setdefault(id(each.relation), []).append(each)
    dropped: set[int] = set()
    for group in by_relation.values():
        places = _places(connection, tables, group)
        for each, place in zip(group, places, strict=True):
            if not each.counts[place]:
                dropped.update(range(each.first, each.end))
    return [record for place, record in enumerate(records) if place not in dropped]


def _places(
    connection: psycopg.Connection, tables: Mapping[str, TableFacts], group: Sequence[Questionable]
) -> list[int]:
    """For each of one table, the number of the range that it is in."""
    relation = group[0].relation
    name = label(relation.schema, relation.table)
    table = tables.get(name)
    assert relation.stand is not None
    ends = [each.to for each in relation.stand.ranges if each.to is not None]
    if table is None or set(table.keys) != set(relation.keys) or any(len(end) != len(table.keys) for end in ends):
        raise Unavailable(
            f"the key of table {name} has changed while the table was being read",
            "`barnabas connect reset` starts with a new snapshot",
        )
    columns = [table.column(each) for each in table.keys]
    collated = [sql.SQL("collate " + each.collation) if each.collation else sql.SQL("") for each in columns]
    kinds = [sql.SQL(each.type_name) for each in columns]
    names = [sql.Identifier(f"k{number}") for number in range(len(columns))]
    key = sql.SQL(", ").join(
        sql.SQL("e.{}::{} {}").format(name, kind, collation)
        for name, kind, collation in zip(names, kinds, collated, strict=True)
    )
    behind = [
        sql.SQL("(({}) > ({}))::int").format(key, sql.SQL(", ").join(sql.SQL("%s::{}").format(kind) for kind in kinds))
        for _ in ends
    ]
    texts = [[(each.key[column.name] or b"").decode() for each in group] for column in columns]
    statement = sql.SQL("select {} from unnest({}) with ordinality e({}, place) order by place").format(
        sql.SQL(" + ").join(behind),
        sql.SQL(", ").join([sql.SQL("%s::text[]")] * len(columns)),
        sql.SQL(", ").join(names),
    )
    with in_words(f"cannot compare keys of table {table.label}"):
        rows = connection.execute(statement, [value for end in ends for value in end] + texts).fetchall()
    return [row[0] for row in rows]
