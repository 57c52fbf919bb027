"""What a transaction coordinator answers: producers, partitions, endings, listings; every step that is out of order."""

from __future__ import annotations

from typing import Any

from tests.differential.engine import Pair, Side
from tests.differential.registry import scenario
from tests.differential.transactional import Topics, Transactional, ready
from tests.support.wire import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    DESCRIBE_TRANSACTIONS,
    END_TXN,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    LIST_TRANSACTIONS,
)

NOBODY: dict[str, Any] = {"producer_id": 987_654_321, "producer_epoch": 0}
MAX_TIMEOUT_MS = 900_000
BUMPS_SINCE = 5  # EndTxn: each ending raises the epoch (KIP-890)


@scenario(FIND_COORDINATOR, range(1, 7))
def find_transaction_coordinator(pair: Pair, v: int) -> None:
    ready(pair)

    def ask(question: str, *keys: str) -> None:
        body = {"key": keys[0] if keys else "", "key_type": 1, "coordinator_keys": list(keys)}
        pair.call(FIND_COORDINATOR, v, body, question)

    ask("of a transactional id", "some-id")
    ask("of a transactional id without a name", "")
    if v >= 4:
        ask("of three transactional ids", "a", "b", "c")
        ask("of no transactional ids")


@scenario(INIT_PRODUCER_ID)
def init_producer_id_of_a_transactional_id(pair: Pair, v: int) -> None:
    txn = Transactional(pair, initialised=False)
    topic = pair.topic(pair.fresh("enlisted"))

    def ask(question: str, name: str = txn.name, timeout_ms: int = 60_000, keep: bool = True, **more: Any) -> None:
        def body(side: Side) -> dict[str, Any]:
            made = {key: value(side) if callable(value) else value for key, value in more.items()}
            return {"transactional_id": name, "transaction_timeout_ms": timeout_ms, **made}

        pair.call(INIT_PRODUCER_ID, v, body, question, save=txn.keep if keep else None)

    ask("the first")
    ask("once more: the epoch rises")
    ask("the longest timeout", timeout_ms=MAX_TIMEOUT_MS)
    ask("a timeout one too long", timeout_ms=MAX_TIMEOUT_MS + 1)
    ask("a timeout of zero", timeout_ms=0)
    ask("a timeout below zero", timeout_ms=-1)
    ask("a new id with a timeout too long", pair.fresh("new"), timeout_ms=MAX_TIMEOUT_MS + 1, keep=False)
    txn.ask_described("after refusals nothing has changed")
    txn.add([(topic, [0])])
    ask("while a transaction is open: it is aborted, come again", keep=False)
    txn.settle()
    txn.ask_described("what the abort has left")
    ask("the abort is done")
    txn.add([(topic, [0])])
    txn.end(True, 1)
    ask("after a commit of the old way")
    txn.add([(topic, [0])])
    txn.end(True)
    ask("after a commit of the new way")
    if v >= 3:
        ask("going on from the current epoch", **names(txn))
        ask("the same request again", keep=False, **names(txn, -1))
        ask("from two epochs before", keep=False, **names(txn, -2))
        ask("from an epoch of the future", keep=False, **names(txn, 3))
        ask("from an id nobody drew", keep=False, **NOBODY)
        ask("an id without an epoch", keep=False, producer_id=5)
        ask("an epoch without an id", keep=False, producer_epoch=5)
        ask("a negative id", keep=False, producer_id=-7, producer_epoch=3)
        ask("of a name nobody used, from an id nobody drew", pair.fresh("new"), keep=False, **NOBODY)
        ask("going on again", **names(txn))
        txn.add([(topic, [0])])
        ask("going on while a transaction is open", keep=False, **names(txn))
        txn.settle()
        ask("going on once it is aborted", keep=False, **names(txn))
    txn.ask_described("in the end")


def names(txn: Transactional, delta: int = 0) -> dict[str, Any]:
    return {"producer_id": txn.pid, "producer_epoch": lambda side: txn.epoch(side, delta)}


@scenario(INIT_PRODUCER_ID, range(3, 6))
def init_producer_id_of_a_zombie(pair: Pair, v: int) -> None:
    """It names the producer it was while another has taken its place."""
    txn = Transactional(pair)
    topic = pair.topic(pair.fresh("enlisted"))
    txn.init()

    def ask(question: str) -> None:
        def body(side: Side) -> dict[str, Any]:
            return {"transactional_id": txn.name, "transaction_timeout_ms": 60_000, **txn.who(side, -1)}

        pair.call(INIT_PRODUCER_ID, v, body, question)

    ask("nothing is open")
    txn.add([(topic, [0])])
    ask("a zombie, while the other's transaction is open")
    txn.settle()
    ask("a zombie comes again")
    txn.ask_described("the zombie's harm to the transaction")


@scenario(ADD_PARTITIONS_TO_TXN)
def add_partitions_to_txn(pair: Pair, v: int) -> None:
    txn = Transactional(pair)
    topic, other = pair.topic(pair.fresh("enlisted"), 3), pair.topic(pair.fresh("enlisted"))
    never = pair.fresh("never")

    def ask(question: str, topics: Topics, **more: Any) -> None:
        pair.call(ADD_PARTITIONS_TO_TXN, v, lambda s: txn.add_body(s, topics, v, **more), question)

    ask("an id nobody knows", [(topic, [0])], transactional_id=pair.fresh("unknown"))
    ask("no id", [(topic, [0])], transactional_id="")
    ask("an unknown topic", [(never, [0])])
    ask("an unknown topic and a known one", [(never, [0]), (topic, [0])])
    ask("a partition that is none and one that is", [(topic, [0, 7])])
    ask("a negative partition", [(topic, [-1])])
    ask("a topic name that is none", [("bad name", [0])])
    ask("nothing", [])
    ask("a topic without partitions", [(topic, [])])
    txn.ask_described("no partition so far")
    ask("two partitions", [(topic, [0, 1])])
    ask("the same again", [(topic, [0, 1])])
    ask("one more topic", [(other, [0]), (topic, [2])])
    ask("a partition twice", [(topic, [0, 0])])
    ask("an epoch before", [(topic, [0])], delta=-1)
    ask("an epoch of the future", [(topic, [0])], delta=1)
    ask("another producer", [(topic, [0])], **NOBODY)
    ask("of a producer nobody knows and an unknown topic", [(never, [0])], **NOBODY)
    ask("an internal topic", [("__consumer_offsets", [0])])
    txn.ask_described("the partitions")
    txn.end(True, 1)
    ask("after a commit, the next transaction", [(topic, [1])])
    txn.ask_described("the next transaction")
    txn.end(False)
    ask("after an ending that raised the epoch, the epoch before", [(topic, [1])], delta=-1)
    ask("after an ending that raised the epoch, the new one", [(topic, [1])])
    txn.end(False, 1)
    pair.each(lambda s: s.saved.__setitem__("before", txn.who(s)))
    txn.init()
    ask("of a fenced producer", [(topic, [1])], delta=-1)
    if v >= 4:
        ask("verified: nothing is open", [(topic, [0])], verify_only=True)
        txn.add([(topic, [0])])
        ask("verified: one that is in, one that is not", [(topic, [0, 1])], verify_only=True)
        ask("verified: an id nobody knows", [(topic, [0])], verify_only=True, transactional_id=pair.fresh("unknown"))
        ask("verified: an epoch before", [(topic, [0])], verify_only=True, delta=-1)
        ask("verified: another producer", [(topic, [0])], verify_only=True, **NOBODY)
        ask("verified: an unknown topic", [(never, [0])], verify_only=True)
        txn.ask_described("verifying adds nothing")
        several_transactions(pair, v, txn, topic)


def several_transactions(pair: Pair, v: int, txn: Transactional, topic: str) -> None:
    other = Transactional(pair, "other")

    def body(side: Side) -> dict[str, Any]:
        items = [
            txn.add_body(side, [(topic, [1])], v),
            other.add_body(side, [(topic, [0])], v),
            txn.add_body(side, [(topic, [2])], v, transactional_id="unknown", **NOBODY),
        ]
        return {"transactions": [item["transactions"][0] for item in items]}

    pair.call(ADD_PARTITIONS_TO_TXN, v, body, "three transactions, one of them unknown")
    if v == 5:  # Kafka does not answer this one, which takes its time to find out
        pair.call(ADD_PARTITIONS_TO_TXN, v, {"transactions": []}, "no transactions")
    txn.ask_described("one of several")
    other.ask_described("another of several")


@scenario(ADD_OFFSETS_TO_TXN)
def add_offsets_to_txn(pair: Pair, v: int) -> None:
    txn, group = Transactional(pair), pair.fresh("readers")

    def ask(question: str, delta: int = 0, **more: Any) -> None:
        def body(side: Side) -> dict[str, Any]:
            return {"transactional_id": txn.name, "group_id": group, **txn.who(side, delta), **more}

        pair.call(ADD_OFFSETS_TO_TXN, v, body, question)

    ask("an id nobody knows", transactional_id=pair.fresh("unknown"))
    ask("no id", transactional_id="")
    ask("another producer", **NOBODY)
    ask("an epoch before", -1)
    ask("an epoch of the future", 1)
    txn.ask_described("no offsets so far")
    ask("a group")
    ask("the same again")
    ask("no group", group_id="")
    txn.end(True, 1)
    ask("the next transaction")
    txn.end(True)
    ask("the epoch before", -1)
    ask("the new epoch")
    txn.init()
    ask("a fenced producer", -1)


@scenario(END_TXN)
def end_txn(pair: Pair, v: int) -> None:
    txn = Transactional(pair)
    topic = pair.topic(pair.fresh("ended"))
    bumps = v >= BUMPS_SINCE
    txn.ask_end(v, "an id nobody knows", True, transactional_id=pair.fresh("unknown"))
    txn.ask_end(v, "no id", True, transactional_id="")
    txn.ask_end(v, "commit of nothing", True)
    txn.ask_end(v, "abort of nothing", False, keep=True)
    txn.ask_described("after an abort of nothing")
    for commit, word, contrary in ((True, "commit", "abort"), (False, "abort", "commit")):
        txn.add([(topic, [0])])
        txn.ask_end(v, f"{word} by another producer", commit, **NOBODY)
        txn.ask_end(v, f"{word} by the epoch before", commit, delta=-1)
        txn.ask_end(v, f"{word} by an epoch of the future", commit, delta=1)
        txn.ask_described("still open")
        txn.ask_end(v, word, commit, keep=True)
        txn.ask_described(f"after a {word}")
        txn.ask_end(v, f"the same {word} again", commit, delta=-1 if bumps else 0)
        txn.ask_end(v, f"{contrary} after {word}", not commit, delta=-1 if bumps else 0)
        txn.ask_end(v, f"{word} of nothing after {word}", commit, keep=True)
        txn.add([(topic, [0])])
        txn.ask_end(v, f"the first {word}, late, in the next transaction", commit, delta=-1)
        txn.ask_described("the next transaction")
        txn.ask_end(v, f"{contrary} of the next", not commit, keep=True)
    txn.add([(topic, [0])])
    txn.init()
    txn.ask_end(v, "by a fenced producer", True, delta=-1)
    txn.ask_end(v, "by one fenced long ago", True, delta=-2)
    txn.ask_described("in the end")


@scenario(END_TXN)
def end_txn_of_the_other_generation(pair: Pair, v: int) -> None:
    """Clients of both generations under one id, one after the other."""
    txn = Transactional(pair)
    topic = pair.topic(pair.fresh("ended"))
    old = v < BUMPS_SINCE
    txn.add([(topic, [0])], version=4 if old else 3)
    txn.ask_end(v, "of a transaction begun the other way", True, keep=True)
    txn.ask_described("ended the other way")
    txn.add([(topic, [0])])
    txn.end(True, 5 if old else 1)
    txn.ask_end(v, "again, of a transaction ended the other way", True)
    txn.ask_end(v, "abort, of a transaction ended the other way", False)
    txn.ask_described("in the end")


@scenario(DESCRIBE_TRANSACTIONS)
def describe_transactions(pair: Pair, v: int) -> None:
    txn, topic = Transactional(pair), pair.topic(pair.fresh("described"), 3)

    def ask(question: str, *names: str) -> None:
        pair.call(DESCRIBE_TRANSACTIONS, v, {"transactional_ids": list(names)}, question)

    ask("none")
    ask("one nobody knows", pair.fresh("unknown"))
    ask("one without a name", "")
    ask("nothing is open", txn.name)
    txn.add([(topic, [2, 0])])
    ask("an open one", txn.name)
    ask("an open one, one nobody knows, and the first again", txn.name, "unknown", txn.name)
    txn.end(True)
    ask("a committed one", txn.name)


@scenario(LIST_TRANSACTIONS)
def list_transactions(pair: Pair, v: int) -> None:
    txn, other, topic = Transactional(pair), Transactional(pair, "other"), pair.topic(pair.fresh("listed"))
    txn.add([(topic, [0])])

    def ask(question: str, *states: str, **more: Any) -> None:
        def body(side: Side) -> dict[str, Any]:
            mine = [txn.pid(side), other.pid(side)]
            return {"state_filters": list(states), "producer_id_filters": mine, **more}

        pair.call(LIST_TRANSACTIONS, v, body, question)

    ask("by producers")
    ask("open ones", "Ongoing")
    ask("of two states", "Ongoing", "Empty")
    ask("in small letters", "ongoing")
    ask("of states that are none", "Ongoing", "Wrong", "Bad")
    for state in ("PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"):
        ask(f"of state {state}", state)
    ask("of a producer nobody knows", producer_id_filters=[987_654_321])
    if v >= 1:
        ask("open for an hour", duration_filter=3_600_000)
        ask("open for no time", duration_filter=0)
        ask("of any duration", duration_filter=-1)
    if v >= 2:
        ask("by a pattern", transactional_id_pattern=f"{txn.base}-.*")
        ask("by a pattern of a part of the id", transactional_id_pattern=txn.base)
        ask("by a pattern that fits nothing", transactional_id_pattern="nothing-.*")
        ask("by no pattern", transactional_id_pattern="")
        ask("by a pattern that is none", transactional_id_pattern="(ab")
    txn.end(True)
    ask("afterwards")
    ask("afterwards, committed ones", "CompleteCommit")
