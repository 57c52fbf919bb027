"""A transaction and the node's own life: it goes on after a restart where it was, and time runs on while the node is
down. Killed or stopped, the state is the same (S5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.members import until
from tests.support.wire import DELETE_TOPICS, DESCRIBE_PRODUCERS, WireClient, await_topic
from tests.transactions.conftest import SETTINGS, Server, make_topic
from tests.transactions.readers import values
from tests.transactions.requests import RawProducer, await_coordinators, ends, fetched

pytestmark = pytest.mark.timeout(120)


def look(client: WireClient, topic: str, without: RawProducer) -> tuple[Any, ...]:
    """The stable end, what was aborted, and who has written; one producer left out."""
    body = {"topics": [{"name": topic, "partition_indexes": [0]}]}
    (found,) = client.call(DESCRIBE_PRODUCERS, 0, body)["topics"][0]["partitions"]
    known = {p["producer_id"]: p for p in found["active_producers"] if p["producer_id"] != without.producer_id}
    stable = ends(client, topic)[0]
    aborted = [a for a in fetched(client, topic)["aborted_transactions"] if a["first_offset"] < stable]
    return stable, aborted, known


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_transactions_go_on_after_a_restart(make_node: Callable[..., Server], topic: str, how: str) -> None:
    node = make_node(SETTINGS)
    with WireClient(node.bootstrap) as client:
        await_coordinators(client)
        make_topic(node.bootstrap, topic)
        ident = await_topic(client, topic)
        long, short, done = (RawProducer(client, name) for name in ("long", "short", "done"))
        long.init()
        short.init(timeout_ms=500)
        done.init()
        done.write(ident, b"aborted before")
        done.end(False)
        long.write(ident, b"1", b"2")
        done.write(ident, b"aborted between")
        done.end(False)
        short.write(ident, b"too long")
        before = (look(client, topic, short), [producer.state() for producer in (long, done)])
    node.kill() if how == "kill" else node.stop()
    node.start()
    with WireClient(node.bootstrap) as client:
        await_coordinators(client)
        for producer in (long, short, done):
            producer.client = client
        assert (look(client, topic, short), [producer.state() for producer in (long, done)]) == before
        until(lambda: short.state()["transaction_state"] == "CompleteAbort", "time ran on while the node was down", 5)
        assert long.state() == before[1][0]
        assert values(node.bootstrap, topic) == []
        long.write(ident, b"3")
        long.end(True)
        until(lambda: values(node.bootstrap, topic) == [b"1", b"2", b"3"], "the whole transaction is read")
        stable, end = ends(client, topic)
        assert stable == end


def test_a_topic_deleted_under_a_transaction(bootstrap: str, topic: str) -> None:
    """Its part of the transaction is gone with it; the rest is committed, and the id is free for the next."""
    gone, kept = make_topic(bootstrap, f"gone-{topic}"), make_topic(bootstrap, f"kept-{topic}")
    with WireClient(bootstrap) as client:
        idents = [await_topic(client, name) for name in (gone, kept)]
        producer = RawProducer(client, topic).init()
        for ident in idents:
            producer.write(ident, b"x")
        answer = client.call(DELETE_TOPICS, 5, {"topic_names": [gone], "timeout_ms": 10_000})
        assert answer["responses"][0]["error_code"] == 0
        producer.end(True)
        assert producer.state()["transaction_state"] == "CompleteCommit"
        producer.write(idents[1], b"y")
        producer.end(True)
        assert values(bootstrap, kept) == [b"x", b"y"]
