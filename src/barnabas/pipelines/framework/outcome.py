"""What `later` leaves behind: numbers for the summary, files to look at, and lines for the person who waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Outcome:
    """`files` maps what a file is ("report") to where it lies; `numbers` are counts by name, also for programs."""

    lines: Sequence[str] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    numbers: Mapping[str, int | float] = field(default_factory=dict)
