"""Ends a transaction from outside, in one of two ways.

By its id: the id is claimed (InitProducerId), as a new producer of that name would do. The coordinator aborts what is
open and fences whoever used the id; this is the way for a transaction that its coordinator knows.

By its place: an abort marker is written into one partition (WriteTxnMarkers). This is the way for a transaction that
hangs, and only for that: a marker for a transaction that is alive would break it, so those are refused.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from barnabas.cli.common.cluster import Cluster, refused
from barnabas.cli.common.failure import Failure
from barnabas.cli.txn.reading import described, listed, writers
from barnabas.link import transactions
from barnabas.link.transactions import PLAIN_TIMEOUT_MS, Claim, Described, Writer
from barnabas.model.ids import TopicPartition
from barnabas.wire.apis import INIT_PRODUCER_ID, WRITE_TXN_MARKERS

if TYPE_CHECKING:
    from barnabas.wire.messages import InitProducerIdResponse, WriteTxnMarkersResponse

PATIENCE_S = 30.0
PAUSE_S = 0.05


def open_transaction(cluster: Cluster, transactional_id: str) -> Described:
    """The one to abort; a Failure when there is nothing to abort."""
    found = described(cluster, transactional_id)
    if found is None:
        raise unknown(cluster, transactional_id)
    if found.state == "Ongoing":
        return found
    if found.is_open:
        raise Failure(
            f"the transaction of {transactional_id!r} is decided already ({found.state})", "It ends by itself."
        )
    raise Failure(f"{transactional_id!r} has no open transaction ({found.state})")


def unknown(cluster: Cluster, transactional_id: str) -> Failure:
    import difflib

    near = difflib.get_close_matches(transactional_id, [each.transactional_id for each in listed(cluster)], n=1)
    way_out = f"Did you mean {near[0]!r}?" if near else "See them: barnabas txn list"
    return Failure(f"there is no transactional id {transactional_id!r}", way_out)


def abort_by_id(cluster: Cluster, transaction: Described) -> None:
    """Claims the id; returns when its transaction has ended."""
    doing = f"abort the transaction of {transaction.transactional_id!r}"
    timeout_ms = transaction.timeout_ms
    deadline = time.monotonic() + PATIENCE_S
    while True:
        body = {"transactional_id": transaction.transactional_id, "transaction_timeout_ms": timeout_ms}
        begun: InitProducerIdResponse = cluster.ask(transaction.coordinator, INIT_PRODUCER_ID, body)
        step = transactions.claimed(begun.error_code, timeout_ms)
        if step is Claim.DONE:
            return
        if step is Claim.REFUSED:
            raise refused(begun.error_code, doing)
        if step is Claim.PLAIN_TIMEOUT:
            timeout_ms = PLAIN_TIMEOUT_MS
        elif time.monotonic() > deadline:
            raise Failure(f"{doing}: it is not ended after {PATIENCE_S:.0f} s", "See: barnabas txn describe")
        time.sleep(PAUSE_S)


def hanging_writer(cluster: Cluster, partition: TopicPartition, start_offset: int) -> Writer:
    """The producer whose open transaction begins there; a Failure when it is none, or when it is alive."""
    found = writers(cluster, partition.topic, partition.partition)
    where = f"{partition.topic}-{partition.partition}"
    writer = next((each for each in found if each.start_offset == start_offset), None)
    if writer is None:
        starts = ", ".join(str(each.start_offset) for each in found if each.start_offset is not None)
        known = f"Open ones begin at {starts}." if starts else "Nothing is open in it."
        raise Failure(f"no open transaction begins at offset {start_offset} of {where}", known)
    for each in listed(cluster, producer_ids=[writer.producer_id]):
        details = described(cluster, each.transactional_id)
        if details is not None and partition in details.partitions:
            raise Failure(
                f"that transaction does not hang: it belongs to {each.transactional_id!r}",
                f"Abort it by its name: barnabas txn abort {each.transactional_id}",
            )
    return writer


def abort_by_place(cluster: Cluster, writer: Writer) -> None:
    """Writes the abort marker that the partition waits for."""
    answer: WriteTxnMarkersResponse = cluster.ask(
        _leader(cluster, writer), WRITE_TXN_MARKERS, transactions.abort_marker(writer)
    )
    if code := transactions.marker_error(answer):
        raise refused(code, f"write an abort marker to {writer.topic}-{writer.partition}")


def _leader(cluster: Cluster, writer: Writer) -> int:
    (topic,) = cluster.metadata([writer.topic]).topics
    return next(int(each.leader_id) for each in topic.partitions if each.partition_index == writer.partition)
