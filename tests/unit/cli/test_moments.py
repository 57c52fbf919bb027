"""The words for a place in a topic: each form once, its neighbours, and that nothing else passes."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli.common import moments
from barnabas.cli.common.moments import Position, parse

NOW_MS = 1_777_630_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("beginning", Position("beginning")),
        ("Earliest", Position("beginning")),
        ("end", Position("end")),
        ("latest", Position("end")),
        ("now", Position("time", NOW_MS)),
        ("0", Position("offset", 0)),
        ("1200", Position("offset", 1200)),
        ("offset:1777630000000", Position("offset", 1_777_630_000_000)),
        ("1777630000000", Position("time", 1_777_630_000_000)),
        ("177763000000", Position("offset", 177_763_000_000)),
        ("-50", Position("tail", 50)),
        ("-5m", Position("time", NOW_MS - 300_000)),
        ("5m", Position("time", NOW_MS - 300_000)),
        ("2h ago", Position("time", NOW_MS - 7_200_000)),
        ("2 hours ago", Position("time", NOW_MS - 7_200_000)),
        ("1.5h", Position("time", NOW_MS - 5_400_000)),
        ("-250ms", Position("time", NOW_MS - 250)),
        ("1w", Position("time", NOW_MS - 604_800_000)),
        ("  3   days   ago ", Position("time", NOW_MS - 3 * 86_400_000)),
        ("2026-05-01T10:00Z", Position("time", 1_777_629_600_000)),
        ("2026-05-01T10:00:00.123+00:00", Position("time", 1_777_629_600_123)),
        ("2026-05-01T12:00+02:00", Position("time", 1_777_629_600_000)),
    ],
)
def test_each_form(text: str, expected: Position) -> None:
    assert parse(text, NOW_MS) == expected


def test_a_time_without_zone_is_local() -> None:
    expected = datetime(2026, 5, 1, 10, 30).astimezone().astimezone(UTC).timestamp() * 1000
    assert parse("2026-05-01 10:30", NOW_MS) == Position("time", round(expected))


def test_a_time_of_today_and_midnights() -> None:
    today = datetime.fromtimestamp(NOW_MS / 1000).astimezone()
    at = today.replace(hour=10, minute=30, second=0, microsecond=0)
    midnight = today.replace(hour=0, minute=0, second=0, microsecond=0)
    assert parse("10:30", NOW_MS).value == at.timestamp() * 1000
    assert parse("today", NOW_MS).value == midnight.timestamp() * 1000
    assert parse("yesterday", NOW_MS).value == midnight.timestamp() * 1000 - 86_400_000


def test_long_ago_is_not_before_1970() -> None:
    assert parse("90000 weeks ago", NOW_MS) == Position("time", 0)
    assert parse("1969-01-01", NOW_MS) == Position("time", 0)


@pytest.mark.parametrize(
    "text",
    ["", "rubbish", "5 parsecs", "--5", "offset:-1", "12:75", "25:00", "2026-13-01", "1e9", "99999999999999999999"],
)
def test_anything_else_is_refused_with_the_choices(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a place|never negative"):
        parse(text, NOW_MS)


@given(st.text(max_size=30))
def test_no_text_breaks_it(text: str) -> None:
    try:
        found = parse(text, NOW_MS)
    except ValueError:
        return
    assert found.value >= 0


def test_the_help_names_every_kind() -> None:
    for word in ("beginning", "end", "offset", "-N", "-5m", "ago", "epoch"):
        assert word in moments.HELP
