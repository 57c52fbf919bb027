"""Spark's way to S3: Hadoop's S3A and those modules of Amazon's SDK that it needs, fetched once and kept (ivy.py).

The SDK as Hadoop asks for it, in one jar of all services, is more than half a gigabyte; S3A uses S3, its transfer
manager and STS (roles), which with all they need are 9 MB. Netty, Apache's HTTP client and the rest lie in PySpark.
Workers need nothing: Spark hands them the jars.

Credentials are those that AWS's tools use: AWS_ACCESS_KEY_ID and its like in the environment of the driver, which Spark
hands to its executors; else what each machine finds by itself (a profile, a role). They are read by Java and never by
us, so they are in no command line and in no log of ours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from barnabas.pipelines.ivy import Jars, all_of, cache_folder, fetch

SCHEME = "s3a://"
_SDK_OF = {"3.5.0": "2.35.4"}  # what Hadoop was made with; Hadoop and its SDK fit each other exactly
_NEWEST_SDK = "2.35.4"
_SDK = (
    "annotations", "apache-client", "arns", "auth", "aws-core", "aws-query-protocol", "aws-xml-protocol", "checksums",
    "checksums-spi", "crt-core", "endpoints-spi", "http-auth", "http-auth-aws", "http-auth-aws-eventstream",
    "http-auth-spi", "http-client-spi", "identity-spi", "json-utils", "metrics-spi", "netty-nio-client", "profiles",
    "protocol-core", "regions", "retries", "retries-spi", "s3", "s3-transfer-manager", "sdk-core", "sts",
    "third-party-jackson-core", "utils", "utils-lite",
)  # fmt: skip
_OTHERS = {
    "analyticsaccelerator-s3": ("software.amazon.s3.analyticsaccelerator", "1.3.1"),  # S3A's classes name some of it
    "eventstream": ("software.amazon.eventstream", "1.0.1"),
    "reactive-streams": ("org.reactivestreams", "1.0.4"),
}
_HADOOP_AWS = "hadoop-aws"
_HADOOP = re.compile(r"hadoop-client-api-(.+)\.jar")
_BRING_JARS = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath")
_S3A = "spark.hadoop.fs.s3a"
_OURS = "org.apache.hadoop.fs.s3a"
_CREDENTIALS = (
    f"{_OURS}.TemporaryAWSCredentialsProvider",
    f"{_OURS}.SimpleAWSCredentialsProvider",
    "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",  # as AWS's own tools: profiles, roles of pods
)


def settings(conf: Mapping[str, str]) -> dict[str, str]:
    """What a session needs for addresses that begin with `s3a://`; `conf` is what a person has set, and wins."""
    made = {
        # The default of Hadoop 3.5 reads ahead for tables; a checkpoint is many small files.
        f"{_S3A}.input.stream.type": "classic",
        f"{_S3A}.aws.credentials.provider": ",".join(_CREDENTIALS),
    }
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if endpoint:
        made[f"{_S3A}.endpoint"] = endpoint
    if endpoint or f"{_S3A}.endpoint" in conf:  # another store than Amazon's: bucket in the path, region of no meaning
        made[f"{_S3A}.path.style.access"] = "true"
        region = region or "us-east-1"
    if region:
        made[f"{_S3A}.endpoint.region"] = region
    jars = ",".join(map(str, s3a_jars(conf)))
    if jars:
        made["spark.jars"] = f"{conf['spark.jars']},{jars}" if "spark.jars" in conf else jars
    return {**made, **{name: value for name, value in conf.items() if name != "spark.jars" and name in made}}


def s3a_jars(conf: Mapping[str, str]) -> list[Path]:
    """The jars for `spark.jars`, from the cache or fetched now; none where somebody has brought them already."""
    import pyspark

    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    if any(_HADOOP_AWS in conf.get(name, "") for name in _BRING_JARS) or any((home / "jars").glob(f"{_HADOOP_AWS}-*")):
        return []
    hadoop = next(_versions(home / "jars"), next(iter(_SDK_OF)))
    folder = cache_folder("s3a") / f"hadoop-{hadoop}"
    jars = wanted(hadoop)
    if not folder.is_dir():
        fetch(jars, Path(pyspark.__file__).parent, folder)
    return all_of(jars, folder)


def wanted(hadoop: str) -> Jars:
    sdk = _SDK_OF.get(hadoop, _NEWEST_SDK)
    artifacts = {_HADOOP_AWS: ("org.apache.hadoop", hadoop), **_OTHERS}
    artifacts |= dict.fromkeys(_SDK, ("software.amazon.awssdk", sdk))
    return Jars(
        "what Spark needs for S3",
        13,
        "Without it leave --checkpoints away, or bring Hadoop's S3A yourself (--conf spark.jars=...)",
        groups={name: group for name, (group, _) in artifacts.items()},
        versions={name: [version] for name, (_, version) in artifacts.items()},
    )


def _versions(jars: Path) -> Iterator[str]:
    for each in sorted(jars.glob("hadoop-client-api-*.jar")):
        found = _HADOOP.fullmatch(each.name)
        if found is not None:
            yield found[1]
