"""L5: read_committed at the target shows nothing of a transaction that the source aborted or never ended, and after a
planned promotion all of those that it committed. That the last stable offset of a promoted topic moves past what the
source had open, S6 finds in the target: nothing hangs there."""

from collections.abc import Iterator

from barnabas.sim.checkers.base import Final
from barnabas.sim.linked.pair import Pair


def check(pair: Pair, target: Final) -> Iterator[str]:
    visible = {(partition, value) for partition, records in target.committed.items() for _, value in records}
    seen = {(seen.partition, seen.value) for seen in pair.target.history.seen if seen.committed_only}
    lost = any(pair.lost(partition) for partition in target.committed)
    for transaction in pair.source.history.transactions:
        ended = transaction.outcome
        if ended in ("aborted", "open") and not lost:
            shown = [item for item in transaction.values if item in visible or item in seen]
            if shown:
                yield f"L5 {transaction.name} was {ended} at the source; the target shows {shown[0]} to read_committed"
        elif ended == "committed" and pair.planned and not lost:
            gone = [item for item in transaction.values if item not in visible]
            if gone:
                yield f"L5 {transaction.name} was committed at the source; the target does not show {gone[0]}"
