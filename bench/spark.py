"""One Spark for all rows that need one: local, every core, Spark's own Kafka connector beside our source and sink."""

from __future__ import annotations

from typing import Any


def bench_session() -> Any:
    """Made at first use and kept until the benchmark ends; starting it is no part of any figure."""
    from barnabas.pipelines import session

    conf = {
        "spark.ui.enabled": False,
        "spark.driver.memory": "2g",
        "spark.sql.streaming.numRecentProgressUpdates": 1000,
    }
    return session("bench", master="local[*]", connector=True, conf=conf)
