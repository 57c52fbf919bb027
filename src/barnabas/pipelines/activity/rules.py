"""The numbers that decide what is recommended, and where they come from: `--set window=12h` and its neighbours."""

from __future__ import annotations

from dataclasses import dataclass

SEARCH_POINTS, VIEW_POINTS, FRESH_POINTS = 70, 40, 30  # a search says more than a view; a fresh job is worth more


@dataclass(frozen=True, slots=True)
class Rules:
    """`window_ms`: how old a job may be when somebody looks. `after_ms`: how long after it a new job is still told.
    `late_ms`: how long after it happened an event may be sent and still count."""

    window_ms: int = 24 * 3_600_000
    after_ms: int = 600_000
    late_ms: int = 60_000
