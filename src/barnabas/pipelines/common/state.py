"""Where Spark keeps the state of streams: in RocksDB, whose cost for a micro-batch does not grow with what is kept.

Spark's default copies all state of a partition with every micro-batch, and looks through all of it for what has
expired. `transformWithState` accepts nothing but RocksDB anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STORE = "spark.sql.streaming.stateStore"
SETTINGS = {
    f"{_STORE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    # What changed is uploaded with each batch, a whole snapshot only now and then: a batch ends sooner.
    f"{_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    # To count its rows, the store would look up each one before it is written.
    f"{_STORE}.rocksdb.trackTotalNumberOfRows": "false",
    # A join keeps its state in one store instead of four, and finds what has expired by its time.
    "spark.sql.streaming.join.stateFormatVersion": "4",
}


def use_rocksdb(spark: SparkSession) -> None:
    """For the queries that are started from now on, unless somebody has decided otherwise. A query that is started
    again goes by its checkpoint."""
    for name, value in SETTINGS.items():
        if spark.conf.get(name, None) is None:
            spark.conf.set(name, value)
