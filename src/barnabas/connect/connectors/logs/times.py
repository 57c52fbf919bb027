"""Times as logs write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), start=1
    )
}
_HTTP = re.compile(r"(\d\d?)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d):?(\d\d)")
_SYSLOG = re.compile(r"([A-Z][a-z]{2}) {1,2}(\d\d?) (\d\d):(\d\d):(\d\d)")
_SLASHES = re.compile(r"(\d{4})/(\d\d)/(\d\d)[ T]")
_NUMBER = re.compile(r"\d{9,10}(\.\d{1,9})?|\d{13}")
_LONG_FRACTION = re.compile(r"([.,]\d{6})\d+")


def parse_time(text: str, zone: tzinfo | None, now: datetime) -> datetime | None:
    """The time that `text` says, or None. Without a zone in it, it is of `zone` (None: this machine's); without a year,
    the last that is not after `now`."""
    try:
        if text[4:5] == "-":  # most are of this kind
            return _in_zone(datetime.fromisoformat(_LONG_FRACTION.sub(r"\1", text)), zone)
        if match := _HTTP.fullmatch(text):
            day, month, year, hour, minute, second, sign, ahead_hours, ahead_minutes = match.groups()
            ahead = timedelta(hours=int(ahead_hours), minutes=int(ahead_minutes))
            where = timezone(-ahead if sign == "-" else ahead)
            return datetime(int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second), tzinfo=where)
        if match := _SYSLOG.fullmatch(text):
            return _without_year(match, zone, now)
        if _NUMBER.fullmatch(text):
            seconds = float(text) if len(text.partition(".")[0]) < 13 else int(text) / 1000
            return datetime.fromtimestamp(seconds, UTC)
        return _in_zone(datetime.fromisoformat(_SLASHES.sub(r"\1-\2-\3 ", text)), zone)
    except (ValueError, KeyError, OverflowError):
        return None


def _in_zone(time: datetime, zone: tzinfo | None) -> datetime:
    if time.tzinfo is not None:
        return time
    return time.astimezone() if zone is None else time.replace(tzinfo=zone)


def _without_year(match: re.Match[str], zone: tzinfo | None, now: datetime) -> datetime:
    month, day, hour, minute, second = match.groups()
    for year in (now.year, now.year - 1, now.year - 2, now.year - 3, now.year - 4):
        try:
            time = _in_zone(datetime(year, _MONTHS[month], int(day), int(hour), int(minute), int(second)), zone)
        except ValueError:  # 29 February
            continue
        if time <= now + timedelta(days=1):  # clocks of others may be ahead
            return time
    raise ValueError(match[0])


def milliseconds(time: datetime) -> int:
    return int(time.timestamp() * 1000)
