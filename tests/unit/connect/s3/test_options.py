"""Options that cannot be right are said in one line, and names of objects follow the layout."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.connect.connectors.s3.options import Layout, read_sink_options
from barnabas.connect.connectors.s3.sink import S3Sink
from barnabas.connect.connectors.s3.source import S3Source
from barnabas.connect.contract import Delivered
from barnabas.connect.errors import BadOption
from tests.support.delivered import delivered


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "s3 needs the option 'bucket'"),
        ({"bucket": ""}, "option 'bucket' of s3 is empty"),
        ({"bucket": "b", "access_key_id": "a"}, "needs both 'access_key_id' and 'secret_access_key'"),
        ({"bucket": "b", "timeout_seconds": 0}, "'timeout_seconds' of s3 must be above 0"),
        ({"bucket": "b", "ca": "/no/such"}, "s3 cannot read /no/such"),
        ({"bucket": "b", "buckett": "b"}, "s3 has no option 'buckett'"),
        ({"bucket": "b", "format": "csv"}, "option 'format' of s3"),
    ],
)
def test_a_bad_option_is_named(options: dict[str, Any], said: str) -> None:
    for kind in (S3Sink, S3Source):
        with pytest.raises(BadOption) as caught:
            kind("lake", options)
        assert said in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"compression": "gzip"}, "s3 writes parquet without gzip. It has: zstd, snappy, none"),
        ({"format": "jsonl", "compression": "snappy"}, "s3 writes jsonl without snappy. It has: gzip, zstd, none"),
        ({"object_bytes": 0}, "option 'object_bytes' of s3 must be above 0"),
        ({"layout": "{date}-{partition}-{offset}"}, "has no field {date}"),
        ({"layout": "{partition.x}-{offset}"}, "has no field {partition.x}"),
        ({"layout": "{topic}/{offset}"}, "needs {partition}"),
        ({"layout": "{topic}/{partition}"}, "needs {offset}"),
        ({"layout": "{"}, "a brace that is not closed"),
        ({"layout": "../{partition}-{offset}"}, "is no name of an object"),
        ({"layout": "/{partition}-{offset}"}, "is no name of an object"),
    ],
)
def test_a_bad_option_of_the_sink(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadOption) as caught:
        S3Sink("lake", {"bucket": "b", **options})
    assert said in str(caught.value)


def test_bad_options_of_the_source() -> None:
    for options, said in (
        ({"splits": 0}, "'splits' of s3 must be from 1 to 1000"),
        ({"remember": 0}, "'remember' of s3 must be above 0"),
        ({"restore": ["offset"]}, "option 'restore[0]' of s3"),
    ):
        with pytest.raises(BadOption) as caught:
            S3Source("lake", {"bucket": "b", **options})
        assert said in str(caught.value)


def test_secrets_do_not_show() -> None:
    options = read_sink_options({"bucket": "b", "access_key_id": "key-1", "secret_access_key": "sesame-42"})
    assert repr(options) == "SinkOptions(bucket='b', prefix='')"


def name(record: Delivered, layout: str = "", topic: str = "orders", partition: int = 3, **options: Any) -> str:
    given = {"bucket": "b", **options, **({"layout": layout} if layout else {})}
    made = Layout(read_sink_options(given), topic, partition)
    return made.name(made.place(record), 42)


def test_names_of_objects() -> None:
    record = delivered(50, {}, timestamp_ms=1_794_964_200_000)
    assert name(record) == "orders/day=2026-11-18/hour=01/3-00000000000000000042.parquet"
    assert name(record, "{year}/{month}/{partition}.{offset}") == ("2026/11/3.00000000000000000042.parquet")
    for compression, end in (("gzip", "jsonl.gz"), ("zstd", "jsonl.zst"), ("none", "jsonl")):
        found = name(delivered(50, {}), "{partition}-{offset}", format="jsonl", compression=compression)
        assert found == f"3-00000000000000000042.{end}"
    assert name(delivered(50, {}, topic="x"), "{topic}/{partition}-{offset}") == (
        "x/orders.3-00000000000000000042.parquet"
    )
    for bad in (delivered(0, {}, topic=".."), delivered(0, {}, topic="a/b"), delivered(0, {}, timestamp_ms=10**18)):
        with pytest.raises(ValueError, match="is no"):
            name(bad)
