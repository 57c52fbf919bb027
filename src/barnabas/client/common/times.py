"""Moments as people write them in Python, as Kafka counts them: milliseconds since 1970 in UTC."""

from __future__ import annotations

from datetime import datetime, timedelta


def epoch_ms(moment: datetime | int | float) -> int:
    """A datetime (naive means local time, as Python has it), or seconds since 1970 as `time.time` gives them."""
    seconds = moment.timestamp() if isinstance(moment, datetime) else float(moment)
    return int(seconds * 1000)


def milliseconds(span: timedelta) -> int:
    return int(span.total_seconds() * 1000)
