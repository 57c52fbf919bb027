"""Transactions where the data is: batches, markers, what read_committed sees, offsets that wait for an ending."""

from __future__ import annotations

import time
from typing import Any

from tests.differential.engine import Pair, Side
from tests.differential.registry import scenario
from tests.differential.scenarios.consumer_groups import joined
from tests.differential.scenarios.groups import stable
from tests.differential.scenarios.offsets import commit_body, fetch_offsets_body
from tests.differential.transactional import Transactional, produce_in
from tests.support.wire import (
    CONSUMER_GROUP_DESCRIBE,
    DELETE_GROUPS,
    DESCRIBE_PRODUCERS,
    FETCH,
    LIST_OFFSETS,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
    PRODUCE,
    TXN_OFFSET_COMMIT,
    WRITE_TXN_MARKERS,
    batch,
    fetch_body,
)

ADDS_SINCE = 12  # Produce: the partition is added to the transaction by itself (KIP-890)


def kept(pair: Pair, base: str, partitions: int = 1) -> str:
    """A topic for records of long ago, to which the servers' own time in markers is a new segment; no retention takes
    them away."""
    return pair.topic(pair.fresh(base), partitions, retention_ms="-1")


def show(pair: Pair, topic: str, question: str, isolation: int = 0, offset: int = 0, v: int = 13, **more: Any) -> None:
    def body(side: Side) -> dict[str, Any]:
        ident = side[f"id of {topic}"]
        return fetch_body(topic, offset, topic_id=ident, isolation_level=isolation, **more)

    pair.call(FETCH, v, body, question)


@scenario(PRODUCE)
def produce_in_transactions(pair: Pair, v: int) -> None:
    txn, topic = Transactional(pair), kept(pair, "transacted", 2)
    ask = txn.ask_produce
    now = int(time.time() * 1000)
    if v < ADDS_SINCE:
        ask(v, "to a partition that was not added", topic, txn.records(topic))
        txn.add([(topic, [0])])
    ask(v, "a transactional batch without an id", topic, txn.records(topic), name=None)
    ask(v, "of an id nobody knows", topic, txn.records(topic), name=pair.fresh("unknown"))
    ask(v, "of an empty id", topic, txn.records(topic), name="")
    ask(v, "of an epoch of the future", topic, txn.records(topic, delta=1))
    ask(v, "of a producer nobody knows", topic, stranger(now))
    ask(v, "a batch that is not transactional", topic, txn.records(topic, attributes=0))
    ask(v, "a batch without a producer", topic, lambda s: batch([b"x"], timestamp=now))
    txn.ask_described("before the first good batch")
    ask(v, "the first", topic, txn.records(topic, 2))
    ask(v, "the first again", topic, txn.records(topic, 2))
    ask(v, "the second", topic, txn.records(topic, 2, sequence=2))
    ask(v, "a gap", topic, txn.records(topic, 1, sequence=9))
    ask(v, "not transactional, in the transaction", topic, txn.records(topic, 1, sequence=4, attributes=0))
    ask(v, "of the epoch before", topic, txn.records(topic, 1, sequence=4, delta=-1))
    ask(v, "of an epoch of the future, in the transaction", topic, txn.records(topic, 1, sequence=0, delta=1))
    ask(v, "another partition", topic, txn.records(topic), partition=1)
    ask(v, "a control batch", topic, txn.records(topic, 1, sequence=4, attributes=0x30))
    txn.ask_described("open")
    txn.end(True, 5 if v >= ADDS_SINCE else 1)
    late = {"sequence": 4, "delta": -1 if v >= ADDS_SINCE else 0}
    ask(v, "a batch of a transaction that is over", topic, txn.records(topic, **late))
    txn.ask_described("what the late batch has done")
    txn.init()
    ask(v, "of a fenced producer", topic, txn.records(topic, delta=-1))
    show(pair, topic, "what was written in transactions")


@scenario(PRODUCE)
def produce_out_of_sequence_in_transactions(pair: Pair, v: int) -> None:
    """Where the sequence of a transaction may begin: in a partition that does not know the producer, in one that knows
    it from an earlier transaction, in one where another epoch has written."""
    txn, topic = Transactional(pair), kept(pair, "transacted", 3)
    generation = 5 if v >= ADDS_SINCE else 1

    def ask(question: str, partition: int, sequence: int, count: int = 1) -> None:
        make = txn.records(topic, count, partition, sequence=sequence)
        txn.ask_produce(v, question, topic, make, partition=partition)

    def begin() -> None:
        if v < ADDS_SINCE:
            txn.add([(topic, [0, 1, 2])])

    begin()
    ask("a new producer, not from zero", 0, 5)
    ask("a new producer, then from zero", 0, 0)
    ask("a new producer, on from where it began", 0, 6)
    ask("a new producer, another partition, from zero", 1, 0, 2)
    ask("a new producer, another partition, on", 1, 2)
    txn.end(True, generation)
    begin()
    ask("the next transaction, on", 1, 3)
    ask("the next transaction, from zero", 1, 0)
    ask("the next transaction, a new partition, not from zero", 2, 4)
    txn.end(False, generation)
    txn.init()
    begin()
    ask("the next epoch, not from zero", 1, 4)
    ask("the next epoch, from zero", 1, 0)
    txn.ask_produce(v, "acks one", topic, txn.records(topic, partition=2), partition=2, acks=1)
    txn.end(True, generation)
    show(pair, topic, "what came of sequences", partition=0)
    show(pair, topic, "what came of sequences, another partition", partition=1)


def stranger(now: int) -> Any:
    return lambda side: batch(
        [b"x"], timestamp=now, producer_id=987_654_321, producer_epoch=0, base_sequence=0, attributes=0x10
    )


@scenario(PRODUCE)
def produce_to_several_partitions_in_a_transaction(pair: Pair, v: int) -> None:
    txn, topic = Transactional(pair), kept(pair, "transacted", 3)
    if v < ADDS_SINCE:
        txn.add([(topic, [0, 1])])
    first, plain = txn.records(topic, 2), batch([b"plain"], timestamp=1_700_000_000_000)

    def body(side: Side) -> dict[str, Any]:
        asked = produce_in(txn.name, side, topic, first(side))
        records = {1: first(side), 2: plain, 7: first(side)}
        asked["topic_data"][0]["partition_data"] += [{"index": i, "records": data} for i, data in records.items()]
        return asked

    pair.call(PRODUCE, v, body, "two that belong to it, a plain one, and a partition that is none")
    txn.ask_described("the partitions that took part")


@scenario(FETCH)
def fetch_by_isolation(pair: Pair, v: int) -> None:
    one, two = Transactional(pair, "one"), Transactional(pair, "two")
    topic = kept(pair, "isolated")
    for txn in (one, two):
        txn.add([(topic, [0])])

    def look(question: str, *offsets: int, **more: Any) -> None:
        for offset in offsets:
            for level in (0, 1):
                show(pair, topic, f"{question}, from {offset}, level {level}", level, offset, v, **more)

    one.write(topic, 2)
    look("one is open", 0, 1, 2)
    two.write(topic, 2)
    look("two are open", 0, 2, 4)
    one.end(False, 1)
    look("the first is aborted", 0, 1, 3, 5)
    two.end(True, 1)
    look("the second is committed", 0, 2, 4, 6)
    one.add([(topic, [0])])
    one.write(topic, 3)
    look("open again", 0, 6, 9)
    one.end(False)
    look("aborted again", 0, 2, 3, 7, 9, 10, 11)
    look("one byte at a time", 0, 2, 6, partition_max_bytes=1)
    show(pair, topic, "waiting for what is committed", 1, 10, v, min_bytes=1, max_wait_ms=50)


@scenario(LIST_OFFSETS, range(2, 12))
def list_offsets_by_isolation(pair: Pair, v: int) -> None:
    txn, topic = Transactional(pair), kept(pair, "isolated")
    special = [-1, -2] + [-3] * (v >= 7) + [-4] * (v >= 8) + [-5] * (v >= 9)

    def look(when: str) -> None:
        for timestamp in (*special, 0, 1_700_000_000_000, 1_700_000_000_002, 1_700_000_000_007):
            for level in (0, 1):
                item = {"partition_index": 0, "timestamp": timestamp}
                topics = [{"name": topic, "partitions": [item]}]
                body = {"replica_id": -1, "isolation_level": level, "topics": topics, "timeout_ms": 10000}
                pair.call(LIST_OFFSETS, v, body, f"{when}: {timestamp}, level {level}")

    plain = batch([b"plain"], timestamp=1_600_000_000_000)
    pair.each(lambda s: s.client.call(PRODUCE, 8, produce_in(None, s, topic, plain)))
    txn.add([(topic, [0])])
    txn.write(topic, 2)
    txn.write(topic, 2)
    look("open")
    txn.end(True, 1)
    special.clear()  # the marker has the server's own time
    look("committed")
    txn.add([(topic, [0])])
    txn.write(topic, 3)
    look("open again")


@scenario(WRITE_TXN_MARKERS)
def write_txn_markers(pair: Pair, v: int) -> None:
    txn, topic = Transactional(pair), kept(pair, "marked", 2)

    def ask(
        question: str, *partitions: int, commit: bool = False, delta: int = 0, to: str = topic, **more: Any
    ) -> None:
        def body(side: Side) -> dict[str, Any]:
            topics = [{"name": to, "partition_indexes": list(partitions)}]
            marker = {**txn.who(side, delta), "transaction_result": commit, "topics": topics, "coordinator_epoch": 0}
            return {"markers": [marker | more]}

        pair.call(WRITE_TXN_MARKERS, v, body, question)

    ask("an unknown topic", 0, to=pair.fresh("never"))
    ask("a partition that is none", 7)
    ask("nothing is open", 0)
    show(pair, topic, "a marker of nothing")
    txn.add([(topic, [0, 1])])
    txn.write(topic, 2)
    ask("of an epoch before", 0, delta=-1)
    if v >= 2:
        ask("of the same epoch, by transaction version 2", 0, transaction_version=2)
    ask("an abort of the open one, and a partition it has not written to", 0, 1)
    show(pair, topic, "aborted by hand", 1)
    txn.write(topic, 2, version=12)
    ask("a commit by a later coordinator", 0, commit=True, coordinator_epoch=5)
    show(pair, topic, "committed by hand", 1)
    ask("an older coordinator", 0, coordinator_epoch=3)
    ask("a later epoch, nothing is open", 0, delta=2, coordinator_epoch=5)
    ask("the epoch it was", 0, coordinator_epoch=5)
    pair.call(WRITE_TXN_MARKERS, v, {"markers": []}, "no markers")
    ask("no partitions")
    show(pair, topic, "all markers")


@scenario(DESCRIBE_PRODUCERS)
def describe_producers(pair: Pair, v: int) -> None:
    txn, topic = Transactional(pair), kept(pair, "produced", 2)

    def ask(question: str, to: str = topic, *partitions: int) -> None:
        body = {"topics": [{"name": to, "partition_indexes": list(partitions or (0,))}]}
        pair.call(DESCRIBE_PRODUCERS, v, body, question)

    ask("nobody has written")
    ask("an unknown topic", pair.fresh("never"))
    ask("a topic name that is none", "bad name")
    ask("a partition that is none", topic, 0, 7)
    txn.add([(topic, [0, 1])])
    txn.write(topic, 3)
    ask("an open transaction", topic, 0, 1)
    txn.end(True, 1)
    ask("committed")
    txn.add([(topic, [0])])
    txn.write(topic, 1)
    txn.end(False)
    ask("aborted, the epoch raised")
    pair.call(DESCRIBE_PRODUCERS, v, {"topics": []}, "nothing")


@scenario(TXN_OFFSET_COMMIT)
def txn_offset_commit(pair: Pair, v: int) -> None:
    txn, topic, group = Transactional(pair), pair.topic(pair.fresh("read"), 3), pair.fresh("readers")
    never = pair.fresh("never")

    def ask(question: str, *offsets: Any, named: str = group, **more: Any) -> None:
        asked = offsets or ((topic, 0, 5, "note"),)
        pair.call(TXN_OFFSET_COMMIT, v, lambda s: txn.offsets_body(s, named, asked, **more), question)

    def look(when: str, stable: bool = True) -> None:
        pair.call(
            OFFSET_FETCH,
            8,
            lambda s: fetch_offsets_body(s, group, [(topic, [0, 1, 2])], require_stable=stable),
            f"{when}, {'only stable' if stable else 'any'}",
        )

    ask("an id nobody knows", transactional_id=pair.fresh("unknown"))
    ask("no id", transactional_id="")
    ask("no group", named="")
    ask("another producer", producer_id=987_654_321, producer_epoch=0)
    if v < 5:
        ask("of a group that was not added")
        txn.add_offsets(group)
    ask("an epoch before", delta=-1)
    ask("an epoch of the future", delta=1)
    ask("one", (topic, 0, 5, "note"))
    look("one waits")
    look("one waits", False)
    ask("two, one of them of a topic that is none", (topic, 1, 6, ""), (never, 0, 1, ""))
    ask("a partition that is none", (topic, 9, 6, ""))
    ask("metadata too long", (topic, 2, 6, "m" * 5000))
    ask("no metadata", (topic, 2, 7, None))
    ask("one again, further on", (topic, 0, 8, "later"))
    look("three wait")
    pair.call(OFFSET_FETCH, 8, lambda s: fetch_offsets_body(s, group, None, require_stable=True), "all, only stable")
    txn.end(True)
    look("committed")
    txn.add_offsets(group)
    ask("to be aborted", (topic, 0, 99, "never"))
    look("one waits over an older one")
    look("one waits over an older one", False)
    pair.each(lambda s: s.client.call(OFFSET_COMMIT, 8, commit_body(s, group, topic, [(0, 33, "plain")])))
    look("a plain commit while one waits", False)
    txn.end(False)
    look("aborted")
    ask("after the end", delta=-1)
    txn.init()
    ask("by a fenced producer", delta=-1)
    look("in the end")


@scenario(TXN_OFFSET_COMMIT, range(3, 6))
def txn_offset_commit_of_members(pair: Pair, v: int) -> None:
    """KIP-447: the group checks who commits for it."""
    txn = Transactional(pair)
    topic, group = stable(pair, "classic")
    txn.add_offsets(group)

    def ask(question: str, member: str = "member", generation: int = 1, named: str = group, **more: Any) -> None:
        def body(side: Side) -> dict[str, Any]:
            who = {"member_id": side.saved.get(member, member), "generation_id": generation}
            return txn.offsets_body(side, named, [(topic, 0, 5, "")], **who, **more)

        pair.call(TXN_OFFSET_COMMIT, v, body, question)

    ask("the member")
    ask("an old generation", generation=0)
    ask("a generation of the future", generation=7)
    ask("a member nobody knows", "nobody")
    ask("a member without a generation", generation=-1)
    ask("a generation without a member", "")
    ask("neither", "", -1)
    ask("an instance nobody knows", group_instance_id="static")
    unknown = pair.fresh("unknown")
    txn.add_offsets(unknown)
    ask("a member of a group nobody knows", named=unknown)
    ask("a generation of a group nobody knows", "", 3, unknown)
    txn.end(True)


@scenario(TXN_OFFSET_COMMIT, range(3, 6))
def txn_offset_commit_of_new_members(pair: Pair, v: int) -> None:
    txn = Transactional(pair)
    topic, group = joined(pair, 1, "new-style")
    txn.add_offsets(group)
    for side in pair.sides:
        described = side.client.call(CONSUMER_GROUP_DESCRIBE, 0, {"group_ids": [group]})["groups"][0]
        side.saved["epoch"] = described["members"][0]["member_epoch"]

    def ask(question: str, member: str = "member", epoch: int | None = None, delta: int = 0) -> None:
        def body(side: Side) -> dict[str, Any]:
            number = side["epoch"] + delta if epoch is None else epoch
            who = {"member_id": side.saved.get(member, member), "generation_id": number}
            return txn.offsets_body(side, group, [(topic, 0, 5, "")], **who)

        pair.call(TXN_OFFSET_COMMIT, v, body, question)

    ask("the member of the new protocol")
    ask("an old epoch", delta=-1)
    ask("an epoch of the future", delta=5)
    ask("a member without an epoch", epoch=-1)
    ask("a member nobody knows, new protocol", "nobody")
    ask("neither, new protocol", "", -1)
    txn.end(True)


@scenario(OFFSET_FETCH, range(7, 11))
def offset_fetch_while_offsets_wait(pair: Pair, v: int) -> None:
    txn, topic, group = Transactional(pair), pair.topic(pair.fresh("read"), 3), pair.fresh("readers")
    pair.each(lambda s: s.client.call(OFFSET_COMMIT, 8, commit_body(s, group, topic, [(0, 1, "old"), (1, 2, "")])))
    txn.commit_offsets(group, [(topic, 0, 5, "new"), (topic, 2, 7, "")])

    def ask(question: str, topics: Any, stable: bool) -> None:
        pair.call(OFFSET_FETCH, v, lambda s: fetch_offsets_body(s, group, topics, require_stable=stable), question)

    for only_stable in (True, False):
        word = "only stable" if only_stable else "any"
        ask(f"some, {word}", [(topic, [0, 1, 2])], only_stable)
        ask(f"all, {word}", None, only_stable)
    pair.call(DELETE_GROUPS, 2, {"groups_names": [group]}, "a group with offsets that wait is deleted")
    ask("all, after the group was deleted", None, False)
    item = [{"name": topic, "partitions": [{"partition_index": 0}]}]
    pair.call(OFFSET_DELETE, 0, {"group_id": group, "topics": item}, "an offset that waits is deleted")
    txn.end(True)
    ask("all, afterwards", None, True)
