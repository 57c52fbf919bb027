"""What a pipeline expects of the records of a topic, beyond the columns: which times are believable."""

from __future__ import annotations

from dataclasses import dataclass

AHEAD = "1h"  # as much as a broker lets a record's own timestamp be ahead (message.timestamp.after.max.ms)
AHEAD_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Expected:
    """The schema of a topic's values, and the rules for the times in them."""

    ddl: str
    event_time: str | None = None  # the column that tells when it happened; None: every TIMESTAMP column
    ahead_ms: int = AHEAD_MS  # an event may lie so much after its record's own timestamp, and no more
    milliseconds: bool = False  # a number may stand for a timestamp
