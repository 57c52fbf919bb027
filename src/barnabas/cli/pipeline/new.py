"""`barnabas pipeline new`: a small working pipeline in one file, written to be changed."""

from __future__ import annotations

import re
from pathlib import Path

from barnabas.cli.common.failure import Failure, usage

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")

_TEMPLATE = '''"""{name}: revenue by item, as it comes and in bulk. Change it to what you need.

    barnabas pipeline run {name}.py --generate 50     # a stream, with believable data
    barnabas pipeline run {name}.py --later           # the same in bulk, from the log
"""

import random
from datetime import UTC, datetime

from barnabas.pipelines.framework import Option, Outcome, Pipeline, Record, Topic, decoding

ORDERS = Topic(
    "{name}.orders",
    # Values are JSON. What is NOT NULL must be there; a record that does not fit goes to {name}.orders.dead-letter.
    schema="id STRING NOT NULL, item STRING NOT NULL, price DOUBLE NOT NULL, time TIMESTAMP NOT NULL",
)
REVENUE = Topic("{name}.revenue")


def by_item(orders, window):
    """Works on a stream and on a table alike."""
    from pyspark.sql import functions as f

    totals = orders.groupBy(f.window("time", window), "item")
    totals = totals.agg(f.count("*").alias("orders"), f.round(f.sum("price"), 2).alias("revenue"))
    return totals.select(f.col("window.start").alias("time"), "item", "orders", "revenue")


class {title}(Pipeline):
    name = "{name}"
    summary = "revenue by item"
    now_summary = "revenue of each item in every window, to {name}.revenue"
    later_summary = "revenue of each item over a range of time"
    reads = (ORDERS,)
    writes = (REVENUE,)
    options = (Option("window", "10 seconds", "the width of a window"),)

    def now(self, context):
        orders = context.stream(ORDERS.name).withWatermark("time", "10 seconds").dropDuplicates(["id", "time"])
        totals = by_item(orders, context.option("window"))
        context.to_topic(decoding.as_json(totals, key="item"), REVENUE.name, "revenue")

    def later(self, context):
        orders = context.within(context.batch(ORDERS.name), "time").dropDuplicates(["id"])
        rows = by_item(orders, "365 days").orderBy("revenue", ascending=False).collect()
        page = context.path("revenue.csv")
        page.write_text("item,orders,revenue\\n" + "".join(f"{{r.item}},{{r.orders}},{{r.revenue}}\\n" for r in rows))
        lines = [f"{{r.item:<10}} {{r.orders:>6,}} orders {{r.revenue:>12,.2f}}" for r in rows[:5]]
        return Outcome(lines, {{"revenue": page}}, {{"items": len(rows), "orders": sum(r.orders for r in rows)}})

    def generate(self, seed, begin_ms, rate):
        chance = random.Random(seed)
        at_ms, number = float(begin_ms), 0
        while True:
            at_ms += chance.expovariate(rate) * 1000
            number += 1
            item = chance.choice(("bread", "coffee", "cheese", "wine"))
            moment = datetime.fromtimestamp(int(at_ms) / 1000, UTC).isoformat(timespec="milliseconds")
            price = round(chance.uniform(2, 20), 2)
            value = {{"id": f"{{seed}}-{{number}}", "item": item, "price": price, "time": moment}}
            yield Record(ORDERS.name, item, value, int(at_ms))
'''


def write(name: str, folder: Path) -> Path:
    """The file, which must not be there yet."""
    if not _NAME.fullmatch(name):
        raise usage(f"{name!r} is no good name", "Use small letters, digits and _, beginning with a letter.")
    path = folder / f"{name}.py"
    title = "".join(word.capitalize() for word in name.split("_"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(_TEMPLATE.format(name=name, title=title))
    except FileExistsError:
        raise Failure(f"{path} is there already", "Take another name, or --folder.") from None
    return path
