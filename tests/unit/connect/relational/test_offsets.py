"""The next offset is in the transaction of the rows: what comes again changes nothing, and only one worker writes."""

from __future__ import annotations

import random
import threading

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


def test_rejected_records_are_not_told_again_to_who_wrote_on(target: Target) -> None:
    """The connection is lost after a later batch has begun: the runtime had written the dead letters before."""
    sink = target.sink()
    writer = sink.open("orders", 0)
    assert len(write(writer, [record(0, "bad", {"id": 0})])) == 1
    other = target.sink().open("orders", 0)  # another worker, which does not know
    assert other.next_offset() == 0
    target.execute("alter table barnabas_offsets rename to hidden")
    with pytest.raises(Unavailable):
        write(writer, [record(1, {"n": 1}, {"id": 1})])
    target.execute("drop table if exists barnabas_offsets")
    target.execute("alter table hidden rename to barnabas_offsets")
    assert sink.open("orders", 0).next_offset() == 1
    assert write(writer, [record(1, {"n": 1}, {"id": 1})]) == []


def test_reset(target: Target) -> None:
    sink = target.sink(mode="append")
    sink.reset("orders", 0, 3)
    writer = sink.open("orders", 0)
    assert writer.next_offset() == 3
    assert write(writer, [record(n, {"n": n}) for n in range(6)]) == []
    sink.reset("orders", 0, 0)
    assert write(sink.open("orders", 0), [record(n, {"n": n}) for n in range(6)]) == []
    assert target.execute("select n, count(*) from orders group by n order by n") == [
        (n, 1 if n < 3 else 2) for n in range(6)
    ]


def test_a_dead_letter_that_is_sent_again_keeps_its_name(target: Target) -> None:
    """It comes by another topic, whose offsets are the bookkeeping."""
    from barnabas.connect.contract import Delivered

    sink = target.sink(mode="append")
    assert write(sink.open("orders", 2), [record(n, {"n": n}) for n in range(100, 103)]) == []
    headers = [("__connect.errors.topic", b"orders")]
    again = Delivered("orders", 2, 40, 0, None, {"n": 40}, headers, redriven_at=0)
    writer = sink.open("orders-connector.redrive", 0)
    assert list(writer.write([again], 1)) == [] and list(writer.write([again], 1)) == []
    assert writer.next_offset() == 1
    found = target.execute("select n, kafka_topic, kafka_partition, kafka_offset from orders where n = 40")
    assert found == [(40, "orders", 2, 40)]


def test_many_partitions_at_once(target: Target) -> None:
    """They share connections, and make the table and its columns together."""
    sink = target.sink(mode="append")
    failed: list[BaseException] = []

    def work(partition: int) -> None:
        try:
            writer = sink.open("orders", partition)
            values = [{"n": n, f"p{partition}": n, "x": n / 2} for n in range(60)]
            batch = [record(n, value, None, "orders", partition) for n, value in enumerate(values)]
            for begin in range(0, 60, 20):
                assert writer.write(batch[begin : begin + 20], begin + 20) == []
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
