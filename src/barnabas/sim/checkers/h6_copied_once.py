"""H6: consume-transform-produce gives each input exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.sim.checkers.base import Final
from barnabas.sim.workloads.copier import Copier

if TYPE_CHECKING:
    from barnabas.sim.world import World


def _original(copy: bytes) -> bytes:
    return copy.removeprefix(b"copy ").rpartition(b" #")[0]


def check(world: World, final: Final) -> Iterator[str]:
    copiers = [workload for workload in world.workloads if isinstance(workload, Copier)]
    source, target = ("tx", 0), ("copies", 0)
    if not copiers or world.may_lose(source, 0) or world.may_lose(target, 0):
        return
    copied = Counter(_original(value) for _, value in final.committed[target])
    place = max((copier.place for copier in copiers), default=-1)
    for value, times in copied.items():
        if times > 1:
            yield f"H6 {value!r} is there {times} times"
    for offset, value in final.committed[source]:
        if offset < place and not copied[value]:
            yield f"H6 {value!r} at {offset} was passed over (the place is {place})"
