"""The last hour of every number that is drawn: a ring of floats each, a sample every two seconds, in memory.

Series of topics and groups come and go; only so many are kept, those that moved last.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from math import nan

SAMPLE_SECONDS = 2.0
SAMPLES = 1_800  # an hour
SERIES_MAX = 2_000  # of 7 KiB each: 14 MiB for a console that watches one large cluster
SERIES_OF_A_PERSON_MAX = 400  # 3 MiB: where people sign in, everybody has a history of what they may see


class History:
    """Every `add` is a sample of all series at one time; what a sample does not name is unknown then."""

    def __init__(self, samples: int = SAMPLES, series_max: int = SERIES_MAX) -> None:
        self._samples = samples
        self._series_max = series_max
        self._times = array("d", [nan]) * samples
        self._series: dict[str, array[float]] = {}
        self._moved: dict[str, int] = {}  # series -> the last sample in which it was not 0
        self._next = 0

    def add(self, time: float, values: Mapping[str, float]) -> None:
        place = self._next % self._samples
        self._times[place] = time
        for series in self._series.values():
            series[place] = nan
        still: list[str] | None = None  # those to make room for others, the stillest last
        for name, value in values.items():
            found = self._series.get(name)
            if found is None:
                if len(self._series) >= self._series_max:
                    if not value:
                        continue
                    still = self._still() if still is None else still
                    if not self._make_room(still):
                        continue
                found = self._series[name] = array("f", [nan]) * self._samples
                self._moved[name] = self._next
            found[place] = value
            if value:
                self._moved[name] = self._next
        self._next += 1

    def _still(self) -> list[str]:
        """Series that did not move in the last sample. Others are not given up: with more that move than there is room
        for, they would push each other out with every sample."""
        found = [name for name, moved in self._moved.items() if moved < self._next - 1]
        return sorted(found, key=lambda each: -self._moved[each])

    def _make_room(self, still: list[str]) -> bool:
        while still:
            name = still.pop()
            if self._moved[name] < self._next:  # else it has moved in this very sample
                del self._series[name], self._moved[name]
                return True
        return False

    def read(self, names: Iterable[str], since: float = 0.0) -> dict[str, list[float | None]]:
        """Times first, oldest first; None where nothing is known."""
        first = max(0, self._next - self._samples)
        places = [each % self._samples for each in range(first, self._next)]
        places = [each for each in places if self._times[each] > since]
        found: dict[str, list[float | None]] = {"time": [round(self._times[each], 1) for each in places]}
        for name in names:
            series = self._series.get(name)
            found[name] = [None] * len(places) if series is None else [_known(series[each]) for each in places]
        return found

    def last(self, name: str) -> float | None:
        series = self._series.get(name)
        return None if series is None or not self._next else _known(series[(self._next - 1) % self._samples])


def _known(value: float) -> float | None:
    return None if value != value else round(value, 3)
