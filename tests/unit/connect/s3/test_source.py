"""Objects as records: what the sink has written comes back the same, from any position, and nothing is read twice."""

from __future__ import annotations

import gzip
import io
import json
import random
import time
import tracemalloc
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from barnabas.connect.connectors.s3.sink import S3Sink
from barnabas.connect.connectors.s3.source import S3Source
from barnabas.connect.connectors.s3.store import Bucket
from barnabas.connect.contract import Position, Record
from barnabas.connect.errors import Unavailable
from tests.support.delivered import START_MS, delivered
from tests.support.s3 import S3Bucket

EVERYTHING = ["key", "timestamp", "headers", "partition", "topic"]


def read_all(
    source: S3Source, split: str = "0-of-1", position: Position | None = None, most: int = 70
) -> tuple[list[Record], list[Position]]:
    """Until there is nothing new; each position as JSON would have it."""
    reader, records, positions = source.open(split, position), list[Record](), list[Position]()
    while (chunk := reader.read(most, 0)) is not None:
        assert len(chunk.records) <= most
        records += chunk.records
        positions.append(json.loads(json.dumps(chunk.position)))
    reader.close()
    return records, positions


def source(bucket: S3Bucket, **options: Any) -> S3Source:
    return S3Source("back", {**bucket.options, "poll_seconds": 0.001, **options})


@pytest.mark.parametrize(
    ("kind", "compression"),
    [("parquet", "zstd"), ("parquet", "snappy"), ("jsonl", "gzip"), ("jsonl", "zstd"), ("jsonl", "none")],
)
def test_what_the_sink_wrote_comes_back_the_same(bucket: S3Bucket, kind: str, compression: str) -> None:
    written = {}
    options = {**bucket.options, "prefix": "lake", "metadata": True, "object_records": 100, "format": kind}
    sink = S3Sink("lake", {**options, "compression": compression})
    for partition in (0, 1):
        writer = sink.open("orders", partition)
        records = [
            delivered(
                each,
                {
                    "n": each,
                    "text": f"é {each}",
                    "price": each / 4,
                    "in": {"a": [each], "b": None},
                    "ok": each % 2 == 0,
                },
                f"key {each}",
                partition=partition,
                timestamp_ms=START_MS + each * 30_000,
                headers=[("trace", bytes([each % 256])), ("none", None)] if each % 3 else (),
            )
            for each in range(250)
        ]
        records[7] = delivered(7, None, "key 7", partition=partition)
        assert not writer.write(records, 250)
        assert writer.flush(True) == 250
        written[partition] = records
    back, positions = read_all(source(bucket, prefix="lake", restore=EVERYTHING, nulls="keep"))
    for partition, records in written.items():
        found = [each for each in back if each.partition == partition]
        assert [(r.key, r.value, r.timestamp_ms, list(r.headers), r.topic) for r in found] == [
            (r.key, r.value, r.timestamp_ms, list(r.headers), r.topic) for r in records
        ]
    for position in random.Random(3).sample(positions, 5):
        rest, _ = read_all(source(bucket, prefix="lake", restore=EVERYTHING), position=position)
        assert rest == back[len(back) - len(rest) :]
    assert not read_all(source(bucket, prefix="lake"), position=positions[-1])[0]


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_values_that_are_no_structures_come_back(bucket: S3Bucket, kind: str) -> None:
    values = [b"bytes \xff", b"more", b"\x00"] if kind == "parquet" else ["text", "more", b"\xff", [1, 2], 5]
    keys = [b"\xff\xfe", b"", None, b"k", b"\x00"]
    sink = S3Sink("lake", {**bucket.options, "metadata": True, "format": kind})
    writer = sink.open("orders", 0)
    assert not writer.write([delivered(each, value, keys[each]) for each, value in enumerate(values)], len(values))
    writer.flush(True)
    back, _ = read_all(source(bucket, restore=["key"]))
    assert [each.value for each in back] == values
    # JSON has no bytes: those that are text come back as text
    expected = [key.decode() if kind == "jsonl" and key in (b"", b"k", b"\x00") else key for key in keys]
    assert [each.key for each in back] == expected[: len(values)]


def lines(*numbers: int) -> bytes:
    return b"".join(b'{"n":%d}\n' % number for number in numbers)


def numbers(records: list[Record]) -> list[Any]:
    return [each.value["n"] for each in records]


def test_new_objects_are_read_once_whatever_their_names(bucket: S3Bucket) -> None:
    bucket.put("in/m.jsonl", lines(1, 2))
    bucket.put("in/_hidden/x.jsonl", lines(0))
    bucket.put("in/x.txt", b"no format of ours")
    bucket.put("elsewhere/m.jsonl", lines(0))
    found, positions = read_all(source(bucket, prefix="in"))
    assert numbers(found) == [1, 2]
    bucket.put("in/a.jsonl", lines(3))  # sorts before
    bucket.put("in/z.jsonl.gz", gzip.compress(lines(4)) + gzip.compress(lines(5)))
    bucket.put("in/zz.jsonl.zst", zstandard.compress(lines(6)))
    bucket.put("in/empty.jsonl", b"")
    found, positions = read_all(source(bucket, prefix="in"), position=positions[-1])
    assert sorted(numbers(found)) == [3, 4, 5, 6]
    assert not read_all(source(bucket, prefix="in"), position=positions[-1])[0]

    by_name = source(bucket, prefix="in", order="name", match="[m-z]*")
    found, positions = read_all(by_name)
    assert numbers(found) == [1, 2, 4, 5, 6]
    bucket.put("in/b.jsonl", lines(7))
    bucket.put("in/zzz.jsonl", lines(8))
    assert numbers(read_all(by_name, position=positions[-1])[0]) == [8]


def test_objects_are_forgotten_after_a_while_but_not_read_again(bucket: S3Bucket) -> None:
    few = {"remember": 3, "grace_seconds": 0.5}
    for each in range(12):
        bucket.put(f"{each:02}.jsonl", lines(each))
    found, positions = read_all(source(bucket, **few))
    assert numbers(found) == list(range(12))
    assert max(len(each["read"]["seen"]) for each in positions) <= 3
    assert not read_all(source(bucket, **few), position=positions[-1])[0]
    time.sleep(1.1)  # a bucket's times are whole seconds
    bucket.put("00.jsonl", lines(99))  # written again: it is another object
    assert numbers(read_all(source(bucket, **few), position=positions[-1])[0]) == [99]


def test_splits_share_the_objects_and_keep_partitions_together(bucket: S3Bucket) -> None:
    for partition in range(8):
        for offset in range(3):
            bucket.put(f"t/hour={offset}/{partition}-{offset:020}.jsonl", lines(partition * 10 + offset))
    shared = source(bucket, splits=3)
    parts = [numbers(read_all(shared, split)[0]) for split in shared.splits()]
    assert sorted(each for part in parts for each in part) == sorted(p * 10 + o for p in range(8) for o in range(3))
    for part in parts:
        for partition in {each // 10 for each in part}:
            assert [each for each in part if each // 10 == partition] == [partition * 10 + o for o in range(3)]


def test_an_object_that_changes_or_goes_while_it_is_read(bucket: S3Bucket) -> None:
    bucket.put("a.jsonl", lines(*range(10)))
    reader = source(bucket).open("0-of-1", None)
    chunk = reader.read(4, 0)
    assert chunk is not None
    bucket.put("a.jsonl", lines(*range(100, 120)))
    assert numbers(read_all(source(bucket), position=chunk.position)[0]) == list(range(100, 120))
    bucket.delete(["a.jsonl"])
    assert not read_all(source(bucket), position=chunk.position)[0]

    rows = pa.table({"n": list(range(50_000)), "text": [f"{each} text" * 5 for each in range(50_000)]})
    for part in (rows, rows.slice(0, 40_000)):
        data = io.BytesIO()
        pq.write_table(part, data, row_group_size=5000)
        bucket.put("b.parquet", data.getvalue())
        if part is rows:
            reader = source(bucket).open("0-of-1", None)
            chunk = reader.read(1500, 0)
            assert chunk is not None
    with pytest.raises(Unavailable, match="it answers 412"):
        for _ in range(100):
            reader.read(1500, 0)
    assert len(read_all(source(bucket), position=chunk.position, most=5000)[0]) == 40_000


def test_bad_lines_and_objects(bucket: S3Bucket) -> None:
    bucket.put("a.jsonl", lines(1, 2) + b"no JSON\n" + lines(3))
    bucket.put("b.parquet", b"PAR1 but no more than that PAR1")
    bucket.put("c.jsonl.gz", gzip.compress(lines(*range(4, 100)))[:-30])
    bucket.put("d.jsonl", b'{"n":"' + b"x" * 5000)
    bucket.put("e.jsonl", lines(100))
    options = {"order": "name", "line_bytes_max": 4000}
    reader = source(bucket, **options).open("0-of-1", None)
    chunk = reader.read(10, 0)
    assert chunk is not None
    assert numbers(list(chunk.records)) == [1, 2]
    with pytest.raises(Unavailable, match=r"s3: a\.jsonl: line 3 is no JSON.*Mend or delete it, or set bad: skip"):
        reader.read(10, 0)
    found, _ = read_all(source(bucket, bad="skip", **options))
    assert numbers(found)[:3] == [1, 2, 3]
    assert numbers(found)[-1] == 100


def test_a_large_object_is_never_whole_in_memory(bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"n": 1, "text": "x" * 1000}
    rng = random.Random(1)
    many = [{**row, "n": each, "noise": rng.randbytes(400).hex()} for each in range(8_000)]
    bucket.put("a.jsonl.gz", gzip.compress(b"\n".join(json.dumps(each).encode() for each in many), 1))
    data = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(many), data, row_group_size=8_000)
    bucket.put("b.parquet", data.getvalue())
    del many
    asked, get = [], Bucket.range

    def noted(self: Bucket, name: str, start: int, end: int, etag: str) -> bytes:
        asked.append(end - start)
        return get(self, name, start, end, etag)

    monkeypatch.setattr(Bucket, "range", noted)
    reader, count = source(bucket).open("0-of-1", None), 0
    tracemalloc.start()
    arrow = pa.total_allocated_bytes()
    most = 0
    while (chunk := reader.read(500, 0)) is not None:
        count += len(chunk.records)
        most = max(most, pa.total_allocated_bytes() - arrow)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 16_000
    assert max(asked) <= 4_000_000
    assert len(asked) > 3
    assert peak < 16_000_000  # of 16 MB of rows in each, and about as much again as objects
    assert most < 10_000_000
