"""Where Spark keeps the state of `transformWithState`: in RocksDB, the only store it accepts for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

# What changed is uploaded with each batch, a whole snapshot only now and then: a batch ends sooner.
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


def use_rocksdb(spark: SparkSession) -> None:
    """For the queries that are started from now on. A query that is started again goes by its checkpoint."""
    spark.conf.set(PROVIDER, ROCKSDB)
    spark.conf.set(CHANGELOG, "true")
