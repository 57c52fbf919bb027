"""H4: no aborted or unfinished record at read_committed. H5: a transaction is read whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.sim.checkers.base import Final

if TYPE_CHECKING:
    from barnabas.sim.world import World


def check(world: World, final: Final) -> Iterator[str]:
    if any(
        world.may_lose(partition, 0) for partition in final.committed if partition[0] in ("tx", "copies", "flushed")
    ):
        return
    visible = {(partition, value) for partition, records in final.committed.items() for _, value in records}
    for transaction in world.history.transactions:
        there = sum(item in visible for item in transaction.values)
        if transaction.outcome in ("aborted", "open") and there:
            yield f"H4 {transaction.name} was {transaction.outcome}; {there} of its records are read"
        elif transaction.outcome == "committed" and there < len(transaction.values):
            yield f"H5 {transaction.name} was committed; {there} of {len(transaction.values)} records are read"
        elif 0 < there < len(transaction.values):
            yield f"H5 {transaction.name}: {there} of {len(transaction.values)} records are read"
    not_committed = {
        item: transaction.name
        for transaction in world.history.transactions
        if transaction.outcome == "aborted"
        for item in transaction.values
    }
    for seen in world.history.seen:
        name = not_committed.get((seen.partition, seen.value))
        if seen.committed_only and name is not None:
            yield f"H4 {seen.reader} read {seen.value!r} of {name} at {seen.at - 1000:.4f}; it was aborted"
