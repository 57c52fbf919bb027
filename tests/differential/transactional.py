"""A transactional producer made of single requests, the same on both servers: what the scenarios of transactions are
written with. What is asked through `ask_*` is compared; the plain verbs only bring both servers to the same place."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.differential.engine import Pair, Side
from tests.support.wire import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    DESCRIBE_TRANSACTIONS,
    END_TXN,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    PRODUCE,
    TXN_OFFSET_COMMIT,
    batch,
)

TRANSACTIONAL = 0x10  # the attribute of a batch
_COME_AGAIN = (14, 15, 16, 51)  # loading, not available, not the coordinator, the last ending is under way
_BATCHED_SINCE = 4  # AddPartitionsToTxn for several transactions, as brokers send it
Topics = Sequence[tuple[str, Sequence[int]]]


def ready(pair: Pair) -> None:
    """Both servers have a transaction coordinator that answers (the first question creates its topic)."""
    for side in pair.sides:
        until(side, FIND_COORDINATOR, 2, {"key": "warm-up", "key_type": 1})
        until(side, INIT_PRODUCER_ID, 2, {"transactional_id": "warm-up", "transaction_timeout_ms": 1000})


def until(side: Side, api_key: int, version: int, body: dict[str, Any]) -> dict[str, Any]:
    """Ask again while the server says come again."""
    answer = once_loaded(side, api_key, version, body)
    assert answer["error_code"] == 0, (side.label, answer)
    return answer


def once_loaded(side: Side, api_key: int, version: int, body: dict[str, Any]) -> dict[str, Any]:
    """The answer of a coordinator that is there: a new partition of its topic takes Kafka a moment."""
    deadline = time.monotonic() + 20
    while (answer := side.client.call(api_key, version, body))["error_code"] in _COME_AGAIN:
        assert time.monotonic() < deadline, (side.label, answer)
        time.sleep(0.01)
    found: dict[str, Any] = answer
    return found


class Transactional:
    """One transactional id, by the same name on both servers, with the producer each of them gave it."""

    def __init__(self, pair: Pair, base: str = "txn", *, initialised: bool = True) -> None:
        self.pair, self.base, self.name = pair, base, pair.fresh(base)
        self.sequence: dict[tuple[str, int], int] = {}
        ready(pair)
        if initialised:
            self.init()

    # --- what is known of the producer

    def keep(self, side: Side, answer: dict[str, Any]) -> None:
        if answer["error_code"] == 0 and answer.get("producer_id", -1) >= 0:
            side.saved[self.name] = (answer["producer_id"], answer["producer_epoch"])
            side.names.give(("producer", answer["producer_id"]), self.base)

    def pid(self, side: Side) -> int:
        return int(side[self.name][0])

    def epoch(self, side: Side, delta: int = 0) -> int:
        return int(side[self.name][1]) + delta

    def who(self, side: Side, delta: int = 0) -> dict[str, Any]:
        return {"producer_id": self.pid(side), "producer_epoch": self.epoch(side, delta)}

    # --- verbs: not compared

    def init(self, timeout_ms: int = 60_000) -> None:
        self.sequence.clear()
        for side in self.pair.sides:
            body = {"transactional_id": self.name, "transaction_timeout_ms": timeout_ms}
            self.keep(side, until(side, INIT_PRODUCER_ID, 5, body))

    def add(self, topics: Topics, version: int = 3) -> None:
        for side in self.pair.sides:
            answer = side.client.call(ADD_PARTITIONS_TO_TXN, version, self.add_body(side, topics, version))
            assert not error_codes(answer), (side.label, answer)

    def add_offsets(self, group: str) -> None:
        for side in self.pair.sides:
            body = {"transactional_id": self.name, "group_id": group, **self.who(side)}
            until(side, ADD_OFFSETS_TO_TXN, 4, body)

    def write(self, topic: str, count: int = 1, partition: int = 0, **more: Any) -> None:
        """The next records of the transaction; the partition must have been added, or `version` be 12 at least."""
        version = more.pop("version", 11)
        make = self.records(topic, count, partition, **more)
        for side in self.pair.sides:
            answer = side.client.call(PRODUCE, version, produce_in(self.name, side, topic, make(side), partition))
            assert not error_codes(answer), (side.label, answer)
        self.sequence[topic, partition] = self.sequence.get((topic, partition), 0) + count

    def end(self, commit: bool, version: int = 5) -> None:
        for side in self.pair.sides:
            body = {"transactional_id": self.name, "committed": commit, **self.who(side)}
            answer = until(side, END_TXN, version, body)
            if version >= 5:
                self.keep(side, answer)
        if version >= 5:
            self.sequence.clear()
        self.settle()

    def settle(self) -> None:
        """Until no markers are under way."""
        for side in self.pair.sides:
            deadline = time.monotonic() + 20
            while True:
                answer = side.client.call(DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": [self.name]})
                if not answer["transaction_states"][0]["transaction_state"].startswith("Prepare"):
                    break
                assert time.monotonic() < deadline, (side.label, answer)
                time.sleep(0.005)

    # --- bodies

    def records(
        self,
        topic: str,
        count: int = 1,
        partition: int = 0,
        *,
        delta: int = 0,
        sequence: int | None = None,
        **more: Any,
    ) -> Callable[[Side], bytes]:
        first = self.sequence.get((topic, partition), 0) if sequence is None else sequence
        values = [b"%s %d" % (self.base.encode(), first + i) for i in range(count)]
        more = {"attributes": TRANSACTIONAL, "timestamp": 1_700_000_000_000 + first, **more}
        return lambda side: batch(
            values, producer_id=self.pid(side), producer_epoch=self.epoch(side, delta), base_sequence=first, **more
        )

    def add_body(self, side: Side, topics: Topics, version: int, delta: int = 0, **more: Any) -> dict[str, Any]:
        listed = [{"name": name, "partitions": list(partitions)} for name, partitions in topics]
        item = {"transactional_id": self.name, "topics": listed, **self.who(side, delta), **more}
        if version >= _BATCHED_SINCE:
            return {"transactions": [item]}
        return {f"v3_and_below_{key}": value for key, value in item.items()}

    def offsets_body(
        self, side: Side, group: str, topics: Sequence[tuple[str, int, int, str | None]], **more: Any
    ) -> dict[str, Any]:
        """`topics`: name, partition, offset and metadata of each."""
        delta = more.pop("delta", 0)
        listed = [
            {
                "name": name,
                "partitions": [{"partition_index": index, "committed_offset": offset, "committed_metadata": metadata}],
            }
            for name, index, offset, metadata in topics
        ]
        return {"transactional_id": self.name, "group_id": group, **self.who(side, delta), "topics": listed, **more}

    # --- questions: compared

    def ask_produce(self, v: int, question: str, topic: str, make: Callable[[Side], bytes], **more: Any) -> None:
        name, partition = more.pop("name", self.name), more.pop("partition", 0)
        self.pair.call(PRODUCE, v, lambda s: produce_in(name, s, topic, make(s), partition, **more), question)

    def ask_end(self, v: int, question: str, commit: bool, *, delta: int = 0, keep: bool = False, **more: Any) -> None:
        def body(side: Side) -> dict[str, Any]:
            return {"transactional_id": self.name, "committed": commit, **self.who(side, delta), **more}

        self.pair.call(END_TXN, v, body, question, save=self.keep if keep else None)
        self.settle()

    def ask_described(self, question: str) -> None:
        self.pair.call(DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": [self.name]}, question)

    def commit_offsets(self, group: str, topics: Sequence[tuple[str, int, int, str | None]]) -> None:
        for side in self.pair.sides:
            answer = side.client.call(TXN_OFFSET_COMMIT, 5, self.offsets_body(side, group, topics))
            assert not error_codes(answer), (side.label, answer)


def produce_in(
    name: str | None, side: Side, topic: str, data: bytes | None, partition: int = 0, acks: int = -1
) -> dict[str, Any]:
    ident = side.saved.get(f"id of {topic}", b"\3" * 16)
    return {
        "transactional_id": name,
        "acks": acks,
        "timeout_ms": 10_000,
        "topic_data": [{"name": topic, "topic_id": ident, "partition_data": [{"index": partition, "records": data}]}],
    }


def error_codes(answer: Any) -> list[int]:
    """Every error in an answer, at whatever depth."""
    if isinstance(answer, dict):
        found = [value for key, value in answer.items() if key.endswith("error_code") and value]
        return found + [code for value in answer.values() for code in error_codes(value)]
    if isinstance(answer, list):
        return [code for item in answer for code in error_codes(item)]
    return []
