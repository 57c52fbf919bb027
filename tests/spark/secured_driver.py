"""A program of somebody who uses Spark with a secured cluster, for test_secured.py: `BOOTSTRAP FOLDER JSON`.

Three ways to log in, each writes rows and reads them back: by the client profile (nothing in the program says how), by
options of format("barnabas"), and, where its jars are there, by options of Spark's own connector. Spark writes its
event log to FOLDER/events, and what it would show of its configuration and plans is in FOLDER/shown.txt.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from barnabas.pipelines import PipelineError, session
from barnabas.pipelines.framework.spark_start import SPARK_CONF
from barnabas.pipelines.jvm import write_no_checksums

ROWS = 50


def main(bootstrap: str, folder: Path, options: dict[str, str]) -> None:
    try:
        from barnabas.pipelines.connector import connector_jars

        connector = bool(connector_jars())
    except PipelineError:
        connector = False
    events = folder / "events"
    events.mkdir()
    conf = {
        **SPARK_CONF,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
    }
    spark = session("secured", master="local[2]", connector=connector, bootstrap=bootstrap, conf=conf)
    write_no_checksums(spark)
    ways: dict[str, tuple[str, dict[str, str]]] = {
        "profile": ("barnabas", {}),
        "options": ("barnabas", options),
    }
    if connector:
        ways["connector"] = ("kafka", options)
    shown = [f"{name}={value}" for name, value in spark.sparkContext.getConf().getAll()]
    for way, (kind, given) in ways.items():
        topic = f"rows-{way}"
        login = {"kafka.bootstrap.servers": bootstrap, **given}
        rows = spark.range(ROWS).selectExpr("cast(id as string) as value")
        rows.write.format(kind).options(**login).option("topic", topic).mode("append").save()
        read = spark.read.format(kind).options(**login).option("subscribe", topic).load()
        assert read.selectExpr("cast(value as string) as value").distinct().count() == ROWS, topic
        shown += [read._jdf.queryExecution().toString(), read._jdf.queryExecution().explainString(formatted())]
        stream_through(spark, kind, login, topic, folder)
    (folder / "shown.txt").write_text("\n".join(shown))
    spark.stop()
    print("ways", *ways)


def formatted() -> Any:
    from pyspark import SparkContext

    jvm = SparkContext._active_spark_context._jvm  # type: ignore[union-attr]
    return jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")  # type: ignore[union-attr]


def stream_through(spark: Any, kind: str, login: dict[str, str], topic: str, folder: Path) -> None:
    """From one topic to another, as a stream that ends."""
    start = {"startingOffsets": "earliest", "subscribe": topic}
    rows = spark.readStream.format(kind).options(**login, **start).load().select("value")
    query = (
        rows.writeStream.format(kind)
        .options(**login)
        .option("topic", f"{topic}-copy")
        .option("checkpointLocation", str(folder / f"checkpoint-{topic}"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    copied = spark.read.format(kind).options(**login).option("subscribe", f"{topic}-copy").load()
    assert copied.count() == ROWS, topic


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), json.loads(Path(sys.argv[3]).read_text()))
