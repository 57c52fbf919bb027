"""Numbers of an increasing column that were missing when later ones were there.

A transaction takes its number from the sequence when it inserts, and commits when it likes: 6 may be there before 5.
A number that is missing is watched for a while after the number behind it was seen, and its row is read when it comes.
Most never come (the transaction was rolled back, the row deleted), so they are given up in the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Range = tuple[int, int, int]  # first, last, and when it was seen to be missing, in ms


@dataclass(frozen=True)
class Gaps:
    ranges: Sequence[Range] = ()  # ascending, apart

    def after(self, last: int, numbers: Sequence[int], now_ms: int, most: int) -> Gaps:
        """With what is missing among `numbers`, ascending, all behind `last`. Where there are too many, the highest are
        kept: a transaction that is still open has a new number."""
        found: list[Range] = []
        for number in numbers:
            if number > last + 1:
                found.append((last + 1, number - 1, now_ms))
            last = number
        return Gaps([*self.ranges, *found][-most:]) if found else self

    def without(self, numbers: Iterable[int]) -> Gaps:
        """These were read, ascending."""
        left = list(self.ranges)
        place = 0
        for number in numbers:
            while place < len(left) and left[place][1] < number:
                place += 1
            if place == len(left) or left[place][0] > number:
                continue
            first, last, seen = left[place]
            left[place : place + 1] = [
                each for each in ((first, number - 1, seen), (number + 1, last, seen)) if each[0] <= each[1]
            ]
        return Gaps(left)

    def seen_since(self, oldest_ms: int) -> Gaps:
        """Without those that were seen earlier."""
        return Gaps([each for each in self.ranges if each[2] >= oldest_ms])
