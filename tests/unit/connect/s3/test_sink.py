"""What is in the bucket after batches that come once, twice, cut otherwise, of writers that crash or come back late."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.connect.connectors.s3 import claims
from barnabas.connect.connectors.s3.sink import S3Sink
from barnabas.connect.connectors.s3.store import Bucket
from barnabas.connect.contract import Delivered
from barnabas.connect.errors import Unavailable
from tests.support.delivered import START_MS, delivered, numbered
from tests.support.s3 import S3Bucket

HOUR_MS = 3_600_000
SMALL: dict[str, Any] = {"prefix": "lake", "metadata": True, "object_records": 40}


def interleaved(first: int, end: int) -> list[Delivered]:
    """Records whose hours go forward and back."""
    return [
        delivered(each, {"n": each}, f"k{each}", timestamp_ms=START_MS + each % 3 * HOUR_MS)
        for each in range(first, end)
    ]


def offsets(bucket: S3Bucket) -> list[int]:
    return sorted(row["_offset"] for row in bucket.all_rows())


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_writers_that_crash_and_come_again_write_each_offset_once(bucket: S3Bucket, kind: str) -> None:
    rng, options = random.Random(5), {**bucket.options, **SMALL, "format": kind}
    last, done = 600, 0
    while done < last:
        writer = S3Sink("lake", options).open("orders", 0)
        known = writer.next_offset()
        assert known is None or known >= done, "what was durable is not any more"
        at = max(0, (known or 0) - rng.randrange(30))  # the runtime may give what is there already
        for _ in range(rng.randrange(1, 5)):
            upto = min(last, at + rng.randrange(1, 60))
            assert not writer.write(interleaved(at, upto), upto)
            at = upto
            done = writer.flush(rng.random() < 0.3) or 0
        writer.close()  # without a flush: what had gathered is lost
        if at == last:
            writer = S3Sink("lake", options).open("orders", 0)
            writer.write(interleaved(writer.next_offset() or 0, last), last)
            done = writer.flush(True) or 0
    assert offsets(bucket) == list(range(last))
    name = bucket.names()[0]
    assert name.startswith("lake/orders/day=2026-11-18/hour=01/0-00000000000000000000")
    assert {row["n"] % 3 for row in bucket.rows(name)} == {0}


def test_a_crash_after_any_request_is_repaired(bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two batches of three objects each; the writer is lost at its first, second, third request that writes, before it
    reaches the bucket or after, until none is left."""
    create, counted, fail_at, late = Bucket.create, [0], [0], [False]

    def failing(self: Bucket, name: str, data: bytes, about: dict[str, str] | None = None) -> bool:
        counted[0] += 1
        if counted[0] == fail_at[0]:
            if late[0]:
                create(self, name, data, about)
            raise Unavailable("lost")
        return create(self, name, data, about)

    monkeypatch.setattr(Bucket, "create", failing)
    for late[0] in (False, True):
        for point in range(1, 100):
            topic, counted[0], fail_at[0] = f"t-{late[0]}-{point}", 0, point
            sink, failed = S3Sink("lake", {**bucket.options, **SMALL}), False
            for _ in range(3):
                writer = sink.open(topic, 0)
                try:
                    for end in (30, 60):
                        records = [each for each in interleaved(0, end) if each.offset >= (writer.next_offset() or 0)]
                        writer.write(records, end)
                        writer.flush(True)
                except Unavailable:
                    failed = True
            assert offsets(bucket) == list(range(60)), point
            bucket.delete(bucket.names())
            if not failed:
                break
        assert 8 <= point < 20


def test_a_former_owner_that_wakes_up_writes_nothing_twice(bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two writers of one partition, either of which sleeps for any time. Claims are deleted early, so that one that
    wakes up finds the one in its way gone."""
    monkeypatch.setattr(claims, "MANY", 6)
    monkeypatch.setattr(claims, "KEPT", 2)
    rng, last = random.Random(11), 1500
    sink = S3Sink("lake", {**bucket.options, **SMALL, "object_records": 25})
    writers = [sink.open("orders", 0), sink.open("orders", 0)]
    at = [0, 0]
    while min(at) < last:
        awake = rng.randrange(2)
        for _ in range(rng.randrange(1, 25)):
            upto = min(last, at[awake] + rng.randrange(1, 30))
            writers[awake].write(interleaved(at[awake], upto), upto)
            at[awake] = upto
            durable = writers[awake].flush(rng.random() < 0.2)
            assert durable is not None
    for writer in writers:
        assert writer.flush(True) == last
    assert offsets(bucket) == list(range(last))
    assert len(bucket.claims()) < 20


def test_writers_at_the_same_moment(bucket: S3Bucket) -> None:
    sink, barrier, problems = S3Sink("lake", {**bucket.options, **SMALL}), threading.Barrier(4), []

    def run(number: int) -> None:
        rng, at = random.Random(number), 0
        try:
            writer = sink.open("orders", 0)
            barrier.wait(20)
            while at < 300:
                upto = min(300, at + rng.randrange(1, 40))
                writer.write(interleaved(at, upto), upto)
                at = upto
            assert writer.flush(True) == 300
        except Exception as problem:  # told by the test's own thread
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not problems
    assert offsets(bucket) == list(range(300))


def test_a_claimed_batch_waits_for_all_of_its_records(bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = S3Sink("lake", {**bucket.options, **SMALL})
    former = sink.open("orders", 0)
    monkeypatch.setattr(Bucket, "about", lambda *_: None)
    with monkeypatch.context() as dead, pytest.raises(Unavailable):
        dead.setattr(type(former), "_finish", lambda *_: (_ for _ in ()).throw(Unavailable("dead")))
        former.write(interleaved(0, 50), 50)  # claimed, and nothing written
    monkeypatch.undo()
    writer = sink.open("orders", 0)
    assert writer.next_offset() == 0
    writer.write(interleaved(0, 30), 30)
    assert writer.flush(True) == 0
    assert not bucket.names()
    writer.write(interleaved(30, 60), 60)
    assert writer.flush(False) == 40  # the former owner's batch, as it claimed it
    assert writer.flush(True) == 60
    assert offsets(bucket) == list(range(60))


def test_objects_that_expired_do_not_come_back(bucket: S3Bucket) -> None:
    sink = S3Sink("lake", {**bucket.options, **SMALL})
    writer = sink.open("orders", 0)
    writer.write(interleaved(0, 100), 100)
    assert writer.flush(True) == 100
    writer.close()
    bucket.delete(bucket.names())  # a lifecycle rule
    assert sink.open("orders", 0).next_offset() == 100
    bucket.delete(bucket.claims())  # one that takes everything
    writer = sink.open("orders", 0)
    assert writer.next_offset() is None  # the group's offset counts
    writer.write(interleaved(100, 110), 110)
    assert writer.flush(True) == 110
    assert offsets(bucket) == list(range(100, 110))


def test_offsets_without_records_count_as_done(bucket: S3Bucket) -> None:
    sink = S3Sink("lake", {**bucket.options, **SMALL})
    writer = sink.open("orders", 0)
    assert writer.flush(True) is None
    writer.write([], 70)
    assert writer.flush(True) == 70
    writer.write(interleaved(75, 80), 500)
    writer.write([], 900)
    assert writer.flush(True) == 900
    assert sink.open("orders", 0).next_offset() == 900
    assert offsets(bucket) == [75, 76, 77, 78, 79]


def test_a_reset_moves_the_next_offset(bucket: S3Bucket) -> None:
    sink = S3Sink("lake", {**bucket.options, **SMALL})
    writer = sink.open("orders", 0)
    writer.write(interleaved(0, 50), 50)
    writer.flush(True)
    bucket.delete(bucket.names())
    sink.reset("orders", 0, 20)
    writer = sink.open("orders", 0)
    assert writer.next_offset() == 20
    writer.write(interleaved(20, 50), 50)
    assert writer.flush(True) == 50
    assert offsets(bucket) == list(range(20, 50))


def test_routed_and_redriven_records_have_names_of_their_own(bucket: S3Bucket) -> None:
    sink = S3Sink("lake", {**bucket.options, **SMALL, "format": "jsonl", "compression": "none"})
    for topic in ("a", "b"):
        writer = sink.open(topic, 0)
        writer.write([delivered(each, {"from": topic}, topic="all") for each in range(5)], 5)
        assert writer.flush(True) == 5
    redriven = sink.open("lake.redrive", 2)
    again = [Delivered("a", 0, 3, START_MS, None, {"from": "a"}, (), at) for at in (70, 71)]
    redriven.write(again, 72)
    assert redriven.flush(True) == 72
    day = "day=2026-11-18/hour=01"
    assert bucket.names() == [
        f"lake/a/{day}/lake.redrive.2-00000000000000000070.jsonl",
        f"lake/all/{day}/a.0-00000000000000000000.jsonl",
        f"lake/all/{day}/b.0-00000000000000000000.jsonl",
    ]
    assert len(bucket.all_rows()) == 12


def test_records_that_cannot_be_written_are_rejected(bucket: S3Bucket) -> None:
    bad = {
        1: delivered(1, {"n": object()}),
        3: delivered(3, {"n": "\ud800"}),
        4: delivered(4, {"_offset": 1}),
        6: delivered(6, {"n": 1}, timestamp_ms=10**18),
        7: delivered(7, {"n": 1}, topic="../x"),
    }
    for kind in ("parquet", "jsonl"):
        writer = S3Sink(kind, {**bucket.options, **SMALL, "prefix": kind, "format": kind}).open("orders", 0)
        records = [bad.get(each) or delivered(each, {"n": each}) for each in range(9)]
        rejected = writer.write(records, 9)
        assert [each.record.offset for each in rejected] == sorted(bad)
        assert all(each.reason.startswith("s3 cannot write it: ") for each in rejected)
        assert writer.flush(True) == 9
        assert [row["_offset"] for name in bucket.names(kind) for row in bucket.rows(name)] == [0, 2, 5, 8]


def test_objects_are_written_by_size_number_time_and_memory(bucket: S3Bucket) -> None:
    def count(**options: Any) -> int:
        sink = S3Sink("lake", {**bucket.options, "prefix": "p", "metadata": True, **options})
        writer = sink.open("orders", 0)
        for first in range(0, 200, 10):
            writer.write(numbered(first, first + 10), first + 10)
        writer.flush(False)
        made = len(bucket.names())
        bucket.delete([*bucket.names(), *bucket.claims()])
        return made

    assert count() == 0
    assert count(object_records=50) == 4
    assert count(object_bytes=2000) in range(5, 12)
    assert count(object_seconds=0.00001) >= 1  # a batch may take less than a tenth of a millisecond
    assert count(memory_bytes=4000) in range(3, 8)


@pytest.fixture
def two(bucket: S3Bucket) -> Iterator[S3Sink]:
    sink = S3Sink("one", {**bucket.options, **SMALL})
    writer = sink.open("orders", 0)
    writer.write(interleaved(0, 10), 10)
    writer.flush(True)
    yield S3Sink("two", {**bucket.options, **SMALL})


def test_objects_of_another_connector_are_not_taken_for_ours(two: S3Sink, bucket: S3Bucket) -> None:
    writer = two.open("orders", 0)
    writer.write(interleaved(0, 10), 10)
    with pytest.raises(Unavailable, match=r"of another batch \(one/orders/0/0-10\)"):
        writer.flush(True)


def test_a_store_without_conditional_writes_is_found_out(bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bucket, "create", lambda self, name, data, about=None: self.put(name, data) or True)
    writer = S3Sink("lake", {**bucket.options, **SMALL}).open("orders", 0)
    writer.write(interleaved(0, 10), 10)
    with pytest.raises(Unavailable, match=r"writes over an object though the request forbids it \(If-None-Match\)"):
        writer.flush(True)


def test_two_that_begin_a_partition_at_different_offsets(bucket: S3Bucket) -> None:
    sink = S3Sink("lake", {**bucket.options, **SMALL})
    first, second, third = (sink.open("orders", 0) for _ in range(3))
    first.write(interleaved(100, 120), 120)
    second.write(interleaved(105, 130), 130)
    third.write(interleaved(95, 130), 130)
    assert first.flush(True) == 120
    assert second.flush(True) == 130  # goes on after the first
    assert third.flush(True) == 130
    assert offsets(bucket) == list(range(100, 130))

    begun = sink.open("payments", 0)
    late = sink.open("payments", 0)
    begun._claims.start(100)  # type: ignore[attr-defined]  # and no further: it is paused there
    late.write(interleaved(105, 130), 130)
    with pytest.raises(Unavailable, match="another worker is at offset 100 of this partition, before 105"):
        late.flush(True)
    assert sink.open("payments", 0).next_offset() == 100
