"""Transactions that follow each other at once, on three real nodes in one loop, and markers that are refused."""

import asyncio
from pathlib import Path
from typing import Any

from barnabas.broker.coordinator.markers import _Sending
from barnabas.broker.partition.opened import OpenPartition
from barnabas.core.txn.effects import SendMarkers
from barnabas.core.txn.records import decode_value
from barnabas.core.txn.states import TxnState
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TRANSACTION_TOPIC, TopicPartition
from barnabas.wire import apis
from barnabas.wire.records import iter_records
from tests.unit.broker.cluster import Cluster, ask, run, until
from tests.unit.broker.test_moving_coordinators import Cashier, cluster_test, committed
from tests.unit.broker.test_replication import create, leader_of

ROUNDS = 12


def test_the_next_transaction_begins_before_the_markers_of_the_last_are_written(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        async def one(name: str) -> None:
            cashier = Cashier(cluster, name)
            await cashier.init()
            for number in range(ROUNDS):
                await asyncio.gather(*(cashier.write(index, b"%d" % number) for index in range(3)))
                await cashier.end(commit=number % 4 != 3)

        await asyncio.gather(*(one(f"cashier {n}") for n in range(3)))
        kept = sorted(b"%d" % number for number in range(ROUNDS) if number % 4 != 3 for _ in range(3))
        for index in range(3):
            assert sorted(await committed(cluster, index)) == kept

    cluster_test(test, tmp_path)


def test_a_client_does_not_hear_that_its_last_transaction_is_still_ending(tmp_path: Path) -> None:
    """The leader waits for the markers (add.partitions.to.txn.retry.backoff.max.ms), however the nodes' turns fall."""

    async def test(cluster: Cluster) -> None:
        cashier = Cashier(cluster)
        await cashier.init()
        for number in range(ROUNDS):
            node = await leader_of(cluster, "t", number % 3)
            assert await first_code(cashier, node, number % 3, b"%d" % number) == ErrorCode.NONE
            await cashier.end(commit=True)

    cluster_test(test, tmp_path, {"add_partitions_to_txn_retry_backoff_max_ms": "5000"})


async def first_code(cashier: Cashier, node: Any, index: int, value: bytes) -> int:
    from tests.unit.broker.test_replication import batch

    topic = {
        "name": "t",
        "partition_data": [{"index": index, "records": batch([value], (*cashier.producer, 0), transactional=True)}],
    }
    body = {"transactional_id": cashier.name, "acks": -1, "timeout_ms": 5000, "topic_data": [topic]}
    answer = await ask(node, apis.PRODUCE, 12, body)
    return int(answer.responses[0].partition_responses[0].error_code)


def test_a_partition_at_a_later_epoch_does_not_hold_up_the_id(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cashier = Cashier(cluster)
        await cashier.init()
        await cashier.write(0, b"first")
        await cashier.write(1, b"first")
        later = {
            "producer_id": cashier.producer[0],
            "producer_epoch": cashier.producer[1] + 9,
            "transaction_result": True,
            "topics": [{"name": "t", "partition_indexes": [0]}],
            "coordinator_epoch": -1,
            "transaction_version": 0,
        }
        node = await leader_of(cluster, "t", 0)
        answer = await ask(node, apis.WRITE_TXN_MARKERS, 2, {"markers": [later]})
        assert answer.markers[0].topics[0].partitions[0].error_code == 0
        await cashier.end(commit=True)
        async with asyncio.timeout(10):  # its marker for partition 0 is refused from now on
            await cashier.init()
        assert await committed(cluster, 1) == [b"first"]

    cluster_test(test, tmp_path)


def test_what_each_answer_to_a_marker_means() -> None:
    written = {ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT}
    partition = TopicPartition("t", 0)
    for code in ErrorCode:
        for topic_is_known in (True, False):
            told: list[tuple[list[TopicPartition], list[TopicPartition]]] = []
            sent = SendMarkers("id", 1, 0, 0, True, frozenset({partition}), 2, 1)
            sending = _Sending(sent, lambda written, failed, told=told: told.append((written, failed)))  # type: ignore[misc]
            sending.outcome(partition, code, topic_is_known=topic_is_known)
            gone = code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not topic_is_known
            expected = ([partition], []) if code in written or gone else ([], [partition])
            assert told == [expected], f"{code.name}: each marker is written or sent again"


def state_log(cluster: Cluster, name: str) -> OpenPartition:
    """The partition of `__transaction_state` that holds the id, on the node that coordinates it."""
    for node in cluster.nodes.values():
        partition = node.partitions.get(TRANSACTION_TOPIC, node.transactions.index_of(name))
        if partition is not None and partition.is_leader:
            return partition.open()
    raise AssertionError("nobody coordinates it")


def test_that_one_ended_is_written_with_the_beginning_of_the_next(tmp_path: Path) -> None:
    """One batch, one fetch of each follower and one fsync on each node less for every transaction."""

    async def test(cluster: Cluster) -> None:
        cashier = Cashier(cluster)
        await cashier.init()
        await cashier.write(0, b"before")
        await cashier.end(commit=True)
        log = state_log(cluster, cashier.name).log
        begin = log.log_end_offset
        for number in range(ROUNDS):
            await cashier.write(0, b"%d" % number)
            await cashier.end(commit=True)
        batches = list(log.batches_from(begin))
        assert len(batches) < 2.5 * ROUNDS, "without it there are three for each: begun, decided, complete"

    cluster_test(test, tmp_path)


def test_that_one_ended_is_written_when_no_other_begins(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        cashier = Cashier(cluster)
        await cashier.init()
        await cashier.write(0, b"first")
        await cashier.end(commit=True)
        partition = state_log(cluster, cashier.name)

        def last_state() -> TxnState:
            record = [record for _, batch in partition.log.batches_from(0) for record in iter_records(batch)][-1]
            assert record.value is not None
            return decode_value(cashier.name, record.value).state

        await until(lambda: last_state() is TxnState.COMPLETE_COMMIT)
        await until(lambda: partition.high_watermark == partition.log.log_end_offset)

    cluster_test(test, tmp_path)


def test_that_one_ended_is_written_before_a_clean_stop(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path, 1)
        await cluster.start()
        await create(cluster, "t")
        cashier = Cashier(cluster)
        await cashier.init()
        await cashier.write(0, b"first")
        await cashier.end(commit=True)
        log = state_log(cluster, cashier.name).log
        await until(lambda: bool(cluster.nodes[1].transactions._held) or log.log_end_offset == 4)
        await cluster.stop()
        assert log.log_end_offset == 4, "a producer id, begun, decided, complete"

    run(test)
