"""H7: in each partition, the records of one producer stand in the order they were sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.sim.checkers.base import Final

if TYPE_CHECKING:
    from barnabas.sim.world import World


def check(world: World, final: Final) -> Iterator[str]:
    for partition, records in final.everything.items():
        last: dict[bytes, int] = {}
        for offset, value in records:
            producer, _, number = value.rpartition(b"/")
            if value.startswith(b"copy") or not number.isdigit():
                continue
            if int(number) <= last.get(producer, -1):
                yield f"H7 {partition} offset {offset}: {value!r} behind number {last[producer]}"
            last[producer] = int(number)
        offsets = [offset for offset, _ in records]
        if offsets != sorted(set(offsets)):
            yield f"H7 {partition}: offsets do not rise"
