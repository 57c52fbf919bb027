"""Two-phase commit (KIP-939): what a client has prepared outlives the client and the node, and is committed or rolled
back later by its id. Apache Kafka 4.3 has the messages but keeps no transaction, so only our own node is asked."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.support.wire import INIT_PRODUCER_ID, OFFSET_FETCH, TXN_OFFSET_COMMIT, WireClient, await_topic
from tests.transactions.conftest import IS_KAFKA, SETTINGS, Server, make_topic
from tests.transactions.readers import values
from tests.transactions.requests import RawProducer, await_coordinators, ends, patiently

pytestmark = [pytest.mark.timeout(120), pytest.mark.skipif(IS_KAFKA, reason="Kafka 4.3 does not keep transactions")]
UNSUPPORTED_VERSION, INVALID_PRODUCER_EPOCH, NOT_ALLOWED, PRODUCER_FENCED = 35, 47, 53, 90
CONFIG = {**SETTINGS, "transaction.max.timeout.ms": "1000"}


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_prepared_then_both_killed(make_node: Callable[..., Server], topic: str, commit: bool) -> None:
    node = make_node(CONFIG)
    make_topic(node.bootstrap, topic, 2)
    first = WireClient(node.bootstrap)
    await_coordinators(first)
    ident = await_topic(first, topic)
    zombie = RawProducer(first, topic).init(two_phase=True)
    zombie.write(ident, b"one", b"two")
    zombie.write(ident, b"three", partition=1)
    commit_offset(zombie, topic, "readers", 7)
    prepared = (zombie.producer_id, zombie.epoch)  # what the client would write down where it keeps its own state
    first.close()
    node.kill()
    node.start()
    time.sleep(1.3)  # longer than any transaction may take, but for prepared ones
    with WireClient(node.bootstrap) as client:
        await_coordinators(client)
        later = RawProducer(client, topic)
        assert later.state()["transaction_state"] == "Ongoing"
        assert later.state()["transaction_timeout_ms"] == 2**31 - 1
        later.init(two_phase=True, keep=True)
        assert later.ongoing == prepared
        assert (later.producer_id, later.epoch) == (prepared[0], prepared[1] + 1)
        assert ends(client, topic) == (0, 2)
        zombie.client = client
        assert zombie.try_end(True)["error_code"] == PRODUCER_FENCED
        assert later.try_write(ident, b"more") != 0, "what was prepared is what is ended"
        assert offset_of(client, topic, "readers") == (-1, 88)
        node.kill()
        node.start()
    with WireClient(node.bootstrap) as client:
        await_coordinators(client)
        again = RawProducer(client, topic).init(two_phase=True, keep=True)
        assert again.ongoing == prepared, "the transaction keeps its own producer"
        again.end(commit)
        assert again.state()["transaction_state"] == ("CompleteCommit" if commit else "CompleteAbort")
        found = values(node.bootstrap, topic, partitions=2)
        assert found == ([b"one", b"two", b"three"] if commit else [])
        assert offset_of(client, topic, "readers") == ((7, 0) if commit else (-1, 0))
        zombie.client = client
        assert zombie.try_write(ident, b"zombie") == INVALID_PRODUCER_EPOCH
        again.write(ident, b"the next")
        again.end(True)
        assert values(node.bootstrap, topic, partitions=2)[-2 if commit else -1] == b"the next"


def test_without_keeping_it_is_aborted(bootstrap: str, topic: str) -> None:
    make_topic(bootstrap, topic)
    with WireClient(bootstrap) as client:
        ident = await_topic(client, topic)
        producer = RawProducer(client, topic).init(two_phase=True)
        producer.write(ident, b"prepared, then given up")
        producer.init(two_phase=True)
        assert producer.ongoing == (-1, -1)
        assert producer.state()["transaction_state"] == "Empty"
        assert ends(client, topic) == (2, 2)
        assert values(bootstrap, topic) == []


def test_nothing_to_keep(bootstrap: str, topic: str) -> None:
    with WireClient(bootstrap) as client:
        producer = RawProducer(client, topic).init(two_phase=True, keep=True)
        assert producer.ongoing == (-1, -1)
        assert producer.epoch == 0


def test_only_where_it_is_allowed(make_node: Callable[..., Server]) -> None:
    node = make_node()  # transaction.two.phase.commit.enable is false by default
    with WireClient(node.bootstrap) as client:
        await_coordinators(client)
        for flags, code in (
            ({"enable2_pc": True}, NOT_ALLOWED),
            ({"keep_prepared_txn": True}, UNSUPPORTED_VERSION),
            ({"enable2_pc": True, "keep_prepared_txn": True}, NOT_ALLOWED),
            ({}, 0),
        ):
            body = {"transactional_id": "two-phase", "transaction_timeout_ms": 60_000, **flags}
            assert patiently(client, INIT_PRODUCER_ID, 6, body)["error_code"] == code, flags


def commit_offset(producer: RawProducer, topic: str, group: str, offset: int) -> None:
    part = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    body = {"transactional_id": producer.name, "group_id": group, "producer_id": producer.producer_id}
    body |= {"producer_epoch": producer.epoch, "topics": [{"name": topic, "partitions": [part]}]}
    answer = producer.client.call(TXN_OFFSET_COMMIT, 5, body)["topics"][0]["partitions"][0]
    assert answer["error_code"] == 0, answer


def offset_of(client: WireClient, topic: str, group: str) -> tuple[int, int]:
    asked = {"group_id": group, "topics": [{"name": topic, "partition_indexes": [0]}]}
    answer = client.call(OFFSET_FETCH, 8, {"groups": [asked], "require_stable": True})
    found = answer["groups"][0]["topics"][0]["partitions"][0]
    return found["committed_offset"], found["error_code"]
