"""A range of offsets in each partition of a topic: what a search goes through, what is sent again."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from barnabas.browse.topic_log import TopicLog


@dataclass(frozen=True, slots=True)
class Span:
    """The offsets of one partition from `start` up to, not including, `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Bound:
    """An end of a range, in every partition: an `offset`, so many records before the end (`tail`), or the first record
    of a `time` (milliseconds since 1970) or a later one."""

    kind: Literal["offset", "tail", "time"]
    value: int


async def spans_between(
    log: TopicLog, start: Bound | None, end: Bound | None, partitions: Iterable[int] | None
) -> dict[int, Span]:
    """Within what each partition holds now."""
    chosen = await log.open(partitions)
    starts, ends = await asyncio.gather(log.starts(chosen), log.ends(chosen))
    held = {each: Span(starts[each], ends[each]) for each in chosen}
    first = starts if start is None else await _offsets(log, start, held)
    last = ends if end is None else await _offsets(log, end, held)
    return {each: Span(first[each], max(first[each], last[each])) for each in chosen}


async def _offsets(log: TopicLog, bound: Bound, held: dict[int, Span]) -> dict[int, int]:
    if bound.kind == "time":
        found = await log.offsets_at(max(0, bound.value), held)
        return {each: held[each].end if at < 0 else _inside(at, held[each]) for each, at in found.items()}
    if bound.kind == "tail":
        return {each: _inside(span.end - bound.value, span) for each, span in held.items()}
    return {each: _inside(bound.value, span) for each, span in held.items()}


def _inside(offset: int, span: Span) -> int:
    return min(max(offset, span.start), span.end)
