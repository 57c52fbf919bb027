"""`market`: trades with the quotes they were made at, bars by the minute, and the day reconciled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import Outcome, Pipeline, Record, Topic
from barnabas.pipelines.framework.context import FORMAT
from barnabas.pipelines.market import generator
from barnabas.pipelines.market.generator import QUOTES, TRADES
from barnabas.pipelines.market.schema import ALLOWED_MS, BAR_MS, QUOTE, TRADE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipelines.framework import RunContext
    from barnabas.pipelines.market.later import Comparison

BARS, QUOTED = "market-bars", "quoted-trades"
_UPSERTED = {"cleanup.policy": "compact"}

# What `later` reads back; the order of columns is that of `bars.bars` and `asof.recomputed`.
BAR_ROW = """symbol STRING, bar TIMESTAMP, open DECIMAL(12,4), high DECIMAL(12,4), low DECIMAL(12,4),
             close DECIMAL(12,4), volume BIGINT, trades BIGINT, vwap DOUBLE"""
QUOTED_ROW = """id STRING, symbol STRING, time TIMESTAMP, price DECIMAL(12,4), size BIGINT, bid DECIMAL(12,4),
                ask DECIMAL(12,4), quote_time TIMESTAMP, quote_seq BIGINT, age_ms BIGINT, side STRING"""


class Market(Pipeline):
    name = "market"
    summary = "trades, quotes and bars of a stock market"
    now_summary = "each trade with the quote of its moment; OHLC and VWAP by the minute, amended by late trades"
    later_summary = "reconciliation: bars and quotes of trades, computed again from the log, equal the streamed ones"
    reads = (Topic(TRADES, schema=TRADE), Topic(QUOTES, schema=QUOTE))
    writes = (Topic(BARS, configs=_UPSERTED), Topic(QUOTED, configs=_UPSERTED))

    def now(self, context: RunContext) -> None:
        from pyspark.sql import functions as f

        from barnabas.pipelines.common.upserts import upsert
        from barnabas.pipelines.framework.decoding import as_json
        from barnabas.pipelines.market.asof import joined
        from barnabas.pipelines.market.bars import bars

        found = bars(context.stream(TRADES, **_group("bars")))
        upsert(context, found, BARS, "bars", f.concat_ws("|", "symbol", f.unix_seconds("bar")))
        group = _group("quoted")
        told = joined(context.stream(TRADES, **group), context.stream(QUOTES, **group))
        context.to_topic(as_json(told, "id"), QUOTED, "quoted")

    def later(self, context: RunContext) -> Outcome:
        from barnabas.pipelines.market import later

        trades = context.batch(TRADES).cache()
        try:
            settled_ms = _settled_ms(trades)
            found = [reconciled_bars(context, trades, settled_ms), reconciled_trades(context, trades, settled_ms)]
        finally:
            trades.unpersist()
        place = context.path("reconciliation.html")
        place.write_text(later.report(found))
        numbers = {f"{each.what}_equal".replace(" ", "_"): each.equal for each in found}
        numbers["disagreements"] = sum(each.different + each.missing + each.unknown for each in found)
        return Outcome([each.line() for each in found], {"report": place}, numbers)

    def generate(self, seed: int, begin_ms: int, rate: float) -> Iterator[Record]:
        return generator.generate(seed, begin_ms, rate)

    def tell(self, topic: str, value: Mapping[str, object]) -> str:
        if "vwap" in value:
            prices = " ".join(str(value.get(name)) for name in ("open", "high", "low", "close"))
            return f"{value.get('symbol')} {prices}, {value.get('volume')} traded"
        return f"{value.get('symbol')} {value.get('side')} {value.get('size')} at {value.get('price')}"


def reconciled_bars(context: RunContext, trades: DataFrame, settled_ms: int) -> Comparison:
    from barnabas.pipelines.market import later
    from barnabas.pipelines.market.bars import bars

    ours = context.within(bars(trades), "bar")
    theirs = context.within(later.newest(_results(context, BARS), BAR_ROW), "bar")
    settled = f"unix_millis(bar) + {BAR_MS} <= {settled_ms}"
    return later.compared("bars", ours, theirs, ["symbol", "bar"], settled)


def reconciled_trades(context: RunContext, trades: DataFrame, settled_ms: int) -> Comparison:
    from barnabas.pipelines.market import later
    from barnabas.pipelines.market.asof import recomputed

    quotes = context.batch(QUOTES, earlier_ms=context.begin_ms or 0)  # the quote that held may be any time older
    ours = context.within(recomputed(trades, quotes), "time")
    theirs = context.within(later.newest(_results(context, QUOTED), QUOTED_ROW), "time")
    settled = f"unix_millis(time) <= {settled_ms}"
    return later.compared("quoted trades", ours, theirs, ["id", "time"], settled)


def _results(context: RunContext, topic: str) -> DataFrame:
    """All of a result topic: when a result was told says nothing about the time it is of."""
    from barnabas.pipelines.framework.topics import open_admin

    name = context.topic(topic)
    with open_admin(context.bootstrap) as admin:
        if name not in {each.name for each in admin.topics()}:
            raise PipelineError(
                f"there is no topic {name!r} to reconcile. First run: barnabas pipeline run market --now"
            )
    options = {**context.writing(), "subscribe": name, "startingOffsets": "earliest"}
    found: DataFrame = context.spark.read.format(FORMAT).options(**options).load()
    return found


def _settled_ms(trades: DataFrame) -> int:
    """Nothing of before this moment can still come."""
    from pyspark.sql import functions as f

    newest = trades.agg(f.max(f.unix_millis("_timestamp"))).collect()[0][0]
    return int(newest or 0) - ALLOWED_MS


def _group(query: str) -> dict[str, str]:
    """Each query shows its own lag."""
    return {"kafka.group.id": f"market.{query}"}


PIPELINE = Market()
