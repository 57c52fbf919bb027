"""A driver to be killed: copies topic `source` to `sink` exactly once in small micro-batches, then ends by itself.

    python -m tests.spark.copy_driver BOOTSTRAP CHECKPOINT SOURCE SINK [--master M] [--per-batch N] [--patience S]
        [--conf K=V ...]

`--patience` is how long the sink waits for an answer before it asks again.
Ends with 0 when everything is copied, with 3 and the reason when the query fails.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pyspark.errors import StreamingQueryException

from barnabas.pipelines import session
from tests.spark.drivers import BUSY_TIMES, SLOW_START

# Small splits would share one task. Two tasks a micro-batch make the moment between their commits.
TASKS = 2


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("bootstrap", "checkpoint", "source", "sink"):
        parser.add_argument(name)
    parser.add_argument("--master", default="local[2,4]")
    parser.add_argument("--per-batch", type=int, default=200)
    parser.add_argument("--patience", type=int)
    parser.add_argument("--conf", action="append", default=[])
    given = parser.parse_args()
    conf: dict[str, Any] = {"spark.ui.enabled": False, "spark.driver.memory": "512m"}
    conf |= dict(pair.split("=", 1) for pair in given.conf)
    spark = session("copy", master=given.master, bootstrap=given.bootstrap, conf=conf)
    rows = (
        spark.readStream.format("barnabas")
        .option("kafka.bootstrap.servers", given.bootstrap)
        .option("subscribe", given.source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", given.per_batch)
        .option("minPartitions", TASKS)
        .load()
        .select("key", "value")
    )
    waits = {} if given.patience is None else {"kafka.request.timeout.ms": given.patience * 1000}
    writer = (
        rows.writeStream.format("barnabas")
        .option("kafka.bootstrap.servers", given.bootstrap)
        .option("topic", given.sink)
        .option("checkpointLocation", given.checkpoint)
        .options(**waits)
        .trigger(availableNow=True)
    )
    for _ in range(BUSY_TIMES):
        query = writer.start()
        print("started", flush=True)
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            print("failed:", str(error).strip().splitlines()[0], flush=True)  # the rest is a traceback and a plan
            if SLOW_START not in str(error):
                break
        else:
            print("done", len(query.recentProgress), flush=True)
            return 0
    return 3


if __name__ == "__main__":
    sys.exit(main())
