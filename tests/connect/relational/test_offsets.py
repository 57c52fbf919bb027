"""The next offset is in the transaction of the rows: what comes again changes nothing, and only one worker writes."""

from __future__ import annotations

import random

import pytest

from barnabas.connect.errors import Unavailable
from tests.connect.relational.targets import Target, record, write


def test_batches_that_overlap_change_nothing(target: Target) -> None:
    records = [record(n, {"n": n}) for n in range(300)]
    choose = random.Random(5)
    done = 0
    while done < 300:
        writer = target.sink(mode="append").open("orders", 0)  # another worker each time
        assert writer.next_offset() in (done, None)
        begin, end = choose.randrange(0, done + 1), min(300, done + choose.randrange(1, 60))
        assert write(writer, records[begin:end]) == []
        assert write(writer, records[begin : end - 1] or records[:1]) == []  # wholly below
        done = end
    assert target.execute("select count(*), count(distinct n) from orders") == [(300, 300)]


def test_the_old_one_of_two_writers_is_refused(target: Target) -> None:
    sink = target.sink(mode="append")
    old = sink.open("orders", 0)
    assert write(old, [record(0, {"n": 0})]) == []
    new = sink.open("orders", 0)
    assert write(new, [record(1, {"n": 1}), record(2, {"n": 2})]) == []
    with pytest.raises(Unavailable, match="orders-0 should be 1, and is 3: another worker writes this partition"):
        write(old, [record(1, {"n": 1})])
    assert target.execute("select n from orders order by n") == [(0,), (1,), (2,)]
    # Given the same again, it has learnt where the partition stands.
    assert write(old, [record(1, {"n": 1}), record(2, {"n": 2}), record(3, {"n": 3})]) == []
    assert old.next_offset() == 4
    with pytest.raises(Unavailable, match="another worker"):
        write(new, [record(3, {"n": 3})])
    assert target.execute("select count(*), count(distinct n) from orders") == [(4, 4)]


def test_two_that_begin_at_once(target: Target) -> None:
    sink = target.sink(mode="append")
    one, two = sink.open("orders", 0), sink.open("orders", 0)
    assert write(one, [record(5, {"n": 5})]) == []
    with pytest.raises(Unavailable, match="another worker"):
        write(two, [record(5, {"n": 5})])
    assert target.execute("select count(*) from orders") == [(1,)]


def test_offsets_without_records_count_as_done(target: Target) -> None:
    writer = target.sink().open("orders", 0)
    assert list(writer.write([], 7)) == []
    assert list(writer.write([record(9, {"n": 1}, {"id": 1})], 20)) == []
    assert writer.next_offset() == 20
    assert target.sink().open("orders", 0).next_offset() == 20


def test_partitions_and_connectors_have_offsets_of_their_own(target: Target) -> None:
    sink = target.sink("a", mode="append")
    write(sink.open("orders", 0), [record(0, {"n": 0})])
    assert sink.open("orders", 1).next_offset() is None
    assert sink.open("others", 0).next_offset() is None
    assert target.sink("b", mode="append").open("orders", 0).next_offset() is None


def test_rejected_records_come_again_until_the_next_batch(target: Target) -> None:
    """A worker that ends after the commit, before its dead letters are written, must not lose them."""
    sink = target.sink()
    writer = sink.open("orders", 0)
    batch = [record(n, {"n": n} if n not in (2, 5) else f"text {n}", {"id": n}) for n in range(8)]
    first = write(writer, batch)
    assert [offset for offset, _ in first] == [2, 5]
    after = sink.open("orders", 0)
    assert after.next_offset() == 2
    assert write(after, batch[2:4]) == first[:1]
    assert write(after, [*batch[4:], record(8, "bad", {"id": 8}), record(9, {"n": 9}, {"id": 9})])[0] == first[1]
    assert target.execute("select count(*) from orders") == [(7,)]
    again = sink.open("orders", 0)
    assert again.next_offset() == 5
    assert write(again, [*batch[5:], record(8, "bad", {"id": 8}), record(9, {"n": 9}, {"id": 9})])[0] == first[1]
    assert write(again, [record(10, {"n": 10}, {"id": 10})]) == []
    assert sink.open("orders", 0).next_offset() == 11
    assert target.execute("select count(*), max(n) from orders") == [(8, 10)]


def test_many_partitions_at_once(target: Target) -> None:
    """They share connections, and make the table and its columns together."""
    import threading

    sink = target.sink(mode="append")
    failed: list[BaseException] = []

    def work(partition: int) -> None:
        try:
            writer = sink.open("orders", partition)
            for begin in range(0, 60, 20):
                batch = [record(n, {"n": n, f"p{partition}": n, "x": n / 2}) for n in range(begin, begin + 20)]
                assert writer.write(batch, begin + 20) == []
        except BaseException as problem:
            failed.append(problem)

    threads = [threading.Thread(target=work, args=(partition,)) for partition in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert target.execute("select count(*), count(distinct kafka_partition) from orders") == [(720, 12)]
    assert len(target.types("orders")) == 2 + 12 + 3
