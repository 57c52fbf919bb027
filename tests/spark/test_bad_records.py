"""Records that are plausible and wrong: what they may not do to a pipeline; both JSON decoders say the same of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import types as t

from barnabas import Admin, Consumer, Producer
from barnabas.cli.pipeline.new import write as write_template
from barnabas.pipelines.framework import deadletters, decoding, registry
from barnabas.pipelines.framework.expected import Expected
from barnabas.pipelines.framework.progress.counting import Counts
from barnabas.pipelines.framework.records import Record
from barnabas.pipelines.source.values.bad import Bad
from barnabas.pipelines.source.values.coerce import coerce
from barnabas.pipelines.source.values.json import JsonDecoder
from barnabas.testing import RunningNode
from tests.spark.stage import Stage, ended
from tests.unit.pipelines.test_source_values import records_of

BEGIN = 1_790_000_000_000
# By type: what stands in the JSON, and whether it fits.
VALUES: dict[str, dict[str, bool]] = {
    "string": {'"x"': True, "7": False, '"7"': True, "true": False, "{}": False, '{"a":7}': False, "null": True},
    "bigint": {"7": True, "7.0": False, '"7"': False, "9999999999999999999": False, "-1": True},
    "int": {"3000000000": False, "3": True},
    "double": {"7": True, "7.5": True, '"7"': False, '"NaN"': False, "1e999": False},
    "float": {"7.5": True, "1e300": False},
    "boolean": {"true": True, "1": False, '"true"': False},
    "decimal(12,4)": {"7": True, "7.00005": True, '"7.1"': True, "123456789012": False},
    "binary": {'"YQ=="': True, '"x"': False},
    "date": {'"2026-11-17"': True, "7": False, '"20261117"': False},
    "timestamp": {
        '"2026-11-17T10:00:00.123Z"': True, '"2026-11-17T10:00:00+02:00"': True, '"2026-11-17 10:00"': True,
        '"2026-11-17"': True, "1794833483273": False, "1794833483": False, '"1794833483273"': False, "2026": False,
        '"2026"': False, '"10:00:00"': False, '"2026-13-17T10:00:00Z"': False,
    },
    "struct<at:timestamp>": {'{"at":"2026-11-17"}': True, '{"at":7}': False, "7": False, "{}": True},
    "array<timestamp>": {'["2026-11-17"]': True, '["2026-11-17",7]': False},
}  # fmt: skip
MILLISECONDS = {"1794833483273": True, '"2026-11-17"': True, "1.5": False, "999999999999999": False}


def rows_of(spark: Any, texts: list[str]) -> Any:
    rows = [(None, text.encode(), "t", 0, at) for at, text in enumerate(texts)]
    frame = spark.createDataFrame(rows, "key binary, value binary, topic string, partition int, offset bigint")
    return frame.selectExpr("*", "timestamp'2100-01-01 00:00:00' timestamp")


def in_python(kind: t.StructType, text: str, milliseconds: bool) -> Any:
    """By the source's decoder, at once where that is possible; an exception where the value is bad."""
    from pyspark.sql.pandas.types import to_arrow_type

    arrow = to_arrow_type(kind, timezone="UTC")
    decoder = JsonDecoder(kind, arrow, milliseconds=milliseconds)
    records = records_of(text.encode())
    at_once = decoder.decode(records, records.values())
    one = pa.array([coerce(json.loads(text), kind, "", milliseconds)], arrow)
    assert at_once is None or at_once.equals(one), text
    return one.to_pylist()[0]["a"]


@pytest.mark.parametrize("milliseconds", [False, True])
def test_both_decoders_take_and_refuse_the_same(spark: Any, milliseconds: bool) -> None:
    tables = {"timestamp": MILLISECONDS} if milliseconds else VALUES
    for kind, values in tables.items():
        schema: Any = t.StructType.fromDDL(f"a {kind}")
        texts = [f'{{"a":{each}}}' for each in values]
        rules = Expected(f"a {kind}", milliseconds=milliseconds)
        fit = {row["_offset"]: row["a"] for row in decoding.good(rows_of(spark, texts), rules).collect()}
        for at, (text, fits) in enumerate(zip(texts, values.values(), strict=True)):
            assert (at in fit) is fits, f"{kind} in SQL: {text}"
            if not fits:
                with pytest.raises(Bad, match=r"^a[.\[:]"):
                    in_python(schema, text, milliseconds)
            elif kind.startswith(("timestamp", "date", "struct", "array")):
                in_python(schema, text, milliseconds)
            else:
                found = in_python(schema, text, milliseconds)
                assert found == (bytes(fit[at]) if kind == "binary" else fit[at]), f"{kind}: {text}"


def test_one_bad_record_does_not_end_a_pipeline_made_from_the_template(
    quick_spark: Any, node: RunningNode, tmp_path: Path
) -> None:
    """Milliseconds, or a time of the far future, would move the watermark and make every later row late."""
    pipeline = registry.find(str(write_template("shop", tmp_path)))
    stage = Stage(pipeline, quick_spark, node.bootstrap, tmp_path / "home", partitions=1)
    orders = stage.topics["shop.orders"]
    with Admin(node.bootstrap) as admin:
        admin.create_topic(orders + ".dead-letter", configs={"retention.ms": -1})

    def order(number: int, second: float, **other: Any) -> Record:
        at_ms = BEGIN + int(second * 1000)
        moment = f"2026-09-21T{at_ms // 3_600_000 % 24:02}:{at_ms // 60_000 % 60:02}:{at_ms // 1000 % 60:02}Z"
        value = {"id": f"x{number}", "item": "tea", "price": 1.0, "time": moment, **other}
        return Record("shop.orders", "tea", value, at_ms)

    good = [order(number, number) for number in range(40)]
    bad = [
        order(100, 5, item=7, time=1794833483273),
        order(101, 5, time="2999-01-01T00:00:00Z"),
        order(102, 5, price="free"),
    ]
    stage.write([*good[:10], *bad, *good[10:], order(103, 1)])  # the last one is late by the watermark
    context = stage.now(step=14)
    deadletters.start(context)
    context.start_again("dead-letters")
    ended(context, "dead-letters")

    windows = {value["time"]: value["orders"] for value in stage.values("shop.revenue")}
    assert list(windows.values()) == [10, 10], windows  # what the watermark has passed: 0-10 s and 10-20 s
    progress = [json.loads(each.json) for each in context.queries["revenue"].recentProgress]
    counts = Counts()
    counts.add(progress)
    counts.add(progress)  # each batch counts once
    assert (counts.rows, counts.late, counts.bad) == (44, 1, {orders: 3})
    with Consumer(orders + ".dead-letter", bootstrap=node.bootstrap, follow=False) as letters:
        told = {
            msgspec.json.decode(each.value)["id"]: (dict(each.headers)["error"] or b"").decode() for each in letters
        }
    assert told == {
        "x100": "time: 1794833483273 is not timestamp (ISO 8601 text)",
        "x101": "time: 2999-01-01 00:00:00 is more than 1 h after the record's own timestamp",
        "x102": "price: free is not double",
    }


def test_a_bad_value_where_the_schema_says_not_null(spark: Any, node: RunningNode, topic: Any) -> None:
    """It is no NullPointerException: the row has its reason in `_bad` and no value."""
    name = topic()
    with Producer(node.bootstrap) as producer:
        for value in ('{"id":"a","amount":1}', '{"id":"b","amount":"two"}', '{"amount":3}', None):
            producer.send(name, value)
    reader = spark.read.format("barnabas").option("subscribe", name).option("valueFormat", "json")
    schema = "id STRING NOT NULL, amount BIGINT NOT NULL"
    rows = reader.option("valueSchema", schema).load().orderBy("offset").collect()
    assert [(row["id"], row["amount"], row["_bad"] and row["_bad"]["reason"]) for row in rows] == [
        ("a", 1, None),
        (None, None, "amount: 'two' is not bigint"),
        (None, None, "missing: id"),
        (None, None, None),
    ]
    with pytest.raises(Exception, match="id cannot be NOT NULL in"):
        reader.schema("id STRING NOT NULL, offset BIGINT").load().collect()
