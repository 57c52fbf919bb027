"""L3: when a link has caught up the two logs are equal, byte for byte, from where both begin to their ends. Nothing
that only one of them had survives a reverse."""

from collections.abc import Iterator

from barnabas.sim.checkers.linked.logs import Batch, LogView, end_of, log_of
from barnabas.sim.history import Partition
from barnabas.sim.linked.pair import Pair
from barnabas.sim.world import World


def seen(world: World, partition: Partition) -> bool:
    """Does somebody lead it whose log can be read?"""
    return end_of(world, partition) is not None


def caught_up(pair: Pair, partitions: list[Partition]) -> bool:
    """Do the high watermarks agree? Asked after every callback, so nothing is read."""
    return all(
        there is not None and there == here
        for there, here in ((end_of(pair.source, p), end_of(pair.target, p)) for p in partitions)
    )


def check(pair: Pair, partitions: list[Partition]) -> Iterator[str]:
    for partition in partitions:
        there, here = log_of(pair.source, partition), log_of(pair.target, partition)
        if there is None or here is None:
            yield f"S8 {partition} has no leader in {'the source' if there is None else 'the target'}"
        elif there.high_watermark != here.high_watermark:
            ends = f"{there.high_watermark} in the source, at {here.high_watermark} in the target"
            yield f"L3 {partition}: ends at {ends}, though nobody writes any more"
        else:
            yield from _compare(partition, there, here)


def _compare(partition: Partition, there: LogView, here: LogView) -> Iterator[str]:
    start = max(there.start, here.start)
    for base in sorted({*there.batches, *here.batches}):
        one, other = there.batches.get(base), here.batches.get(base)
        if (one or other).next_offset <= start:  # type: ignore[union-attr]  # one of them is there
            continue
        if one != other:
            yield f"L3 {partition} at {base}: {_shown(one)} in the source, {_shown(other)} in the target"
            return


def _shown(batch: Batch | None) -> str:
    return "nothing" if batch is None else f"up to {batch.next_offset} in epoch {batch.epoch} ({batch.digest.hex()})"
