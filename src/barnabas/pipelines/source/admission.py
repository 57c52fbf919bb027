"""How far a batch of a stream may go: not more than `maxOffsetsPerTrigger`, and not before `minOffsetsPerTrigger` wait.

Pure: offsets and a clock go in, offsets come out. Each partition gets its share of what waits, so that a partition far
behind catches up and none starves; the shares add up to the limit exactly.
"""

from __future__ import annotations

from barnabas.pipelines.source.bounds import Offsets


def waiting(begun: Offsets, end: Offsets) -> int:
    return sum(max(0, offset - begun[place]) for place, offset in end.items())


def at_most(begun: Offsets, end: Offsets, most: int) -> Offsets:
    """`end`, or as much of it as `most` records make."""
    sizes = {place: max(0, offset - begun[place]) for place, offset in sorted(end.items())}
    total = sum(sizes.values())
    if total <= most:
        return dict(end)
    shares = {place: size * most // total for place, size in sizes.items()}
    # What rounding down left over goes to those that lost most by it, one record each.
    losers = sorted(sizes, key=lambda place: (-(sizes[place] * most % total), place))
    for place in losers[: most - sum(shares.values())]:
        shares[place] += 1
    return {place: begun[place] + share if sizes[place] else end[place] for place, share in shares.items()}


class Patience:
    """Holds a batch back until `least` records wait, but never longer than `delay_s` after the last one."""

    def __init__(self, least: int | None, delay_s: float) -> None:
        self._least = least
        self._delay_s = delay_s
        self._last_batch: float | None = None

    def holds_back(self, count: int, now: float) -> bool:
        if self._last_batch is None:
            self._last_batch = now
        if self._least is None or count >= self._least or now - self._last_batch >= self._delay_s:
            if count:
                self._last_batch = now
            return False
        return True
