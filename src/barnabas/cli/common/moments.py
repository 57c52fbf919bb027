"""Where in a topic: the words that `--from`, `--to` and `group reset --to` understand.

    beginning  end           the first record kept, the place where the next record will go
    1200                     an offset (`offset:1200` when it has 13 digits or more and would be taken for a time)
    -50                      fifty records before the end
    -5m   2h ago   1d        that long ago (ms, s, m, h, d, w, or the words)
    2026-05-01T10:00  10:30  a time: ISO 8601, or a time of today; local unless it says Z or an offset
    1777630000000            milliseconds since 1970, as Kafka counts (13 digits)

Anything else is refused with the list above; a wrong guess would read the wrong records.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

Kind = Literal["beginning", "end", "offset", "tail", "time"]

_UNITS_MS = {
    "ms": 1, "millisecond": 1, "milliseconds": 1,
    "s": 1000, "sec": 1000, "secs": 1000, "second": 1000, "seconds": 1000,
    "m": 60_000, "min": 60_000, "mins": 60_000, "minute": 60_000, "minutes": 60_000,
    "h": 3_600_000, "hour": 3_600_000, "hours": 3_600_000,
    "d": 86_400_000, "day": 86_400_000, "days": 86_400_000,
    "w": 604_800_000, "week": 604_800_000, "weeks": 604_800_000,
}  # fmt: skip
_AGO = re.compile(r"(-?)(\d{1,12}(?:\.\d{1,6})?) ?([a-z]+)( ago)?")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_EPOCH_MS_DIGITS = 13  # 2001 to 2286; an offset that long is written offset:N
_OFFSET_MAX = 2**63 - 1

HELP = "beginning, end, an offset, -N (records before the end), a time (2026-05-01T10:00, 10:30, epoch ms), -5m, 2h ago"


@dataclass(frozen=True, slots=True)
class Position:
    """A place in every partition: `value` is an offset, a number of records or milliseconds since 1970."""

    kind: Kind
    value: int = 0


BEGINNING = Position("beginning")
END = Position("end")


def parse(text: str, now_ms: int) -> Position:
    """The place that these words mean; ValueError with the choices when they mean none."""
    words = " ".join(text.strip().lower().split())
    if words in ("beginning", "start", "earliest"):
        return BEGINNING
    if words in ("end", "latest"):
        return END
    if words == "now":
        return Position("time", now_ms)
    if words in ("today", "yesterday"):
        midnight = _local(now_ms).replace(hour=0, minute=0, second=0, microsecond=0)
        return _time(midnight if words == "today" else midnight - timedelta(days=1))
    number = re.fullmatch(r"(offset:)?(-?)(\d{1,19})", words)
    if number and int(number[3]) <= _OFFSET_MAX:
        return _number(explicit=bool(number[1]), negative=bool(number[2]), digits=number[3], text=text)
    ago = _AGO.fullmatch(words)
    if ago and ago[3] in _UNITS_MS:
        return Position("time", max(0, now_ms - int(float(ago[2]) * _UNITS_MS[ago[3]])))
    clock = _CLOCK.fullmatch(words)
    if clock and int(clock[1]) < 24 and int(clock[2]) < 60 and int(clock[3] or 0) < 60:
        today = _local(now_ms)
        return _time(today.replace(hour=int(clock[1]), minute=int(clock[2]), second=int(clock[3] or 0), microsecond=0))
    try:
        return _time(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{text!r} is not a place in a topic. Choose from: {HELP}") from None


def duration_ms(text: str) -> int:
    """`15m`, `2 hours`, `500ms`: a length of time; ValueError when it is none."""
    found = _AGO.fullmatch(" ".join(text.strip().lower().split()))
    if not found or found[1] or found[4] or found[3] not in _UNITS_MS:
        raise ValueError(f"{text!r} is not a length of time. Write 500ms, 30s, 15m, 2h or 1d")
    return int(float(found[2]) * _UNITS_MS[found[3]])


def _number(*, explicit: bool, negative: bool, digits: str, text: str) -> Position:
    if negative and explicit:
        raise ValueError(f"{text!r}: an offset is never negative")
    if negative:
        return Position("tail", int(digits))
    if len(digits) == _EPOCH_MS_DIGITS and not explicit:
        return Position("time", int(digits))
    return Position("offset", int(digits))


def _local(epoch_ms: int) -> datetime:
    return datetime.fromtimestamp(epoch_ms / 1000).astimezone()


def _time(when: datetime) -> Position:
    return Position("time", max(0, round(when.timestamp() * 1000)))
