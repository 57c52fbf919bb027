"""The market pipeline on a real node and a real Spark, with reports late, doubled and out of order."""

from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from barnabas import Producer
from barnabas.pipelines.common.disorder import Disorder, millis
from barnabas.pipelines.market import BARS, PIPELINE, QUOTED, answer, generator
from barnabas.pipelines.market.answer import Bar, Quoted, Trade, ticks
from barnabas.testing import RunningNode
from tests.spark.stage import Stage, dropped_by_watermark

BEGIN = 1_790_000_040_000  # a whole minute
DISORDER = Disorder(network_ms=30, late=0.05, late_ms=28_000, too_late=0.005, too_late_ms=50_000, twice=0.02)


def test_streamed_recomputed_and_plain_python_agree(quick_spark: Any, node: RunningNode, tmp_path: Path) -> None:
    stage = Stage(PIPELINE, quick_spark, node.bootstrap, tmp_path)
    records = list(islice(generator.generate(5, BEGIN, 18, DISORDER), 3000))
    bars, quoted = answer.bars(records), answer.quoted(records)

    stage.write(records)

    assert dropped_by_watermark(stage.now(step=700)) == 0
    tellings = [bar_of(value) for value in stage.values(BARS)]
    newest = {(bar.symbol, bar.begin_ms): bar for bar in tellings}
    assert sorted(newest.values()) == bars
    assert len(tellings) > len(bars)  # some bars were amended
    by_trade = {key: quoted_of(value) for key, value in stage.newest(QUOTED).items()}
    assert sorted(by_trade.values(), key=lambda each: each.trade) == quoted

    first = next(message for message in stage.messages(BARS) if message.key == b"ACME|%d" % (BEGIN // 1000))
    with Producer(node.bootstrap) as producer:  # somebody meddles with a bar
        forged = stage.newest(BARS)[first.key] | {"high": 999.0}
        producer.send(stage.topics[BARS], msgspec.json.encode(forged), key=first.key, partition=first.partition)
    outcome = stage.later()
    settled = max(record.time_ms for record in records if record.topic == generator.TRADES) - 30_000
    assert outcome.numbers["disagreements"] == 1 and "THEY DO NOT AGREE" in outcome.lines[0]
    assert outcome.numbers["bars_equal"] == sum(bar.begin_ms + 60_000 <= settled for bar in bars) - 1 > 5
    assert outcome.numbers["quoted_trades_equal"] == sum(each.trade.time_ms <= settled for each in quoted)
    assert "all agree" in outcome.lines[1]
    assert "does not agree" in outcome.files["report"].read_text()


def bar_of(value: dict[str, Any]) -> Bar:
    first, high, low, last = (Decimal(str(value[name])) for name in ("open", "high", "low", "close"))
    return Bar(
        value["symbol"], millis(value["bar"]), first, high, low, last, value["volume"], value["trades"], value["vwap"]
    )


def quoted_of(value: dict[str, Any]) -> Quoted:
    trade = Trade(value["symbol"], millis(value["time"]), value["id"], ticks(value["price"]), value["size"])
    if "bid" not in value:
        return Quoted(trade, None)
    return Quoted(trade, (ticks(value["bid"]), ticks(value["ask"]), millis(value["quote_time"]), value["quote_seq"]))
