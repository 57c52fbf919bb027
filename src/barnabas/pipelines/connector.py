"""Spark's own Kafka connector, fetched once and kept (ivy.py): `session(connector=True)` needs its four jars."""

from __future__ import annotations

from pathlib import Path

from barnabas.pipelines.ivy import Jars, all_of, cache_folder, fetch

_SQL_KAFKA = "spark-sql-kafka-0-10_2.13"
_TOKENS = "spark-token-provider-kafka-0-10_2.13"
_KNOWN_TO_WORK = {  # after the version of PySpark itself: what runs with PySpark 4.2 and 4.3 too
    _SQL_KAFKA: ("4.2.0",),
    _TOKENS: ("4.2.0", "4.1.0-preview1"),
}
_FIXED = {"kafka-clients": "3.9.2", "commons-pool2": "2.13.1"}
_GROUPS = {
    _SQL_KAFKA: "org.apache.spark",
    _TOKENS: "org.apache.spark",
    "kafka-clients": "org.apache.kafka",
    "commons-pool2": "org.apache.commons",
}


def connector_jars() -> list[Path]:
    """The jars for `spark.jars`, from the cache or fetched now; PipelineError in one line when that fails."""
    import pyspark

    folder, jars = cache_folder("connector") / f"spark-{pyspark.__version__}", wanted(pyspark.__version__)
    if not folder.is_dir():
        fetch(jars, Path(pyspark.__file__).parent, folder)
    return all_of(jars, folder)


def wanted(spark_version: str) -> Jars:
    versions = {name: list(dict.fromkeys((spark_version, *more))) for name, more in _KNOWN_TO_WORK.items()}
    versions |= {name: [version] for name, version in _FIXED.items()}
    return Jars(
        "Spark's Kafka connector", 10, 'Without the connector use format("barnabas")', groups=_GROUPS, versions=versions
    )
