"""Readers of one table or query: by an increasing column, by a timestamp, or all of it again and again."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo

import sqlalchemy as sa

from barnabas.connect.connectors.sql import values
from barnabas.connect.connectors.sql.database import Shape, SqlDatabase
from barnabas.connect.connectors.sql.gaps import Gaps
from barnabas.connect.connectors.sql.paging import Page, Row, as_row, behind, fetch
from barnabas.connect.contract import Behind, Chunk, Position, Reader, Record, Value
from barnabas.connect.errors import Unavailable

_GAPS_MAX = 1000
_GAPS_A_QUERY = 100
_BEFORE_FIRST = 1000  # numbers before the first that is seen, which may belong to transactions that are open
_SAME_TIME_MAX = 100_000
_LOOK_AGAIN_S = 60  # at the columns of a table


@dataclass(frozen=True)
class Reading:
    """What a reader is to do, and of what."""

    database: SqlDatabase
    name: str
    query: str  # empty: a table
    increasing: str
    timestamp: str
    key: Sequence[str]
    topic: str | None
    interval: float
    delay: float
    gap_timeout: float
    zone: tzinfo
    settled: bool

    def shape(self) -> Shape:
        if self.query:
            return self.database.query(self.name, self.query, self.key or [self.increasing] * bool(self.increasing))
        found = self.database.table(self.name, self.key, self.timestamp)
        return found if found.key or not self.increasing else replace(found, key=[self.increasing])

    def open(self, position: Position | None) -> Reader:
        if self.timestamp:
            return TimestampReader(self, position)
        return IncreasingReader(self, position) if self.increasing else BulkReader(self, position)


class SqlReader(Reader):
    """Asks the database when the interval is over, and without a pause while there is more."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._due = 0.0
        self._looked = time.monotonic()
        self._shape = reading.shape()

    def read(self, most: int, wait_s: float) -> Chunk | None:
        now = time.monotonic()
        if now < self._due:
            time.sleep(max(0.0, min(wait_s, self._due - now)))
            if time.monotonic() < self._due:
                return None
        if now - self._looked > _LOOK_AGAIN_S:
            self._shape, self._looked = self._reading.shape(), now
        chunk, more = self._ask(max(1, most))
        self._due = 0.0 if more else time.monotonic() + self._reading.interval
        return chunk

    @abstractmethod
    def _ask(self, most: int) -> tuple[Chunk | None, bool]:
        """What is new, and whether there is more right away."""

    def _column(self, name: str) -> sa.ColumnElement[Value]:
        return self._shape.column(name, self._reading.database.name)

    def _records(self, rows: Sequence[Row]) -> list[Record]:
        key, topic, timestamp = self._shape.key, self._reading.topic, self._reading.timestamp
        records = [Record(row, {name: row.get(name) for name in key} if key else None, topic) for row in rows]
        for record in records if timestamp else ():
            at = record.value.get(timestamp)
            if isinstance(at, datetime):
                aware = at if at.tzinfo is not None else at.replace(tzinfo=self._reading.zone)
                record.timestamp_ms = max(0, int(aware.timestamp() * 1000))
        return records

    def _agree(self, position: Position, by: Sequence[str]) -> None:
        if position.get("by") != list(by):
            told = ", ".join(position.get("by") or ["nothing"])
            raise Unavailable(
                f"{self._reading.name} was read by {told} so far, and is to be read by {', '.join(by)} now",
                "Where to begin is not known: reset the connector, or give it another name",
            )


class IncreasingReader(SqlReader):
    def __init__(self, reading: Reading, position: Position | None) -> None:
        super().__init__(reading)
        self._last: Value = None
        self._gaps = Gaps()
        self._gaps_due = 0.0
        if position is not None:
            self._agree(position, [reading.increasing])
            self._last = values.from_json(position["last"])
            self._gaps = Gaps([(first, last, seen) for first, last, seen in position.get("gaps", [])])

    def _ask(self, most: int) -> tuple[Chunk | None, bool]:
        column = self._column(self._reading.increasing)
        before = self._gaps
        with self._reading.database.reading() as connection:
            late = self._late(connection, column, most)
            where = [] if self._last is None else [column > self._last]
            page = fetch(connection, self._shape, [column], where, most, settled=self._reading.settled)
        numbers = [number for (number,) in page.order]
        if numbers:
            if all(type(number) is int for number in numbers):
                last = self._last if type(self._last) is int else numbers[0] - 1 - _BEFORE_FIRST
                self._gaps = self._gaps.after(last, numbers, _now_ms(), _GAPS_MAX)
            self._last = numbers[-1]
        if not numbers and not late and self._gaps == before:
            return None, False
        position: Position = {"by": [self._reading.increasing], "last": values.to_json(self._last)}
        if self._gaps.ranges:
            position["gaps"] = [list(each) for each in self._gaps.ranges]
        return Chunk(self._records([*late, *page.rows]), position), not page.is_last

    def _late(self, connection: sa.Connection, column: sa.ColumnElement[Value], most: int) -> list[Row]:
        """Rows of numbers that were missing. Those that have been missing for too long are looked for once more, and
        given up."""
        if not self._gaps.ranges or time.monotonic() < self._gaps_due:
            return []  # while there are many new rows: not with each page of them
        asked_ms = _now_ms()
        rows: list[Row] = []
        ranges = self._gaps.ranges
        for begin in range(0, len(ranges), _GAPS_A_QUERY):
            some = [column.between(first, last) for first, last, _ in ranges[begin : begin + _GAPS_A_QUERY]]
            page = fetch(connection, self._shape, [column], [sa.or_(*some)], most)
            rows += page.rows
            self._gaps = self._gaps.without(number for (number,) in page.order)
            if not page.is_last:
                return rows  # the rest is asked for again, before anything is given up
        self._gaps_due = time.monotonic() + self._reading.interval
        self._gaps = self._gaps.seen_since(asked_ms - int(self._reading.gap_timeout * 1000))
        return rows


class TimestampReader(SqlReader):
    """Rows of one timestamp are told apart by the increasing column or the primary key. Without either, all rows of a
    timestamp are read together."""

    def __init__(self, reading: Reading, position: Position | None) -> None:
        super().__init__(reading)
        tie = [reading.increasing] if reading.increasing else list(self._shape.identity)
        self._by = [reading.timestamp, *(name for name in tie if name != reading.timestamp)]
        self._last: list[Value] | None = None
        self._behind: float | None = None
        if position is not None:
            self._agree(position, self._by)
            self._last = [values.from_json(each) for each in position["last"]]

    def _ask(self, most: int) -> tuple[Chunk | None, bool]:
        by = [self._column(name) for name in self._by]
        with self._reading.database.reading() as connection:
            now = self._now(connection)
            where = [*self._old_enough(by[0], now)]
            if self._last is not None:
                where.append(behind(by, self._last))
            page = fetch(connection, self._shape, by, where, most, settled=self._reading.settled)
            if len(by) == 1 and not page.is_last:
                page = self._whole_times(connection, by[0], where, page)
        self._note_behind(page, now)
        if not page.rows:
            return None, False
        self._last = list(page.order[-1])
        position = {"by": self._by, "last": [values.to_json(each) for each in self._last]}
        return Chunk(self._records(page.rows), position), not page.is_last

    def _whole_times(
        self,
        connection: sa.Connection,
        column: sa.ColumnElement[Value],
        where: Sequence[sa.ColumnElement[bool]],
        page: Page,
    ) -> Page:
        """Without the last timestamp, which may go on behind the page; where it is the only one, with all of it."""
        (last,) = page.order[-1]
        kept = [row for row, (at,) in zip(page.rows, page.order, strict=True) if at != last]
        if kept:
            return Page(kept, page.order[: len(kept)], False)
        whole = fetch(connection, self._shape, [column], [*where, column == last], _SAME_TIME_MAX)
        if not whole.is_last:
            raise Unavailable(
                f"more than {_SAME_TIME_MAX} rows of {self._reading.name}, or more than fit in memory, have the same "
                f"{self._reading.timestamp}",
                "Name a column that tells them apart by the option increasing",
            )
        return Page(whole.rows, whole.order, False)

    def _now(self, connection: sa.Connection) -> datetime:
        """By the clock of the database, which is the one that made the timestamps."""
        found = connection.execute(sa.select(sa.func.now())).scalar_one()
        assert isinstance(found, datetime)
        if found.tzinfo is not None and self._shape.zoned is False:
            found = found.astimezone(self._reading.zone).replace(tzinfo=None)
        return found

    def _old_enough(self, column: sa.ColumnElement[Value], now: datetime) -> Iterator[sa.ColumnElement[bool]]:
        delay = self._reading.delay
        if delay <= 0:
            return
        if self._reading.database.kind == "sqlite":  # text, and written in more than one way
            yield sa.func.julianday(column) <= sa.func.julianday("now") - delay / 86_400
        else:
            yield column <= now - timedelta(seconds=delay)

    def _note_behind(self, page: Page, now: datetime) -> None:
        self._behind = 0.0 if page.is_last else None
        at = page.order[-1][0] if page.order else None
        if not page.is_last and isinstance(at, datetime) and (at.tzinfo is None) == (now.tzinfo is None):
            self._behind = max(0.0, (now - at).total_seconds())

    def behind(self) -> Behind | None:
        return None if self._behind is None else Behind(seconds=self._behind)


class BulkReader(SqlReader):
    """All rows, in the order of the key, and from the beginning again after the interval. A table without a key is
    read by one statement, and from its beginning again after a restart."""

    def __init__(self, reading: Reading, position: Position | None) -> None:
        super().__init__(reading)
        self._by = list(self._shape.identity)
        self._passes, self._last, self._next_ms = 0, None, 0
        if position is not None:
            self._agree(position, self._by)
            self._passes, self._next_ms = position["passes"], position["next_ms"]
            self._last = position["last"] and [values.from_json(each) for each in position["last"]]
            if self._last is None:
                self._due = time.monotonic() + max(0, self._next_ms - _now_ms()) / 1000
        self._stream: Iterator[Sequence[Row]] | None = None
        self._open = ExitStack()

    def _ask(self, most: int) -> tuple[Chunk | None, bool]:
        rows, is_last = self._page(most) if self._by else self._next_of_stream(most)
        if is_last:
            self._passes, self._last = self._passes + 1, None
            self._next_ms = _now_ms() + int(self._reading.interval * 1000)
        last = self._last and [values.to_json(each) for each in self._last]
        position = {"by": self._by, "passes": self._passes, "last": last, "next_ms": self._next_ms}
        return Chunk(self._records(rows), position), not is_last

    def _page(self, most: int) -> tuple[Sequence[Row], bool]:
        by = [self._column(name) for name in self._by]
        where = [] if self._last is None else [behind(by, self._last)]
        with self._reading.database.reading() as connection:
            page = fetch(connection, self._shape, by, where, most)
        if page.order:
            self._last = list(page.order[-1])
        return page.rows, page.is_last

    def _next_of_stream(self, most: int) -> tuple[Sequence[Row], bool]:
        with self._reading.database.saying():
            if self._stream is None:
                self._stream = self._all(most)
            rows = next(self._stream, ())
        if not rows:
            self.close()
        return rows, not rows

    def _all(self, most: int) -> Iterator[Sequence[Row]]:
        connection = self._open.enter_context(self._reading.database.engine.connect())
        chosen = sa.select(*self._shape.columns).select_from(self._shape.source)
        result = connection.execution_options(yield_per=min(most, 500)).execute(chosen)
        self._open.callback(result.close)
        names = list(result.keys())
        for part in result.partitions():
            yield [as_row(names, tuple(found), self._shape.convert) for found in part]

    def close(self) -> None:
        self._stream = None
        with self._reading.database.saying():
            self._open.close()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
