"""How many jobs each interest meets, without making a row of each pair: there may be a hundred pairs of one interest.

The moments at which jobs were posted lie in one sorted array, call by call (activity/matching.py says what a call is).
The jobs that an interest meets are then a range of places in the array, which two binary searches find. How many
members a job is told to follows from the ranges too: of those of one member under one call, in the order of time, each
adds what the one before had not, and the sum over all members is taken at the ends of ranges only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from barnabas.pipelines.activity.rules import Rules

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]

PAIRS, HELPED = -1, -2  # in the results beside the places: how many pairs, and how many searches met a job
MET = "place long, count long"


@dataclass(frozen=True, slots=True)
class Offers:
    """`keys` are sorted: the number of the call times `span`, and the time of the job after `begin_ms`."""

    keys: Numbers
    begin_ms: int
    span: int
    window_ms: int
    after_ms: int

    @classmethod
    def of(cls, calls: Numbers, posted_ms: Numbers, rules: Rules) -> tuple[Offers, Numbers]:
        """From jobs, at least one, each with the number of its call; and where in the array each of them is."""
        import numpy as np

        begin_ms = int(posted_ms.min())
        span = int(posted_ms.max()) - begin_ms + 1
        keys = calls.astype(np.int64) * span + (posted_ms - begin_ms)
        order = np.argsort(keys, kind="stable")
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        return cls(keys[order], begin_ms, span, rules.window_ms, rules.after_ms), places

    def met(self, calls: Numbers, at_ms: Numbers) -> tuple[Numbers, Numbers]:
        """The range of places that interests of these moments meet: from the first to before the second."""
        import numpy as np

        since = np.clip(at_ms - (self.begin_ms + self.window_ms), 0, self.span)
        until = np.clip(at_ms - (self.begin_ms - self.after_ms), -1, self.span - 1)
        first = np.searchsorted(self.keys, calls * self.span + since, "left")
        behind = np.searchsorted(self.keys, calls * self.span + until, "right")
        return first, np.maximum(first, behind)


@dataclass(slots=True)
class Meeting:
    """Counts over interests that come by call, member and time, some at a time."""

    offers: Offers
    pairs: int = 0
    helped: int = 0
    _steps: Numbers = field(init=False)  # by place: how many members more it is than at the place before
    _last: tuple[int, int, int] = (-1, -1, 0)  # call, member and where the ranges end

    def __post_init__(self) -> None:
        import numpy as np

        self._steps = np.zeros(len(self.offers.keys) + 1, np.int64)

    def take(self, calls: Numbers, members: Numbers, at_ms: Numbers, searched: Numbers) -> None:
        import numpy as np

        if not len(calls):
            return
        first, behind = self.offers.met(calls, at_ms)
        self.pairs += int((behind - first).sum())
        self.helped += int(np.count_nonzero((behind > first) & searched.astype(bool)))
        before = np.empty_like(behind)  # where the ranges of the same member end so far; none is behind a later one
        before[1:] = np.where((calls[1:] == calls[:-1]) & (members[1:] == members[:-1]), behind[:-1], 0)
        before[0] = self._last[2] if self._last[:2] == (int(calls[0]), int(members[0])) else 0
        first = np.maximum(first, before)
        more = first < behind
        np.add.at(self._steps, first[more], 1)
        np.add.at(self._steps, behind[more], -1)
        self._last = int(calls[-1]), int(members[-1]), int(behind[-1])

    def members(self) -> Numbers:
        """By place: to how many members the job is told for this call."""
        import numpy as np

        counted: Numbers = np.cumsum(self._steps[:-1])
        return counted


def counting(offers: Offers) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What runs in the workers: interests (call, member, at, searched), all of a call in one task, to `MET`."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        meeting = Meeting(offers)
        for batch in batches:
            meeting.take(*(batch.column(name).to_numpy() for name in ("call", "member", "at", "searched")))
        members = meeting.members()
        places = np.flatnonzero(members)
        place = np.concatenate([places, [PAIRS, HELPED]])
        told = np.concatenate([members[places], [meeting.pairs, meeting.helped]])
        yield pa.RecordBatch.from_arrays([pa.array(place), pa.array(told)], ["place", "count"])

    return count
