"""A range of a topic to load again: by time, or by offsets of partitions.

`within` makes a condition in SQL of it, over the table's columns partition, offset and timestamp. A range never reaches
beyond what the table has taken in already: the rest is the stream's to bring.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.lake.log import DataFile

_PART = re.compile(r"(\d+):(\d+)-(\d+)")


@dataclass(frozen=True, slots=True)
class Range:
    """From the first to before the second, both in milliseconds or in offsets; None is without bound."""

    begin_ms: int | None = None
    end_ms: int | None = None
    offsets: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    def within(self, taken_in: Mapping[int, int]) -> str:
        """The rows that are meant, of those that the table has taken in."""
        parts = []
        for partition, end in sorted(taken_in.items()):
            if self.offsets and partition not in self.offsets:
                continue
            first, last = self.offsets.get(partition, (0, end))
            if first < min(last, end):
                parts.append(f"(partition = {partition} AND offset >= {first} AND offset < {min(last, end)})")
        condition = f"({' OR '.join(parts)})" if parts else "false"
        if self.begin_ms is not None:
            condition += f" AND timestamp >= timestamp_millis({self.begin_ms})"
        if self.end_ms is not None:
            condition += f" AND timestamp < timestamp_millis({self.end_ms})"
        return condition

    def may_touch(self, file: DataFile) -> bool:
        """False when the file's statistics rule it out."""
        told = json.loads(file.stats) if file.stats else {}
        low, high = told.get("minValues", {}), told.get("maxValues", {})
        if "offset" not in low or "offset" not in high:
            return True
        if self.begin_ms is not None and high["timestamp"] < _iso(self.begin_ms):
            return False
        if self.end_ms is not None and low["timestamp"] >= _iso(self.end_ms):
            return False
        if not self.offsets:
            return True
        return any(
            low["partition"] <= partition <= high["partition"] and first <= high["offset"] and low["offset"] < last
            for partition, (first, last) in self.offsets.items()
        )


def parse_offsets(text: str) -> dict[int, tuple[int, int]]:
    """ "0:100-200,2:0-50": partition 0 from offset 100 to before 200, partition 2 from 0 to before 50."""
    found: dict[int, tuple[int, int]] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        match = _PART.fullmatch(part)
        if match is None:
            raise PipelineError(f"offsets={text}: write partition:from-to, such as 0:100-200,1:0-50")
        partition, first, last = (int(each) for each in match.groups())
        if first >= last or partition in found:
            raise PipelineError(f"offsets={text}: {part} is empty, or its partition is named twice")
        found[partition] = first, last
    return found


def _iso(time_ms: int) -> str:
    from barnabas.pipelines.common.disorder import iso

    return iso(time_ms)
