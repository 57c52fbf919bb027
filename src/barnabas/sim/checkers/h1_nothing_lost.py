"""H1: what was acknowledged (acks=all) is there, at its offset.

Level "replicated" survives kill -9; level "flushed" (flush.messages=1) survives a power loss as well. Excused is only
what was acknowledged on an unflushed topic before a power loss, and a partition whose files a fault has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.sim.checkers.base import Final

if TYPE_CHECKING:
    from barnabas.sim.world import World


def check(world: World, final: Final) -> Iterator[str]:
    there = {partition: dict(records) for partition, records in final.everything.items()}
    for sent in world.history.sent:
        if sent.acked_at is None or world.may_lose(sent.partition, sent.era):
            continue
        for i, value in enumerate(sent.values):
            offset = sent.base_offset + i
            if there[sent.partition].get(offset) != value:
                found = there[sent.partition].get(offset)
                yield (
                    f"H1 {sent.partition}: {value!r}, acknowledged at {sent.acked_at - 1000:.4f} with offset {offset}, "
                    f"is not there ({'nothing' if found is None else repr(found)} is)"
                )
                break
