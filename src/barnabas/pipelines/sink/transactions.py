"""What is asked of transaction coordinators: begin under an id, prepare, end by producer and epoch, describe, list.

A transaction here is `Prepared`: written by one process, ended by another that knows its id, producer and epoch. Ending
it twice is harmless (KIP-890: the coordinator knows the repetition by the epoch), so every request may be repeated when
its answer is lost. A transaction begins with a timeout, so that one that nobody wants any more goes away by itself.
Before it is decided on it is prepared (KIP-939, where the cluster allows two-phase commit): from then on it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from barnabas.link.codes import is_retriable, name_of
from barnabas.link.errors import LinkDown
from barnabas.model.errors import ErrorCode
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.cluster import Again, Cluster
from barnabas.pipelines.sink.prepared import (
    FENCED,
    Described,
    Fenced,
    NotOpen,
    Prepared,
    TooOld,
    ended,
    kept,
    still_open,
)
from barnabas.wire.apis import DESCRIBE_TRANSACTIONS, END_TXN, INIT_PRODUCER_ID, LIST_TRANSACTIONS
from barnabas.wire.codec import Decoded

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeTransactionsResponse, InitProducerIdResponse, ListTransactionsResponse

INIT_NEWEST, END_NEWEST, DESCRIBE_NEWEST, LIST_NEWEST = 6, 5, 0, 2
FIRST_TWO_PHASE_VERSION = 6  # of InitProducerId
FIRST_NAMED_ERRORS_VERSION = 4  # of InitProducerId: knows a fenced producer from one that is not known
FIRST_EPOCH_BUMP_VERSION = 5  # of EndTxn: before it, a repeated ending could end the next transaction
LONGEST_TIMEOUT_MS = 900_000  # transaction.max.timeout.ms unless the cluster has another
DECISION_TIMEOUT_MS = 60_000
NO_PRODUCER = (-1, -1)

_TWO_PHASE_REFUSED = (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ErrorCode.UNSUPPORTED_VERSION)


class _NotAllowed(Exception):
    """The cluster does not do two-phase commit."""


class Transactions:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._two_phase = True  # until the cluster says no
        self._timeout_ms = cluster.options.transaction_timeout_ms or LONGEST_TIMEOUT_MS

    # --- beginning --------------------------------------------------------------------------------------------------

    def begin(self, transactional_id: str, *, short: bool = False) -> Prepared:
        """Takes the id over: whoever had it is fenced, what they left open is aborted. `short` for a decision."""
        return self._cluster.patiently(
            f"begin a transaction as {transactional_id}", lambda: self._begin(transactional_id, short)
        )

    def _begin(self, transactional_id: str, short: bool) -> Prepared:
        own_timeout = self._cluster.options.transaction_timeout_ms is not None
        timeout_ms = DECISION_TIMEOUT_MS if short else self._timeout_ms
        node_id = self._cluster.coordinators([transactional_id])[transactional_id]
        body = {"transactional_id": transactional_id, "transaction_timeout_ms": timeout_ms}
        answer: InitProducerIdResponse = self._cluster.ask_node(node_id, INIT_PRODUCER_ID, body, INIT_NEWEST)
        if answer.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT and timeout_ms > 1000 and not own_timeout:
            self._timeout_ms = timeout_ms // 2
            return self._begin(transactional_id, short)
        self._raise(answer.error_code, transactional_id, f"begin a transaction as {transactional_id}")
        return Prepared(transactional_id, answer.producer_id, answer.producer_epoch)

    def new_producer(self) -> tuple[int, int]:
        """A producer without transactions: its batches are known again when they are repeated."""

        def ask() -> tuple[int, int]:
            body = {"transactional_id": None, "transaction_timeout_ms": DECISION_TIMEOUT_MS}
            answer: InitProducerIdResponse = self._cluster.ask_any(INIT_PRODUCER_ID, body, INIT_NEWEST)
            self._raise(answer.error_code, None, "get a producer id")
            return answer.producer_id, answer.producer_epoch

        return self._cluster.patiently("get a producer id", ask)

    # --- ending -----------------------------------------------------------------------------------------------------

    def commit(self, prepared: Sequence[Prepared]) -> list[Prepared | NotOpen]:
        """Commits each; gives the producer that follows, or why not."""
        return self._each(
            "commit transactions", prepared, END_TXN, (FIRST_EPOCH_BUMP_VERSION, END_NEWEST), _ending, ended
        )

    def abort(self, prepared: Prepared) -> None:
        """Asked once: whoever takes the id over next aborts what is still open."""
        node_id = self._cluster.coordinators([prepared.transactional_id])[prepared.transactional_id]
        self._cluster.ask_node(node_id, END_TXN, {**_ending(prepared), "committed": False}, END_NEWEST)

    def prepare(self, prepared: Sequence[Prepared], now_ms: int) -> list[Prepared | NotOpen]:
        """Each, safe from timeouts and from whoever wrote it, to be ended under the producer that is given; or why not.

        By two-phase commit where the cluster allows it; else it is only made sure that they are open and stay so for
        long enough to be ended.
        """
        if self._two_phase:
            try:
                return self._each(
                    "prepare transactions",
                    prepared,
                    INIT_PRODUCER_ID,
                    (FIRST_TWO_PHASE_VERSION, INIT_NEWEST),
                    _keeping,
                    kept,
                )
            except _NotAllowed:
                self._two_phase = False
        found = self.describe([each.transactional_id for each in prepared], now_ms)
        return [still_open(each, found[each.transactional_id]) for each in prepared]

    def _each(
        self,
        doing: str,
        prepared: Sequence[Prepared],
        api_key: int,
        versions: tuple[int, int],
        asked: Callable[[Prepared], dict[str, object]],
        judged: Callable[[Prepared, Decoded], Prepared | NotOpen],
    ) -> list[Prepared | NotOpen]:
        """One request for each to its coordinator, those to one node on their way together, until all are answered."""
        results: dict[Prepared, Prepared | NotOpen] = {}

        def round_trip() -> None:
            rest = [each for each in dict.fromkeys(prepared) if each not in results]
            nodes = self._cluster.coordinators(each.transactional_id for each in rest)
            by_node: dict[int, list[Prepared]] = {}
            for each in rest:
                by_node.setdefault(nodes[each.transactional_id], []).append(each)
            for node_id, those in by_node.items():
                try:
                    self._each_at(node_id, those, api_key, versions, asked, judged, results)
                except LinkDown:
                    self._cluster.drop(node_id)
                    for each in those:
                        self._cluster.forget_coordinator(each.transactional_id)
                    raise
            if len(results) < len(set(prepared)):
                raise Again("some are not answered")

        self._cluster.patiently(doing, round_trip)
        return [results[each] for each in prepared]

    def _each_at(
        self,
        node_id: int,
        those: list[Prepared],
        api_key: int,
        versions: tuple[int, int],
        asked: Callable[[Prepared], dict[str, object]],
        judged: Callable[[Prepared, Decoded], Prepared | NotOpen],
        results: dict[Prepared, Prepared | NotOpen],
    ) -> None:
        link = self._cluster.link(node_id)
        version = link.versions.newest(api_key, versions[1])
        if version < versions[0]:
            if api_key == INIT_PRODUCER_ID:
                raise _NotAllowed
            raise TooOld
        for each in those:
            link.send(api_key, version, asked(each))
        refused = False
        for each in those:
            answer = link.receive()
            if answer.error_code in _TWO_PHASE_REFUSED and api_key == INIT_PRODUCER_ID:
                refused = True  # the other answers are on their way all the same
            elif not is_retriable(answer.error_code):
                results[each] = judged(each, answer)
            elif answer.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
                self._cluster.forget_coordinator(each.transactional_id)
        if refused:
            raise _NotAllowed

    def abandon(self, transactional_ids: Iterable[str]) -> None:
        """Aborts whatever is open under these ids and fences whoever wrote it."""
        everything = [Prepared(name, *NO_PRODUCER) for name in transactional_ids]
        versions = (FIRST_NAMED_ERRORS_VERSION, INIT_NEWEST)
        for each in self._each("abort transactions", everything, INIT_PRODUCER_ID, versions, _taking_over, ended):
            if isinstance(each, NotOpen):
                raise PipelineError(f"could not abort what is open: {each}")

    # --- looking ----------------------------------------------------------------------------------------------------

    def describe(self, transactional_ids: Sequence[str], now_ms: int) -> dict[str, Described | None]:
        """What the coordinators know of each id; None for one they do not know."""
        return self._cluster.patiently("look transactions up", lambda: self._describe(transactional_ids, now_ms))

    def _describe(self, transactional_ids: Sequence[str], now_ms: int) -> dict[str, Described | None]:
        found: dict[str, Described | None] = {}
        by_node: dict[int, list[str]] = {}
        for name, node_id in self._cluster.coordinators(transactional_ids).items():
            by_node.setdefault(node_id, []).append(name)
        for node_id, names in by_node.items():
            answer: DescribeTransactionsResponse = self._cluster.ask_node(
                node_id, DESCRIBE_TRANSACTIONS, {"transactional_ids": names}, DESCRIBE_NEWEST
            )
            for each in answer.transaction_states:
                name = each.transactional_id
                if each.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                    found[name] = None
                    continue
                self._raise(each.error_code, name, f"look {name} up")
                endless = each.transaction_timeout_ms == 2**31 - 1
                open_ms = now_ms - each.transaction_start_time_ms
                left_ms = None if endless else each.transaction_timeout_ms - open_ms
                found[name] = Described(each.transaction_state, each.producer_id, each.producer_epoch, left_ms, open_ms)
        return found

    def open_ids(self, prefix: str) -> list[str]:
        """Every id with this prefix under which a transaction is open, at any coordinator."""
        return self._ids(prefix, ["Ongoing"])

    def begun_ids(self, prefix: str) -> list[str]:
        """With those under which nothing has been written since somebody took them."""
        return self._ids(prefix, ["Ongoing", "Empty"])

    def _ids(self, prefix: str, states: list[str]) -> list[str]:
        def ask() -> list[str]:
            found = []
            for node_id in self._cluster.node_ids():
                body = {"state_filters": states, "producer_id_filters": []}
                answer: ListTransactionsResponse = self._cluster.ask_node(node_id, LIST_TRANSACTIONS, body, LIST_NEWEST)
                self._raise(answer.error_code, None, "list transactions")
                found += [each.transactional_id for each in answer.transaction_states]
            return [name for name in found if name.startswith(prefix)]

        return self._cluster.patiently("list transactions", ask)

    def _raise(self, code: int, transactional_id: str | None, doing: str) -> None:
        if not code:
            return
        if is_retriable(code):
            if transactional_id is not None and code != ErrorCode.CONCURRENT_TRANSACTIONS:
                self._cluster.forget_coordinator(transactional_id)
            raise Again(name_of(code))
        if code in FENCED:
            raise Fenced(f"{doing}: {name_of(code)}")
        raise PipelineError(f"could not {doing}: {name_of(code)}")


def _taking_over(each: Prepared) -> dict[str, object]:
    return {"transactional_id": each.transactional_id, "transaction_timeout_ms": DECISION_TIMEOUT_MS}


def _keeping(each: Prepared) -> dict[str, object]:
    return {**_taking_over(each), "enable2_pc": True, "keep_prepared_txn": True}


def _ending(each: Prepared) -> dict[str, object]:
    return {
        "transactional_id": each.transactional_id,
        "producer_id": each.producer_id,
        "producer_epoch": each.producer_epoch,
        "committed": True,
    }
