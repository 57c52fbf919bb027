"""A state from its commit log, in Spark: the newest change of each key, and the checksum of what that gives."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from barnabas.pipelines.restore.answer import ShardCheck
from barnabas.pipelines.restore.checksum import DIGITS, MODULUS, Checksum


def changes(log: DataFrame) -> DataFrame:
    """key, value, offset and what the headers say: shard, seq, keys, sum (null where a record has none)."""
    told = [_header(name).alias(name) for name in ("shard", "seq", "keys", "sum")]
    shard, seq, keys, total = told
    numbers = [each.try_cast("bigint").alias(name) for each, name in ((shard, "shard"), (seq, "seq"), (keys, "keys"))]
    return log.where(f.col("key").isNotNull()).select("key", "value", "offset", *numbers, total)


def by_key(changed: DataFrame) -> DataFrame:
    """key, value, shard after all changes, value null where the key is deleted; and `told`: what the newest change of
    the key says of its shard. The newest change of a shard is the newest of some key, so one pass over the log tells
    the state and what it has to be."""
    order = f.struct(f.coalesce("seq", f.lit(-1)), "offset")
    tells = f.col("shard").isNotNull() & f.col("sum").rlike(f"^[0-9a-f]{{{2 * DIGITS}}}$")
    told = f.max_by(f.struct("shard", "seq", "keys", "sum"), f.when(tells, f.col("seq")))
    newest = changed.groupBy("key").agg(f.max_by(f.struct("value", "shard"), order).alias("newest"), told.alias("told"))
    return newest.select("key", "newest.value", "newest.shard", "told")


def state(newest: DataFrame) -> DataFrame:
    """key, value, shard of what is there."""
    return newest.where(f.col("value").isNotNull()).select("key", "value", "shard")


def whole(held: DataFrame) -> Checksum:
    """The checksum of a state (key, value)."""
    row = held.agg(*_sums()).collect()[0]
    return _checksum(row)


def checked(newest: DataFrame) -> list[ShardCheck]:
    """Each shard: what its newest record says, and what was rebuilt."""
    expected = (
        newest.where(f.col("told").isNotNull())
        .groupBy(f.col("told.shard").alias("shard"))
        .agg(f.max_by(f.struct("told.keys", "told.sum"), "told.seq").alias("told"))
    )
    found = state(newest).where(f.col("shard").isNotNull()).groupBy("shard").agg(*_sums())
    rows = expected.join(found, "shard", "left").orderBy("shard").collect()
    return [
        ShardCheck(row["shard"], Checksum.of(row["told"]["keys"], row["told"]["sum"]), _checksum(row)) for row in rows
    ]


def _sums() -> list[Column]:
    length = f.length("key").cast("string").cast("binary")
    digest = f.sha2(f.concat(length, f.lit(b":"), f.col("key"), f.col("value")), 256)
    return [
        f.count("*").alias("count"),
        *[
            (f.sum(f.conv(f.substring(digest, begin, DIGITS), 16, 10).cast("decimal(20,0)")) % MODULUS).alias(name)
            for name, begin in (("high", 1), ("low", 1 + DIGITS))
        ],
    ]


def _checksum(row: object) -> Checksum:
    counted = {name: int(row[name] or 0) for name in ("count", "high", "low")}  # type: ignore[index]
    return Checksum(counted["count"], counted["high"], counted["low"])


def _header(name: str) -> Column:
    """The last header of that name, as text."""
    named = f.filter(f.coalesce(f.col("headers"), f.array()), lambda header: header["key"] == name)
    return f.try_element_at(named, f.lit(-1))["value"].cast("string")
