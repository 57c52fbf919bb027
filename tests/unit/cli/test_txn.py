"""What hangs and what does not, and when ending a transaction is refused: over a cluster that answers from a script."""

from __future__ import annotations

import time
from types import SimpleNamespace as Answer
from typing import Any

import pytest

from barnabas.cli.common import moments
from barnabas.cli.common.failure import Failure
from barnabas.cli.txn.abort import abort_by_id, abort_by_place, hanging_writer, open_transaction
from barnabas.cli.txn.reading import hanging, listed, writers
from barnabas.link.transactions import Described
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.wire.apis import (
    DESCRIBE_PRODUCERS,
    DESCRIBE_TRANSACTIONS,
    INIT_PRODUCER_ID,
    LIST_TRANSACTIONS,
    WRITE_TXN_MARKERS,
)

OLD_MS = 3_600_000


class FakeCluster:
    """Two nodes: 1 leads t-0 and coordinates `x`, 2 leads t-1 and coordinates the rest."""

    brokers = {1: ("h", 1), 2: ("h", 2)}

    def __init__(self) -> None:
        self.asked: list[tuple[int, int, dict[str, Any]]] = []
        self.producers: dict[int, list[Answer]] = {0: [], 1: []}
        self.transactions: dict[str, Answer] = {}
        self.codes: list[int] = []

    def open_in(self, partition: int, producer_id: int, start: int = 5, ago_ms: int = OLD_MS) -> None:
        written_ms = int(time.time() * 1000) - ago_ms
        self.producers[partition].append(
            Answer(producer_id=producer_id, producer_epoch=2, last_sequence=0, last_timestamp=written_ms,
                   coordinator_epoch=-1, current_txn_start_offset=start)
        )  # fmt: skip

    def coordinate(self, name: str, producer_id: int, state: str = "Ongoing", *partitions: int) -> None:
        self.transactions[name] = Answer(
            error_code=0, transactional_id=name, transaction_state=state, transaction_timeout_ms=1_000,
            transaction_start_time_ms=int(time.time() * 1000) - 5_000, producer_id=producer_id, producer_epoch=2,
            topics=[Answer(topic="t", partitions=list(partitions))] if partitions else [],
        )  # fmt: skip

    def coordinator(self, name: str) -> int:
        return 1 if name == "x" else 2

    def metadata(self, topics: list[str] | None) -> Answer:
        parts = [Answer(partition_index=index, leader_id=index + 1) for index in (0, 1)]
        known = [Answer(name="t", error_code=0, is_internal=False, partitions=parts)]
        return Answer(topics=known if topics in (None, ["t"]) else [])

    def ask(self, node: int, api_key: int, body: dict[str, Any]) -> Answer:
        self.asked.append((node, api_key, body))
        if api_key == LIST_TRANSACTIONS:
            wanted = body["producer_id_filters"]
            states = [
                each
                for name, each in self.transactions.items()
                if self.coordinator(name) == node and (not wanted or each.producer_id in wanted)
            ]
            return Answer(error_code=0, unknown_state_filters=[], transaction_states=states)
        if api_key == DESCRIBE_TRANSACTIONS:
            missing = Answer(error_code=int(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND))
            names = body["transactional_ids"]
            return Answer(transaction_states=[self.transactions.get(name, missing) for name in names])
        if api_key == DESCRIBE_PRODUCERS:
            (topic,) = body["topics"]
            assert topic["partition_indexes"] == [node - 1], "asked at the leader"
            part = Answer(partition_index=node - 1, error_code=0, active_producers=self.producers[node - 1])
            return Answer(topics=[Answer(name="t", partitions=[part])])
        if api_key == WRITE_TXN_MARKERS:
            return Answer(markers=[Answer(topics=[Answer(partitions=[Answer(error_code=self._code())])])])
        if api_key == INIT_PRODUCER_ID:
            return Answer(error_code=self._code())
        raise AssertionError(api_key)

    def _code(self) -> int:
        return int(self.codes.pop(0)) if self.codes else 0


def found(cluster: Any, longer_than_ms: int = 60_000) -> list[tuple[int, int, str | None]]:
    return [
        (each.partition, each.producer_id, each.transactional_id)
        for each in hanging(cluster, None, None, longer_than_ms)
    ]


def test_a_producer_that_no_coordinator_knows_hangs() -> None:
    cluster = FakeCluster()
    cluster.open_in(1, 7)
    assert found(cluster) == [(1, 7, None)]
    assert found(cluster, OLD_MS * 2) == [], "it may still be young"


def test_a_transaction_that_counts_the_partition_in_does_not_hang() -> None:
    cluster = FakeCluster()
    cluster.open_in(0, 7)
    cluster.open_in(1, 7)
    cluster.coordinate("x", 7, "Ongoing", 0, 1)
    assert found(cluster) == []
    cluster.coordinate("x", 7, "Ongoing", 0)
    assert found(cluster) == [(1, 7, "x")], "the other partition was left behind"
    cluster.coordinate("x", 7, "CompleteCommit")
    assert found(cluster) == [(0, 7, "x"), (1, 7, "x")]


def test_producers_without_an_open_transaction_do_not_hang() -> None:
    cluster = FakeCluster()
    cluster.open_in(0, 7, start=-1)
    assert found(cluster) == []
    assert [each.start_offset for each in writers(cluster, "t")] == [None]  # type: ignore[arg-type]


def test_all_coordinators_are_asked() -> None:
    cluster = FakeCluster()
    cluster.coordinate("y", 8, "Empty")
    cluster.coordinate("x", 7)
    rows = listed(cluster)  # type: ignore[arg-type]
    assert [(each.transactional_id, each.coordinator, each.state) for each in rows] == [
        ("x", 1, "Ongoing"),
        ("y", 2, "Empty"),
    ]
    assert rows[0].age_seconds == pytest.approx(5, abs=2) and rows[1].age_seconds is None


def test_only_what_hangs_is_ended_by_its_place() -> None:
    cluster: Any = FakeCluster()
    cluster.open_in(0, 7)
    cluster.coordinate("x", 7, "Ongoing", 0)
    with pytest.raises(Failure, match="belongs to 'x'"):
        hanging_writer(cluster, TopicPartition("t", 0), 5)
    with pytest.raises(Failure, match="begins at offset 6"):
        hanging_writer(cluster, TopicPartition("t", 0), 6)
    cluster.coordinate("x", 7, "CompleteAbort")
    abort_by_place(cluster, hanging_writer(cluster, TopicPartition("t", 0), 5))
    node, api_key, body = cluster.asked[-1]
    (marker,) = body["markers"]
    assert (node, api_key) == (1, WRITE_TXN_MARKERS)
    assert marker["coordinator_epoch"] == 0 and marker["transaction_result"] is False
    assert (marker["producer_id"], marker["producer_epoch"]) == (7, 2)
    cluster.codes = [ErrorCode.INVALID_PRODUCER_EPOCH]
    with pytest.raises(Failure, match="invalid producer epoch"):
        abort_by_place(cluster, hanging_writer(cluster, TopicPartition("t", 0), 5))


@pytest.mark.parametrize(
    ("state", "says"), [("Empty", "no open"), ("CompleteCommit", "no open"), ("PrepareCommit", "decided")]
)
def test_only_what_is_open_is_ended_by_its_name(state: str, says: str) -> None:
    cluster: Any = FakeCluster()
    cluster.coordinate("x", 7, state, 0)
    with pytest.raises(Failure, match=says):
        open_transaction(cluster, "x")
    with pytest.raises(Failure, match="Did you mean"):
        try:
            open_transaction(cluster, "xx")
        except Failure as error:
            raise Failure(error.line()) from None


def test_ending_by_name_waits_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.cli.txn.abort.PAUSE_S", 0)
    cluster: Any = FakeCluster()
    cluster.coordinate("x", 7, "Ongoing", 0)
    again = [
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.INVALID_TRANSACTION_TIMEOUT,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    ]
    cluster.codes = list(again)
    transaction = open_transaction(cluster, "x")
    assert isinstance(transaction, Described) and transaction.partitions == [TopicPartition("t", 0)]
    abort_by_id(cluster, transaction)
    timeouts = [body["transaction_timeout_ms"] for _, key, body in cluster.asked if key == INIT_PRODUCER_ID]
    assert timeouts == [1_000, 1_000, 60_000, 60_000] and not cluster.codes
    cluster.codes = [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    with pytest.raises(Failure, match="authorization"):
        abort_by_id(cluster, transaction)


@pytest.mark.parametrize(
    ("text", "expected"), [("500ms", 500), ("30s", 30_000), ("15 m", 900_000), ("1.5h", 5_400_000)]
)
def test_lengths_of_time(text: str, expected: int) -> None:
    assert moments.duration_ms(text) == expected


@pytest.mark.parametrize("text", ["", "5", "-5m", "5m ago", "soon", "5 parsecs"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(ValueError, match="length of time"):
        moments.duration_ms(text)
