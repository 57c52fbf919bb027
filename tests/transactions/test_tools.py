"""For operators: Kafka's `kafka-transactions` sees what is open, finds what hangs, and ends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from barnabas.storage.config import LogConfig
from barnabas.storage.log import Log
from barnabas.wire.batch import read_header
from barnabas.wire.records import Record, build_batch
from tests.support.java import DUMP_LOG, JavaTools
from tests.support.members import write
from tests.support.wire import DESCRIBE_CLUSTER, WireClient, await_topic
from tests.transactions.conftest import Server, make_topic
from tests.transactions.readers import values
from tests.transactions.requests import RawProducer, await_coordinators, ends

pytestmark = pytest.mark.timeout(120)
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
Rows = list[list[str]]


@pytest.fixture
def client(bootstrap: str) -> Iterator[WireClient]:
    with WireClient(bootstrap) as made:
        yield made


def rows(text: str) -> Rows:
    """A table of the tool, cells by their columns, without its heading."""
    return [[cell.strip() for cell in line.split("\t")] for line in text.strip().splitlines()[1:]]


def tool(java: JavaTools, bootstrap: str) -> Callable[..., Rows]:
    return lambda *words: rows(java.run(TRANSACTIONS, "--bootstrap-server", bootstrap, *words).out)


def test_list_and_describe(java: JavaTools, bootstrap: str, client: WireClient, topic: str) -> None:
    make_topic(bootstrap, topic, 2)
    ident = await_topic(client, topic)
    run = tool(java, bootstrap)
    producer = RawProducer(client, topic).init(timeout_ms=45_000)
    assert [row[0] for row in run("list", "--transactional-id-pattern", f"{topic}.*")] == [topic]
    producer.write(ident, b"1", b"2", partition=1)
    listed = {row[0]: row for row in run("list")}
    assert listed[topic][2:4] == [str(producer.producer_id), "Ongoing"]
    (described,) = run("describe", "--transactional-id", topic)
    assert described[1:6] == [topic, str(producer.producer_id), "0", "Ongoing", "45000"], described
    assert described[-1] == f"{topic}-1"
    (written,) = run("describe-producers", "--topic", topic, "--partition", "1")
    assert written[:2] == [str(producer.producer_id), "0"]
    assert written[-1] == "0", "where the open transaction begins"
    producer.end(True)
    (described,) = run("describe", "--transactional-id", topic)
    assert "CompleteCommit" in described
    (written,) = run("describe-producers", "--topic", topic, "--partition", "1")
    assert written[-1] == "None"


def test_a_transaction_is_terminated_by_force(java: JavaTools, bootstrap: str, client: WireClient, topic: str) -> None:
    make_topic(bootstrap, topic)
    producer = RawProducer(client, topic).init()
    producer.write(await_topic(client, topic), b"to be dropped")
    java.run(TRANSACTIONS, "--bootstrap-server", bootstrap, "forceTerminateTransaction", "--transactionalId", topic)
    producer.settle()
    assert producer.try_end(True)["error_code"] in (47, 90)
    assert values(bootstrap, topic) == []
    assert ends(client, topic) == (2, 2)


def hang(server: Server, topic: str) -> int:
    """Put the first batch of a transaction that no coordinator knows into a partition, as versions of Kafka before
    KIP-890 let late batches do. Gives its offset."""
    server.stop()
    log = Log.open(server.data / f"{topic}-0", LogConfig(), clean=True)
    offset = log.log_end_offset
    long_ago = int(time.time() * 1000) - 3_600_000
    data = build_batch(
        [Record(offset, long_ago, b"k", b"hanging", ())],
        producer_id=4711,
        producer_epoch=3,
        base_sequence=0,
        transactional=True,
        leader_epoch=log.epochs.latest,
    )
    header = read_header(data)
    log.append(
        data,
        base_offset=offset,
        last_offset=offset,
        max_timestamp=header.max_timestamp,
        record_count=1,
        leader_epoch=header.leader_epoch,
    )
    log.close()
    for name in (".kafka_cleanshutdown", f"{topic}-0/{offset:020d}.snapshot"):
        (server.data / name).unlink(missing_ok=True)  # it did not leave cleanly, and must look at its log
    for snapshot in sorted((server.data / f"{topic}-0").glob("*.snapshot"))[1:]:
        snapshot.unlink()
    server.start()
    return offset


def test_a_hanging_transaction_is_found_and_ended(java: JavaTools, make_node: Callable[..., Server]) -> None:
    server = make_node()
    topic = "hung"
    make_topic(server.bootstrap, topic)
    write(server.bootstrap, topic, [b"before"])
    offset = hang(server, topic)
    write(server.bootstrap, topic, [b"behind"])
    with WireClient(server.bootstrap) as client:
        await_coordinators(client)
        assert ends(client, topic) == (offset, offset + 2)
        assert values(server.bootstrap, topic) == [b"before"]
        node_id = client.call(DESCRIBE_CLUSTER, 1, {})["brokers"][0]["broker_id"]
        run = tool(java, server.bootstrap)
        (found,) = run("find-hanging", "--broker-id", str(node_id))
        assert found[:4] == [topic, "0", "4711", "3"], found
        where = ["--topic", topic, "--partition", "0", "--start-offset", str(offset)]
        java.run(TRANSACTIONS, "--bootstrap-server", server.bootstrap, "abort", *where)
        assert ends(client, topic) == (offset + 3, offset + 3)
        assert values(server.bootstrap, topic) == [b"before", b"behind"]
        assert run("find-hanging", "--broker-id", str(node_id)) == []
    index = next((server.data / f"{topic}-0").glob("*.txnindex"))
    dumped = java.run(DUMP_LOG, "--files", str(index)).out
    assert f"producerId: 4711 firstOffset: {offset} lastOffset: {offset + 2}" in dumped, dumped


def test_the_coordinators_log_dumps(java: JavaTools, server: Server, client: WireClient, topic: str) -> None:
    """With Kafka's own decoder for __transaction_state."""
    make_topic(server.bootstrap, topic)
    producer = RawProducer(client, topic).init()
    producer.write(await_topic(client, topic), b"x")
    producer.end(False)
    logs = [path for path in server.data.glob("__transaction_state-*/*.log") if topic.encode() in path.read_bytes()]
    out = java.run(DUMP_LOG, "--transaction-log-decoder", "--files", ",".join(map(str, logs))).out
    mine = [line for line in out.splitlines() if topic in line]
    assert len(mine) >= 4, out[-2000:]
    assert any('"transactionStatus":1' in line for line in mine), mine[:2]
