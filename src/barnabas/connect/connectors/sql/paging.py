"""Pages of a table or a query in the order of some columns, each page beginning behind the last row of the one before
(keyset pagination): no page costs more than the first, and no row is held in memory that is not in the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from barnabas.connect.connectors.sql import values
from barnabas.connect.connectors.sql.database import Shape
from barnabas.connect.contract import Value

PAGE_BYTES = 16 * 1024 * 1024  # about: then a page ends before it has all its rows
_FETCH = 500
_XMIN = "xmin::text::bigint, txid_snapshot_xmin(txid_current_snapshot()), txid_snapshot_xmax(txid_current_snapshot())"

Row = dict[str, Value]


@dataclass(frozen=True)
class Page:
    rows: Sequence[Row]
    order: Sequence[tuple[Value, ...]]  # for each row, its values of the columns that rows are read by
    is_last: bool  # for now


def behind(columns: Sequence[sa.ColumnElement[Value]], last: Sequence[Value]) -> sa.ColumnElement[bool]:
    """Rows that come after `last`. Written out, as not every database compares tuples; the first condition is for the
    index."""
    first, *rest = columns
    if not rest:
        return sa.and_(first > last[0])
    return sa.and_(first >= last[0], sa.or_(first > last[0], behind(rest, last[1:])))


def fetch(
    connection: sa.Connection,
    shape: Shape,
    by: Sequence[sa.ColumnElement[Value]],
    where: Sequence[sa.ColumnElement[bool]],
    most: int,
    *,
    settled: bool = False,
) -> Page:
    """`settled`, of PostgreSQL only: ends before the first row whose transaction is younger than one that is still
    open (below)."""
    extra = [each.label(f"barnabas_by_{place}") for place, each in enumerate(by)]
    added: list[sa.ColumnElement[Value]] = [sa.literal_column(each) for each in _XMIN.split(", ")] if settled else []
    chosen = sa.select(*shape.columns, *extra, *added).select_from(shape.source)
    chosen = chosen.where(*where, *(each.is_not(None) for each in by)).order_by(*by).limit(most)
    result = connection.execution_options(yield_per=min(most, _FETCH)).execute(chosen)
    width = len(result.keys()) - len(extra) - len(added)
    names = list(result.keys())[:width]
    rows: list[Row] = []
    order: list[tuple[Value, ...]] = []
    taken = 0
    with result:
        for found in result:
            if added and is_unsettled(*found[-3:]):
                return Page(rows, order, True)
            if taken > PAGE_BYTES:
                return Page(rows, order, False)
            row = as_row(names, found[:width], shape.convert)
            rows.append(row)
            order.append(tuple(found[width : width + len(by)]))
            taken += sum(map(values.size, row.values()))
    return Page(rows, order, len(rows) < most)


def as_row(
    names: Sequence[str], found: Sequence[Value], convert: Sequence[tuple[int, Callable[[Value], Value]]]
) -> Row:
    row = list(map(values.of_row, found))
    for place, change in convert:
        row[place] = change(row[place])
    return dict(zip(names, row, strict=True))


def is_unsettled(xmin: int, oldest: int, newest: int) -> bool:
    """Whether a transaction between the oldest that is open and the newest wrote the row. Before all of those are done,
    rows may still come that are in front of this one. `xmin` has 32 bits of the number, of a row that may be very old:
    so only a number within the few that are in question counts."""
    return (xmin - oldest) % (1 << 32) < newest - oldest
