"""What readers may see, and when: at read_committed never anything of a transaction that is open or was aborted. The
end of the stable part, time-outs and expiry, what compaction and retention leave alone."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.support.java import DUMP_LOG, JavaTools
from tests.support.members import until, write
from tests.support.wire import (
    CREATE_TOPICS,
    DELETE_RECORDS,
    DESCRIBE_PRODUCERS,
    OFFSET_FETCH,
    TXN_OFFSET_COMMIT,
    WireClient,
    await_topic,
)
from tests.transactions.conftest import Server, make_topic
from tests.transactions.readers import FAST, Beside, records, values
from tests.transactions.requests import CONTROL, RawProducer, await_coordinators, ends, fetched

pytestmark = pytest.mark.timeout(120)
Create = Callable[..., str]
INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, UNSTABLE_OFFSET_COMMIT, ID_NOT_FOUND = 47, 48, 88, 105


@pytest.fixture
def client(bootstrap: str) -> Iterator[WireClient]:
    with WireClient(bootstrap) as made:
        yield made


def test_readers_while_many_write(bootstrap: str, create: Create, topic: str) -> None:
    """Four producers commit and abort as chance has it, in three partitions; readers of both kinds beside them."""
    create(topic, 3, segment_bytes=str(1 << 20))
    stable, any_ = Beside(bootstrap, topic, 3), Beside(bootstrap, topic, 3, "read_uncommitted")
    good: set[bytes] = set()
    bad: set[bytes] = set()
    order: dict[int, list[bytes]] = {}

    def writer(number: int) -> None:
        rng = random.Random(number)
        settings = {"transactional.id": f"{topic}-{number}", "linger.ms": 0, "batch.num.messages": 7}
        producer = Producer({**FAST, "bootstrap.servers": bootstrap, **settings})
        producer.init_transactions(20)
        for count in range(25):
            producer.begin_transaction()
            mine = [b"%d/%d/%d" % (number, count, i) for i in range(rng.randrange(1, 40))]
            for i, value in enumerate(mine):
                producer.produce(topic, value, partition=i % 3)
            producer.flush(20)
            if rng.random() < 0.4:
                bad.update(mine)
                producer.abort_transaction(20)
            else:
                good.update(mine)
                producer.commit_transaction(20)
                order.setdefault(number, []).extend(mine)

    threads = [threading.Thread(target=writer, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert not stable.values() & bad, "an aborted record was seen"
        time.sleep(0.02)
    until(lambda: len(stable.seen) >= len(good), "the stable reader has read all")
    until(lambda: len(any_.seen) >= len(good) + len(bad), "the other reader has read all")
    stable.stop()
    any_.stop()
    assert stable.values() == good
    assert len(stable.seen) == len(good), "a record twice"
    assert any_.values() == good | bad
    for part in range(3):
        seen = [value for (p, _), value in sorted(stable.seen.items()) if p == part]
        for number, mine in order.items():
            of_writer = [value for value in seen if value.startswith(b"%d/" % number)]
            assert of_writer == [value for value in mine if value in set(of_writer)], "out of order"


def test_the_stable_end(client: WireClient, bootstrap: str, topic: str) -> None:
    """ListOffsets and Fetch tell the two ends; the reader gets a list of what was aborted, and the markers."""
    make_topic(bootstrap, topic)
    ident = await_topic(client, topic)
    one, two = RawProducer(client, f"{topic}-1").init(), RawProducer(client, f"{topic}-2").init()
    one.write(ident, b"a")
    two.write(ident, b"b", b"c")
    assert ends(client, topic) == (0, 3)
    one.end(False)
    assert ends(client, topic) == (1, 4)
    answer = fetched(client, topic)
    assert [b["base_offset"] for b in answer["batches"]] == [0], "nothing of the open one"
    assert answer["aborted_transactions"] == [{"producer_id": one.producer_id, "first_offset": 0}]
    assert (answer["last_stable_offset"], answer["high_watermark"]) == (1, 4)
    assert len(fetched(client, topic, level=0)["batches"]) == 3
    assert fetched(client, topic, level=0)["aborted_transactions"] is None
    two.end(True)
    answer = fetched(client, topic)
    assert [bool(b["attributes"] & CONTROL) for b in answer["batches"]] == [False, False, True, True]
    assert fetched(client, topic, 4)["aborted_transactions"] == []
    assert values(bootstrap, topic) == [b"b", b"c"]


def test_a_reader_at_the_end_waits_for_the_marker(client: WireClient, bootstrap: str, topic: str) -> None:
    """A long poll at read_committed is not woken by records it may not see, and at once by the marker."""
    make_topic(bootstrap, topic)
    ident = await_topic(client, topic)
    producer = RawProducer(client, topic).init()
    with WireClient(bootstrap) as other:
        until(lambda: fetched(other, topic)["error_code"] == 0, "the leader of the new topic answers")
        got: list[tuple[float, int]] = []

        def poll() -> None:
            answer = fetched(other, topic, 0, max_wait_ms=8000, min_bytes=1)
            got.append((time.monotonic(), len(answer["batches"])))

        thread = threading.Thread(target=poll)
        thread.start()
        time.sleep(0.2)
        for i in range(3):
            producer.write(ident, b"%d" % i)
        time.sleep(0.3)
        assert not got, "woken by records of an open transaction"
        ended = time.monotonic()
        producer.end(True)
        thread.join(10)
        assert got[0][1] >= 3
        assert got[0][0] - ended < 3


def test_offsets_that_wait(client: WireClient, topic: str, group: str, bootstrap: str) -> None:
    make_topic(bootstrap, topic)
    await_topic(client, topic)
    producer = RawProducer(client, topic).init()

    def commit(offset: int) -> None:
        part = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "m"}
        body = {"transactional_id": topic, "group_id": group, "producer_id": producer.producer_id}
        body |= {"producer_epoch": producer.epoch, "topics": [{"name": topic, "partitions": [part]}]}
        answer = client.call(TXN_OFFSET_COMMIT, 5, body)["topics"][0]["partitions"][0]
        assert answer["error_code"] == 0, answer

    def look(stable: bool) -> tuple[int, int]:
        asked = {"group_id": group, "topics": [{"name": topic, "partition_indexes": [0]}]}
        answer = client.call(OFFSET_FETCH, 8, {"groups": [asked], "require_stable": stable})
        found = answer["groups"][0]["topics"][0]["partitions"][0]
        return found["committed_offset"], found["error_code"]

    commit(5)
    assert look(True) == (-1, UNSTABLE_OFFSET_COMMIT)
    assert look(False) == (-1, 0)
    producer.end(True)
    assert look(True) == (5, 0)
    commit(9)
    assert look(True) == (-1, UNSTABLE_OFFSET_COMMIT)
    assert look(False) == (5, 0)
    producer.end(False)
    assert look(True) == (5, 0)


def test_a_transaction_times_out(client: WireClient, bootstrap: str, topic: str) -> None:
    make_topic(bootstrap, topic)
    ident = await_topic(client, topic)
    producer = RawProducer(client, topic).init(timeout_ms=300)
    producer.write(ident, b"slow")
    began = time.monotonic()
    until(lambda: producer.state()["transaction_state"] == "CompleteAbort", "aborted by time", 20)
    assert 0.2 < time.monotonic() - began < 10
    assert ends(client, topic) == (2, 2)
    assert producer.try_end(True)["error_code"] == INVALID_TXN_STATE
    assert producer.try_write(ident, b"late") == INVALID_PRODUCER_EPOCH
    producer.end(False)  # the abort it has to ask for gives it the epoch to go on with
    producer.write(ident, b"again")
    producer.end(True)
    assert values(bootstrap, topic) == [b"again"]


def test_an_idle_id_expires(make_node: Callable[..., Server], topic: str) -> None:
    settings = {
        "transactional.id.expiration.ms": "500",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
        "producer.id.expiration.ms": "500",
        "producer.id.expiration.check.interval.ms": "200",
        "log.retention.check.interval.ms": "300",
    }
    node = make_node(settings)
    with WireClient(node.bootstrap) as client:
        await_coordinators(client)
        make_topic(node.bootstrap, topic)
        ident = await_topic(client, topic)
        idle, busy = RawProducer(client, "idle").init(), RawProducer(client, "busy").init()
        idle.write(ident, b"x")
        idle.end(True)
        busy.write(ident, b"open")
        until(lambda: idle.state()["error_code"] == ID_NOT_FOUND, "the id is forgotten", 20)
        assert busy.state()["transaction_state"] == "Ongoing", "an open transaction keeps its id"
        old = (idle.producer_id, idle.epoch)

        def known() -> list[int]:
            body = {"topics": [{"name": topic, "partition_indexes": [0]}]}
            found = client.call(DESCRIBE_PRODUCERS, 0, body)["topics"][0]["partitions"][0]
            return [producer["producer_id"] for producer in found["active_producers"]]

        until(lambda: known() == [busy.producer_id], "only the producer with a transaction is remembered")
        idle.init()
        assert (idle.producer_id, idle.epoch) != old
        busy.end(True)
        assert values(node.bootstrap, topic) == [b"x", b"open"]


def test_compaction_leaves_an_open_transaction_alone_and_retention_does_not(
    make_node: Callable[..., Server], topic: str
) -> None:
    """Retention goes up to the high watermark, as in Kafka: else a transaction that hangs would fill the disk."""
    node = make_node({"log.cleaner.backoff.ms": "100", "log.retention.check.interval.ms": "100"})
    with WireClient(node.bootstrap) as client:
        await_coordinators(client)
        keep = {"segment.bytes": str(1 << 20), "file.delete.delay.ms": "0"}
        compact = {**keep, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
        short = {**keep, "retention.ms": "1"}
        for name, config in ((f"c-{topic}", compact), (f"r-{topic}", short)):
            entries = [{"name": key, "value": value} for key, value in config.items()]
            item = {"name": name, "num_partitions": 1, "replication_factor": 1, "configs": entries}
            client.call(CREATE_TOPICS, 7, {"topics": [item], "timeout_ms": 20000})
        producer = RawProducer(client, topic).init()
        idents = [await_topic(client, f"{kind}-{topic}") for kind in "cr"]
        filler = bytes(200_000)
        plain = Producer({**FAST, "bootstrap.servers": node.bootstrap, "message.max.bytes": 1_000_000})
        for kind in "cr":
            for i in range(6):
                plain.produce(f"{kind}-{topic}", b"%d" % i + filler, b"same")
        assert plain.flush(20) == 0
        for ident in idents:
            producer.write(ident, b"open", keys=[b"same"])
        for _ in range(3):
            for kind in "cr":
                for i in range(6):
                    plain.produce(f"{kind}-{topic}", b"later %d" % i + filler, b"other")
            assert plain.flush(20) == 0
        until(lambda: ends(client, f"r-{topic}")[0] > 6, "retention removes what an open transaction holds back", 20)
        stable, end = ends(client, f"c-{topic}")
        assert stable == 6, "the open transaction still bounds what is stable"
        everything = records(node.bootstrap, f"c-{topic}", "read_uncommitted")
        assert everything[0, 6] == b"open", "a record of an open transaction was removed"
        assert {offset for _, offset in everything} >= set(range(6, end)), "what follows it must stay too"
        producer.end(False)
        for _ in range(12):  # a new segment seals the last one
            plain.produce(f"c-{topic}", b"last" + filler, b"last")
        assert plain.flush(20) == 0

        def compacted() -> bool:
            keys = [v[:6] for v in values(node.bootstrap, f"c-{topic}")]
            return sum(v.startswith(b"later") for v in keys) <= 1

        until(compacted, "compaction goes on once the transaction is over", 20)
        left = values(node.bootstrap, f"c-{topic}")
        assert b"open" not in left
        assert any(v.startswith(b"5") for v in left), "an aborted record stood for its key"


def test_records_deleted_under_an_open_transaction(client: WireClient, bootstrap: str, topic: str) -> None:
    make_topic(bootstrap, topic)
    ident = await_topic(client, topic)
    producer = RawProducer(client, topic).init()
    producer.write(ident, b"a", b"b", b"c")
    body = {"topics": [{"name": topic, "partitions": [{"partition_index": 0, "offset": 2}]}], "timeout_ms": 10_000}
    assert client.call(DELETE_RECORDS, 2, body)["topics"][0]["partitions"][0]["error_code"] == 0
    producer.end(True)
    assert values(bootstrap, topic) == [b"c"]


def test_the_index_of_aborted_transactions_dumps(
    java: JavaTools, server: Server, client: WireClient, topic: str
) -> None:
    make_topic(server.bootstrap, topic)
    ident = await_topic(client, topic)
    producer = RawProducer(client, topic).init()
    for _ in range(3):
        producer.write(ident, b"x", b"y")
        producer.end(False)
    (index,) = (server.data / f"{topic}-0").glob("*.txnindex")
    out = java.run(DUMP_LOG, "--files", str(index)).out
    for i in range(3):
        entry = f"producerId: {producer.producer_id} firstOffset: {3 * i} lastOffset: {3 * i + 2}"
        assert entry in out, out
    log = index.with_suffix(".log")
    markers = java.run(DUMP_LOG, "--deep-iteration", "--files", str(log)).out
    assert markers.count("endTxnMarker: ABORT") == 3, markers[-1500:]


def test_plain_records_between(client: WireClient, bootstrap: str, topic: str) -> None:
    """Records outside of transactions wait for the transaction before them, and never for those behind."""
    make_topic(bootstrap, topic)
    ident = await_topic(client, topic)
    producer: Any = RawProducer(client, topic).init()
    write(bootstrap, topic, [b"first"])
    producer.write(ident, b"open")
    write(bootstrap, topic, [b"second"])
    assert values(bootstrap, topic) == [b"first"]
    producer.end(False)
    assert values(bootstrap, topic) == [b"first", b"second"]
