"""H2: with idempotence on, no record is in the log twice, however often it was sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.sim.checkers.base import Final

if TYPE_CHECKING:
    from barnabas.sim.world import World


def check(world: World, final: Final) -> Iterator[str]:
    for partition, records in final.everything.items():
        first: dict[bytes, int] = {}
        for offset, value in records:
            if value.startswith((b"plain", b"copy")):
                continue  # no idempotence; copies are H6's
            if value in first:
                yield f"H2 {partition}: {value!r} is there twice, at {first[value]} and {offset}"
            first.setdefault(value, offset)
