"""H3: an offset holds one value for ever, for all readers.

On an unflushed topic a power loss may take the tail back, and its offsets are given to others; there it holds between
power losses, and what survived one is what was there before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.sim.checkers.base import Final
from barnabas.sim.history import Partition

if TYPE_CHECKING:
    from barnabas.sim.world import World


def check(world: World, final: Final) -> Iterator[str]:
    values: dict[tuple[Partition, int, int], tuple[bytes, str]] = {}
    for seen in world.history.seen:
        strict = world.losses.flushed.get(seen.partition[0], False)
        if world.losses.is_rewritten(seen.partition):
            continue
        key = (seen.partition, seen.offset, 0 if strict else seen.era)
        known = values.setdefault(key, (seen.value, seen.reader))
        if known[0] != seen.value:
            yield (
                f"H3 {seen.partition} offset {seen.offset}: {known[0]!r} for {known[1]}, "
                f"{seen.value!r} for {seen.reader} at {seen.at - 1000:.4f}"
            )
    clusters = world.clusters  # a link brings over what was sent to another
    sent = {(sent.partition, value) for each in clusters for sent in each.history.sent for value in sent.values}
    for seen in world.history.seen:
        if (seen.partition, seen.value) not in sent:
            yield f"S7 {seen.partition} offset {seen.offset}: {seen.value!r} was never sent there"
