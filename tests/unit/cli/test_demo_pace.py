"""The numbers of the demo's screen."""

from __future__ import annotations

from barnabas.cli.demo.pace import Pace, milliseconds


def test_percentiles_and_rate_are_of_the_last_ten_seconds_and_the_whole_is_of_all() -> None:
    pace = Pace()
    assert pace.told(0.0) == "" and pace.percentiles(0.0) is None and pace.whole() is None
    pace.add(1.0, 9_000.0)
    for number in range(100):
        pace.add(20.0 + number / 10, float(number + 1))
    assert pace.percentiles(29.9) == (50.0, 99.0)
    assert pace.last_ms == 100.0
    assert round(pace.per_s(29.9)) == 10
    assert pace.whole() == (51.0, 100.0)
    assert pace.told(29.9) == "the last after 100 ms, p50 50 ms, p99 99 ms in 10 s, 10/s"
    assert pace.told(100.0) == "the last after 100 ms", "nothing came for a while"


def test_one_recommendation_is_all_percentiles() -> None:
    pace = Pace()
    pace.add(5.0, 30.0)
    assert pace.percentiles(5.0) == (30.0, 30.0) and pace.per_s(5.0) == 1.0


def test_long_delays_are_told_in_seconds() -> None:
    assert [milliseconds(each) for each in (4.4, 999.0, 12_340.0)] == ["4 ms", "999 ms", "12.3 s"]
