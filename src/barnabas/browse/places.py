"""Where a page begins, and the cursors that lead from it to the pages before and after it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["newest", "beginning", "time", "older", "newer"]
_OFFSET_DIGITS_MAX = 19
_CURSOR_MAX_CHARS = 1_000_000  # 50,000 partitions with offsets of 14 digits


@dataclass(frozen=True, slots=True)
class Place:
    """`newest`: the last records, newest first. `beginning`: from the first on. `time`: from the first records of this
    time on. `newer`: from these offsets on, oldest first. `older`: before these offsets, newest first. In the last two,
    partitions that are not named are left out."""

    kind: Kind
    time_ms: int = 0
    offsets: Mapping[int, int] = field(default_factory=dict)

    @property
    def backwards(self) -> bool:
        return self.kind in ("newest", "older")

    def text(self) -> str:
        """For an address: `newest`, `time:1777630000000`, `newer:0=1200,1=7`; `parse` reads it."""
        if self.kind == "time":
            return f"time:{self.time_ms}"
        if self.kind in ("older", "newer"):
            return f"{self.kind}:" + ",".join(f"{part}={at}" for part, at in sorted(self.offsets.items()))
        return self.kind


NEWEST = Place("newest")
BEGINNING = Place("beginning")


def at_time(time_ms: int) -> Place:
    return Place("time", time_ms=time_ms)


def from_offset(offset: int, partitions: Mapping[int, int] | list[int]) -> Place:
    """From one offset on in each of these partitions."""
    return Place("newer", offsets=dict.fromkeys(partitions, offset))


def parse(text: str) -> Place:
    """ValueError for anything that `text()` does not give."""
    if text == "newest":
        return NEWEST
    if text == "beginning":
        return BEGINNING
    kind, _, rest = text.partition(":")
    if len(text) > _CURSOR_MAX_CHARS:
        raise ValueError("a place in a topic is not that long")
    if kind == "time":
        return at_time(_number(rest))
    if kind in ("older", "newer"):
        offsets: dict[int, int] = {}
        for each in rest.split(",") if rest else ():
            partition, _, offset = each.partition("=")
            offsets[_number(partition)] = _number(offset)
        return Place("older" if kind == "older" else "newer", offsets=offsets)
    raise ValueError(f"{text[:40]!r} is not a place in a topic: newest, beginning, time:MS, newer:0=N, older:0=N")


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > _OFFSET_DIGITS_MAX or int(text) >= 1 << 63:
        raise ValueError(f"{text[:40]!r} is not a number")
    return int(text)
