"""What is in the index after batches that come once, twice, late, or with records that OpenSearch will not take."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from barnabas.connect.connectors.opensearch.sink import OpensearchSink
from barnabas.connect.contract import Writer
from barnabas.connect.errors import Unavailable
from tests.support.delivered import START_MS, delivered, numbered
from tests.support.opensearch import OpenSearchProcess, proxied


@contextmanager
def writing(url: str, index: str, partition: int = 0, **options: Any) -> Iterator[Writer]:
    sink = OpensearchSink("orders", {"url": url, "index": index, **options})
    writer = sink.open("orders", partition)
    try:
        yield writer
    finally:
        writer.close()


def test_overlapping_and_repeated_batches_change_nothing(opensearch: OpenSearchProcess, index: str) -> None:
    rng = random.Random(7)
    with writing(opensearch.url, index, metadata="kafka", batch_records=30) as writer:
        for _ in range(20):
            first = rng.randrange(0, 150)
            end = rng.randrange(first, 200)
            assert not writer.write(numbered(first, end), end)
        assert not writer.write(numbered(0, 200), 200)
    found = opensearch.documents(index)
    assert {document["kafka"]["offset"] for document in found.values()} == set(range(200))
    assert found["key-12"] == {
        **numbered(12, 13)[0].value,
        "kafka": {"topic": "orders", "partition": 0, "offset": 12, "timestamp": START_MS + 12},
    }


def test_a_key_has_the_value_of_its_highest_offset(opensearch: OpenSearchProcess, index: str) -> None:
    with writing(opensearch.url, index) as writer, writing(opensearch.url, index) as paused:
        writer.write([delivered(0, {"n": 0}, "a"), delivered(1, {"n": 1}, b"b"), delivered(2, {"n": 2}, "a")], 3)
        writer.write([delivered(3, None, "b"), delivered(4, {"n": 4}, {"z": 1, "y": 2})], 5)
        # a former owner that wakes up and writes what it had
        paused.write([delivered(0, {"n": 0}, "a"), delivered(1, {"n": 1}, b"b")], 2)
    assert opensearch.documents(index) == {"a": {"n": 2}, '{"y":2,"z":1}': {"n": 4}}


def test_records_without_a_key_are_named_by_offset(opensearch: OpenSearchProcess, index: str) -> None:
    records = [
        delivered(0, {"n": 0}),
        delivered(1, "text", partition=0),
        delivered(2, None),
        delivered(3, b"\xff", "k"),
    ]
    with writing(opensearch.url, index) as writer:
        for _ in range(2):
            assert not writer.write(records, 4)
    found = opensearch.documents(index)
    assert found == {"orders-0-0": {"n": 0}, "orders-0-1": {"value": "text"}, "k": {"value": "/w=="}}


def test_an_index_by_day_and_a_data_stream(opensearch: OpenSearchProcess, index: str) -> None:
    day_ms = 86_400_000
    records = [delivered(each, {"n": each}, "same", timestamp_ms=START_MS + each * day_ms) for each in range(3)]
    with writing(opensearch.url, index + "-{day}", timestamp_field="@timestamp") as writer:
        for _ in range(2):
            assert not writer.write(records, 3)
    one = opensearch.documents(f"{index}-2026-11-19")
    assert one == {"orders-0-1": {"n": 1, "@timestamp": "2026-11-19T01:00:00.000Z"}}
    assert len(opensearch.documents(f"{index}-*")) == 3

    status, _ = opensearch.ask("PUT", "/_index_template/" + index, {"index_patterns": [f"{index}s"], "data_stream": {}})
    assert status == 200
    with writing(opensearch.url, f"{index}s") as writer, pytest.raises(Unavailable, match="Set data_stream: true"):
        writer.write(records, 3)
    with writing(opensearch.url, f"{index}s", data_stream=True) as writer:
        for _ in range(2):
            assert not writer.write(records, 3)
    assert len(opensearch.documents(f"{index}s")) == 3


def test_a_key_that_moved_to_another_partition_is_kept_by_time(opensearch: OpenSearchProcess, index: str) -> None:
    """After partitions were added: the new partition's offsets begin at 0."""
    for version, expected in (("offset", {"n": 1}), ("timestamp", {"n": 2})):
        name = f"{index}-{version}"
        with writing(opensearch.url, name, version=version) as old:
            old.write([delivered(1000, {"n": 1}, "a")], 1001)
        with writing(opensearch.url, name, 1, version=version) as new:
            new.write([delivered(3, {"n": 2}, "a", partition=1, timestamp_ms=START_MS + 9999)], 4)
        assert opensearch.documents(name)["a"] == expected


def test_records_that_opensearch_refuses_are_named_and_the_others_written(
    opensearch: OpenSearchProcess, index: str
) -> None:
    records = [
        delivered(0, {"n": 1}, "a"),
        delivered(1, {"n": "no number"}, "b"),
        delivered(2, {"n": {"deep": 1}}, "c"),
        delivered(3, {"n": 2, "bad": object()}, "d"),
        delivered(4, {"n": "\ud800"}, "e"),
        delivered(5, {"n": 3}, "f" * 600),
        delivered(6, {"n": 4, "text": "x" * 3_000_000}, "g"),
        delivered(7, {"n": 5}, "h"),
    ]
    with writing(opensearch.url, index) as writer:
        assert not writer.write(records[:1], 1)
        rejected = {each.record.offset: each.reason for each in writer.write(records, 8)}
    assert sorted(rejected) == [1, 2, 3, 4, 6]
    assert "mapper_parsing_exception: failed to parse field [n] of type [long]" in rejected[1]
    assert all("\n" not in reason for reason in rejected.values())
    assert "http.max_content_length" in rejected[6]
    found = opensearch.documents(index)
    assert {document["n"] for document in found.values()} == {1, 3, 5}
    assert [each for each in found if each.startswith("sha256:")], list(found)


def test_a_request_that_is_too_large_is_split(opensearch: OpenSearchProcess, index: str) -> None:
    records = [delivered(each, {"n": each, "text": "x" * 100_000}, f"k{each}") for each in range(60)]
    with proxied(opensearch.port, lambda *_: None) as proxy:
        with writing(f"http://127.0.0.1:{proxy.port}", index, batch_bytes=20_000_000) as writer:
            assert not writer.write(records, 60)
            first = proxy.requests
            assert not writer.write(records, 60)  # what was learnt is kept
        sent = [size for size, _ in proxy.bodies]
    assert len(opensearch.documents(index)) == 60
    assert max(sent[first:]) < 2_000_000 < max(sent[:first])


def test_compressed_bodies(opensearch: OpenSearchProcess, index: str) -> None:
    with proxied(opensearch.port, lambda *_: None) as proxy:
        with writing(f"http://127.0.0.1:{proxy.port}", index, compress=True) as writer:
            assert not writer.write(numbered(0, 500), 500)
        assert proxy.bodies[-1][1]
        assert proxy.bodies[-1][0] < 20_000
    assert len(opensearch.documents(index)) == 500
