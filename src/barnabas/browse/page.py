"""A page of a topic's records, over all its partitions, in the order of their timestamps.

Within a partition the order is that of the offsets; between partitions the head with the newer (older) timestamp comes
first. A page that goes back from the end reads no more of a partition than it needs: it steps back by offsets, and
widens the step where it finds too few records (compaction and the markers of transactions leave holes) until there are
enough or the log begins.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from barnabas.browse.lanes import Backwards, Budget, Forwards, Lane
from barnabas.browse.opening import Opener
from barnabas.browse.places import Place
from barnabas.browse.record import Record, Unreadable
from barnabas.browse.topic_log import TopicLog
from barnabas.model.limits import PAGE_RECORDS_MAX

_AT_ONCE = 32  # partitions that are read at a time; requests to a node are pipelined


@dataclass(frozen=True, slots=True)
class Page:
    """`records` are newest first where the place goes backwards (newest, older), else oldest first. `older` and `newer`
    are the places to go on from: None where nothing is left in that direction; `newer` stays, since records may come.
    Fewer records than asked for, with a cursor: the page had its share of bytes."""

    records: list[Record]
    older: Place | None
    newer: Place
    starts: dict[int, int]  # where each partition's log begins and ends
    ends: dict[int, int]
    unreadable: list[Unreadable] = field(default_factory=list)


async def read_page(
    log: TopicLog, opener: Opener, place: Place, count: int, partitions: Iterable[int] | None = None
) -> Page:
    count = max(1, min(count, PAGE_RECORDS_MAX))
    chosen = await log.open(partitions)
    if place.kind in ("older", "newer"):
        chosen = [each for each in chosen if each in place.offsets]
    starts, ends = await asyncio.gather(log.starts(chosen), log.ends(chosen))
    bounds = await _bounds(log, place, chosen, starts, ends)
    budget = Budget()
    share = max(1, -(-count // max(1, len(chosen))))
    lanes: list[Lane] = []
    for each in chosen:
        if place.backwards:
            lanes.append(Backwards(log, opener, budget, each, bounds[each], starts[each], share))
        else:
            lanes.append(Forwards(log, opener, budget, each, bounds[each], ends[each], share))
    records = await _merge(lanes, count, budget, backwards=place.backwards)
    unreadable = [problem for lane in lanes for problem in lane.unreadable]
    reached = {lane.partition: lane.reached for lane in lanes}
    if place.backwards:
        left = any(not lane.finished for lane in lanes)
        older = Place("older", offsets=reached) if left else None
        return Page(records, older, Place("newer", offsets=bounds), starts, ends, unreadable)
    before = any(bounds[each] > starts[each] for each in chosen)
    older = Place("older", offsets=bounds) if before else None
    return Page(records, older, Place("newer", offsets=reached), starts, ends, unreadable)


async def _bounds(
    log: TopicLog, place: Place, chosen: Sequence[int], starts: dict[int, int], ends: dict[int, int]
) -> dict[int, int]:
    """Where reading begins in each partition, within what the log holds."""
    if place.kind == "newest":
        return dict(ends)
    if place.kind == "beginning":
        return dict(starts)
    if place.kind == "time":
        found = await log.offsets_at(max(0, place.time_ms), chosen)
        return {each: ends[each] if at < 0 else min(max(at, starts[each]), ends[each]) for each, at in found.items()}
    return {each: min(max(place.offsets[each], starts[each]), ends[each]) for each in chosen}


async def _merge(lanes: Sequence[Lane], count: int, budget: Budget, *, backwards: bool) -> list[Record]:
    """Takes record by record from the lane whose head comes first; a lane that ran out is filled before the choice."""
    turn = asyncio.Semaphore(_AT_ONCE)

    async def fill(lane: Lane) -> None:
        async with turn:
            await lane.fill()

    records: list[Record] = []
    while len(records) < count and budget.kept > 0:
        empty = [lane for lane in lanes if not lane.heads and not lane.finished]
        if empty:
            if records and budget.unread <= 0:
                break  # without the empty ones the order would be wrong
            await asyncio.gather(*(fill(lane) for lane in empty))
            continue
        full = [lane for lane in lanes if lane.heads]
        if not full:
            break
        if backwards:
            best = max(full, key=lambda lane: (lane.heads[0].timestamp, lane.partition))
        else:
            best = min(full, key=lambda lane: (lane.heads[0].timestamp, lane.partition))
        record = best.take()
        budget.kept -= record.weight
        records.append(record)
    return records
