"""Trades with the quote that held at their moment, in Spark: as a stream with state, and as a batch in SQL.

The two share nothing but the rule of what counts, so one can be held against the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as f
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from barnabas.pipelines.common import lateness
from barnabas.pipelines.market.answer import Quoted, Trade
from barnabas.pipelines.market.schema import ALLOWED_MS, TICKS
from barnabas.pipelines.market.tape import Tape, told

QUOTED = """id STRING, symbol STRING, time_ms BIGINT, price BIGINT, size BIGINT, bid BIGINT, ask BIGINT,
            quote_ms BIGINT, quote_seq BIGINT"""


class Join(StatefulProcessor):
    """Rows of both kinds of one symbol in, trades with their quotes out."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._tape = handle.getValueState("tape", "text STRING")

    def handleInputRows(self, key: tuple[str, ...], rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        symbol = key[0]
        held = self._tape.get()
        tape = Tape.of(symbol, held[0] if held is not None else None)
        trades, quotes = [], []
        for row in rows:
            if row["id"] is not None:
                trades.append(Trade(symbol, row["time_ms"], row["id"], row["first"], row["second"]))
            else:
                quotes.append((row["time_ms"], row["seq"], row["first"], row["second"]))
        found = told(tape, trades, quotes)
        self._tape.update((tape.text(),))
        for each in found:
            yield _row(each)

    def close(self) -> None:
        pass


def both(trades: DataFrame, quotes: DataFrame) -> DataFrame:
    """Trades and quotes that count, in the same columns; a quote has no id."""
    nothing = f.lit(None)
    one = lateness.counting(trades, ALLOWED_MS, "trades").select(
        "symbol", _millis(), "id", nothing.cast("bigint").alias("seq"), _ticks("price", "first"), _whole("size")
    )
    other = lateness.counting(quotes, ALLOWED_MS, "quotes").select(
        "symbol", _millis(), nothing.cast("string").alias("id"), "seq", _ticks("bid", "first"), _ticks("ask", "second")
    )
    return one.unionByName(other)


def joined(trades: DataFrame, quotes: DataFrame) -> DataFrame:
    """The stream: each trade at once, and again when a late quote changes it."""
    found = (
        both(trades, quotes)
        .groupBy("symbol")
        .transformWithState(Join(), outputStructType=QUOTED, outputMode="Append", timeMode="None")
    )
    return _shown(found)


def recomputed(trades: DataFrame, quotes: DataFrame) -> DataFrame:
    """The batch: the last quote before each trade, by one sort of both."""
    rows = both(trades, quotes).dropDuplicates(["symbol", "time_ms", "id", "seq"])
    newest = Window.partitionBy("symbol").orderBy("time_ms", f.col("id").isNotNull(), "seq")
    newest = newest.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    quote = f.when(f.col("id").isNull(), f.struct("first", "second", "time_ms", "seq"))
    held = rows.withColumn("quote", f.last(quote, ignorenulls=True).over(newest)).where(f.col("id").isNotNull())
    return _shown(
        held.select(
            "id",
            "symbol",
            "time_ms",
            f.col("first").alias("price"),
            f.col("second").alias("size"),
            f.col("quote.first").alias("bid"),
            f.col("quote.second").alias("ask"),
            f.col("quote.time_ms").alias("quote_ms"),
            f.col("quote.seq").alias("quote_seq"),
        )
    )


def _shown(found: DataFrame) -> DataFrame:
    """id, symbol, time, price, size, bid, ask, quote_time, quote_seq, age_ms, side."""
    middle = f.col("bid") + f.col("ask")
    twice = f.col("price") * 2
    side = f.when(twice > middle, "buy").when(twice < middle, "sell").when(twice == middle, "middle")
    return found.select(
        "id",
        "symbol",
        f.timestamp_millis("time_ms").alias("time"),
        *[_price(name) if name != "size" else f.col("size") for name in ("price", "size", "bid", "ask")],
        f.timestamp_millis("quote_ms").alias("quote_time"),
        "quote_seq",
        (f.col("time_ms") - f.col("quote_ms")).alias("age_ms"),
        side.alias("side"),
    )


def _row(quoted: Quoted) -> Row:
    trade = quoted.trade
    bid, ask, quote_ms, quote_seq = quoted.quote or (None, None, None, None)
    return Row(
        id=trade.id,
        symbol=trade.symbol,
        time_ms=trade.time_ms,
        price=trade.price,
        size=trade.size,
        bid=bid,
        ask=ask,
        quote_ms=quote_ms,
        quote_seq=quote_seq,
    )


def _millis() -> Column:
    return f.unix_millis("time").alias("time_ms")


def _ticks(column: str, name: str) -> Column:
    return (f.col(column) * TICKS).cast("bigint").alias(name)


def _whole(column: str) -> Column:
    return f.col(column).alias("second")


def _price(column: str) -> Column:
    return (f.col(column).cast("decimal(16,0)") / TICKS).cast("decimal(12,4)").alias(column)
