"""Fetch, sessions, ListOffsets, OffsetForLeaderEpoch, DeleteRecords."""

from __future__ import annotations

import time
from typing import Any

from tests.differential.engine import Pair, Side
from tests.differential.registry import scenario
from tests.support.wire import (
    DELETE_RECORDS,
    FETCH,
    LIST_OFFSETS,
    OFFSET_FOR_LEADER_EPOCH,
    PRODUCE,
    batch,
    fetch_body,
    produce_body,
)

NOW = int(time.time() * 1000) - 1_000_000


def filled(pair: Pair, base: str, partitions: int = 1, **configs: str) -> str:
    """A topic with three batches of three records, one second apart, the same bytes on both servers."""
    name = pair.topic(pair.fresh(base), partitions, **configs)
    for number in range(3):
        data = batch([f"{number}.{i}".encode() * 10 for i in range(3)], timestamp=NOW + 1000 * number)
        body = produce_body(name, data)
        pair.each(lambda s: s.client.call(PRODUCE, 8, body))  # noqa: B023
    return name


@scenario(FETCH)
def fetch(pair: Pair, v: int) -> None:
    name = filled(pair, "fetched", 2)

    def ask(question: str, offset: int, topic: str = name, **more: Any) -> None:
        def body(side: Side) -> dict[str, Any]:
            return fetch_body(topic, offset, topic_id=side.saved.get(f"id of {topic}", b"\3" * 16), **more)

        pair.call(FETCH, v, body, question)

    ask("from the beginning", 0)
    ask("inside a batch", 4)
    ask("the last record", 8)
    ask("at the end", 9)
    ask("past the end", 10)
    ask("before the beginning", -1)
    ask("far before the beginning", -5)
    ask("an empty partition", 0, partition=1)
    ask("a partition that is none", 0, partition=7)
    ask("a negative partition", 0, partition=-1)
    ask("an unknown topic", 0, pair.fresh("never"))
    ask("one byte of the partition: the first batch all the same", 0, partition_max_bytes=1)
    ask("one byte in all: the first batch all the same", 0, max_bytes=1)
    ask("200 bytes: one batch and part of one", 0, partition_max_bytes=200)
    ask("no bytes", 0, partition_max_bytes=0)
    ask("read committed", 0, isolation_level=1)
    ask("an isolation level that is none", 0, isolation_level=9)
    ask("waiting for more than there is", 0, min_bytes=1 << 20, max_wait_ms=50)
    ask("waiting at the end", 9, min_bytes=1, max_wait_ms=50)
    if v >= 9:
        ask("the right leader epoch", 0, current_leader_epoch=0)
        ask("a leader epoch of the future", 0, current_leader_epoch=5)
    if v >= 12:
        ask("a last fetched epoch", 0, last_fetched_epoch=0)
        ask("a last fetched epoch of the future", 3, last_fetched_epoch=5)

    def two(side: Side) -> dict[str, Any]:
        body = fetch_body(name, 0, topic_id=side[f"id of {name}"])
        body["topics"][0]["partitions"].append({"partition": 1, "fetch_offset": 0, "partition_max_bytes": 1000})
        body["topics"][0]["partitions"].append({"partition": 9, "fetch_offset": 0, "partition_max_bytes": 1000})
        return body

    pair.call(FETCH, v, two, "three partitions, one of them none")
    pair.call(FETCH, v, {**fetch_body(name, 0), "topics": []}, "nothing")


@scenario(FETCH, range(7, 19))
def fetch_sessions(pair: Pair, v: int) -> None:
    """KIP-227: full, incremental, forgotten, and each way to be out of step."""
    name = filled(pair, "in-session", 2)

    def ask(
        question: str,
        epoch: int,
        session: str | int = "session",
        parts: tuple[tuple[int, int], ...] = (),
        forget: tuple[int, ...] = (),
    ) -> None:
        def body(side: Side) -> dict[str, Any]:
            ident = side[f"id of {name}"]
            listed = [{"partition": p, "fetch_offset": at, "partition_max_bytes": 1 << 20} for p, at in parts]
            topics = [{"topic": name, "topic_id": ident, "partitions": listed}] if listed else []
            gone = [{"topic": name, "topic_id": ident, "partitions": list(forget)}] if forget else []
            number = side[session] if isinstance(session, str) else session
            return {
                "replica_id": -1,
                "max_wait_ms": 0,
                "min_bytes": 0,
                "max_bytes": 1 << 20,
                "session_id": number,
                "session_epoch": epoch,
                "topics": topics,
                "forgotten_topics_data": gone,
            }

        pair.call(
            FETCH,
            v,
            body,
            question,
            save=lambda s, a: s.saved.__setitem__("session", a["session_id"] or s.saved.get("session", 0)),
        )

    ask("a new session with two partitions", 0, 0, ((0, 0), (1, 0)))
    ask("nothing new to ask: the answer has only what changed", 1)
    ask("one partition moves on", 2, parts=((0, 9),))
    ask("nothing changed", 3)
    pair.each(lambda s: s.client.call(PRODUCE, 8, produce_body(name, batch([b"new"], timestamp=NOW), partition=1)))
    ask("something was written", 4)
    ask("one is forgotten", 5, forget=(1,))
    ask("one comes back, where it is out of range", 6, parts=((1, 50),))
    ask("a partition that is none", 7, parts=((7, 0),))
    ask("an epoch of the past", 2)
    ask("an epoch of the future", 99)
    ask("a session that is none", 1, 987_654_321)
    ask("no session, all in one", -1, 0, ((0, 0),))
    ask("the session is closed", -1, "session", ((0, 0),))
    ask("the closed session", 8)


@scenario(LIST_OFFSETS)
def list_offsets(pair: Pair, v: int) -> None:
    name = filled(pair, "listed", 2)

    def ask(question: str, timestamp: int, topic: str = name, partition: int = 0, **more: Any) -> None:
        top: dict[str, Any] = {key: more.pop(key) for key in ("replica_id", "isolation_level") if key in more}
        item: dict[str, Any] = {"partition_index": partition, "timestamp": timestamp, **more}
        body = {"replica_id": -1, "topics": [{"name": topic, "partitions": [item]}], "timeout_ms": 10000, **top}
        pair.call(LIST_OFFSETS, v, body, question)

    ask("the end", -1)
    ask("the beginning", -2)
    for special in range(-3, -8, -1):
        ask(f"special timestamp {special}", special)
    ask("the first record's time", NOW)
    ask("between two batches", NOW + 500)
    ask("the last record's time", NOW + 2000)
    ask("after the last", NOW + 2001)
    ask("time zero", 0)
    ask("an empty partition, the end", -1, partition=1)
    ask("an empty partition, a time", NOW, partition=1)
    if v >= 7:
        ask("an empty partition, the largest time", -3, partition=1)
    ask("a partition that is none", -1, partition=7)
    ask("an unknown topic", -1, pair.fresh("never"))
    ask("a bad topic name", -1, "bad name")
    if v >= 2:
        ask("the end, read committed", -1, isolation_level=1)
        ask("a time, read committed", NOW, isolation_level=1)
    if v >= 4:
        ask("the right leader epoch", -1, current_leader_epoch=0)
        ask("a leader epoch of the future", -1, current_leader_epoch=5)
    twice = {
        "name": name,
        "partitions": [{"partition_index": 0, "timestamp": -1}, {"partition_index": 0, "timestamp": -2}],
    }
    pair.call(LIST_OFFSETS, v, {"replica_id": -1, "topics": [twice]}, "the same partition twice")
    pair.call(LIST_OFFSETS, v, {"replica_id": -1, "topics": []}, "nothing")


@scenario(OFFSET_FOR_LEADER_EPOCH)
def offset_for_leader_epoch(pair: Pair, v: int) -> None:
    name = filled(pair, "epochs", 2)

    def ask(question: str, epoch: int, current: int = -1, topic: str = name, partition: int = 0) -> None:
        item = {"partition": partition, "leader_epoch": epoch, "current_leader_epoch": current}
        pair.call(
            OFFSET_FOR_LEADER_EPOCH, v, {"replica_id": -1, "topics": [{"topic": topic, "partitions": [item]}]}, question
        )

    ask("the epoch there is", 0)
    ask("with the current one", 0, 0)
    ask("an epoch of the future", 5)
    ask("an epoch below zero", -1)
    ask("a current epoch of the future", 0, 7)
    ask("an empty partition", 0, partition=1)
    ask("a partition that is none", 0, partition=7)
    ask("an unknown topic", 0, topic=pair.fresh("never"))
    pair.call(OFFSET_FOR_LEADER_EPOCH, v, {"replica_id": -1, "topics": []}, "nothing")


@scenario(DELETE_RECORDS)
def delete_records(pair: Pair, v: int) -> None:
    name = filled(pair, "cut", 2)

    def ask(question: str, offset: int, topic: str = name, partition: int = 0) -> None:
        item = {"partition_index": partition, "offset": offset}
        pair.call(DELETE_RECORDS, v, {"topics": [{"name": topic, "partitions": [item]}], "timeout_ms": 10000}, question)

    def where(question: str) -> None:
        for special in (-2, -1):
            item = {"partition_index": 0, "timestamp": special}
            pair.call(
                LIST_OFFSETS,
                5,
                {"replica_id": -1, "topics": [{"name": name, "partitions": [item]}]},
                f"{question}, {special}",
            )

    ask("the first four", 4)
    where("after four")
    pair.call(FETCH, 11, fetch_body(name, 0), "fetching what was cut")
    pair.call(FETCH, 11, fetch_body(name, 4), "fetching from the cut")
    ask("fewer than are gone", 2)
    ask("more than there are", 50)
    ask("below zero", -2)
    ask("all", -1)
    where("after all")
    ask("all of an empty partition", -1, partition=1)
    ask("a partition that is none", 0, partition=7)
    ask("an unknown topic", 0, pair.fresh("never"))
    compacted = pair.topic(pair.fresh("compacted"), 1, cleanup_policy="compact")
    ask("of a compacted topic", 0, compacted)
    pair.call(DELETE_RECORDS, v, {"topics": [], "timeout_ms": 10000}, "nothing")
