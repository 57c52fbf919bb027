"""From runs to verdicts: medians, percentiles, ratios, goals."""

from __future__ import annotations

import pytest

from bench.measures import Better, Measure, Verdict
from bench.stats import geometric_mean, latency_summary, medians, percentile, ratio, spread

RATE = Measure("rate", "rate", "/s", Better.HIGHER, ratio_goal=1.5)
COST = Measure("cost", "cost", "s", Better.LOWER, ratio_goal=0.1, value_goal=0.5)


def test_a_percentile_is_a_value_that_was_measured() -> None:
    ordered = [float(n) for n in range(1, 101)]
    assert percentile(ordered, 0.50) == 51
    assert percentile(ordered, 0.99) == 100
    assert percentile([7.0], 0.99) == 7
    with pytest.raises(ValueError, match="no samples"):
        percentile([], 0.5)


def test_latencies_are_sorted_first() -> None:
    assert latency_summary([3.0, 1.0, 2.0], "ack") == {"ack_p50_ms": 2.0, "ack_p99_ms": 3.0, "ack_max_ms": 3.0}


def test_medians_leave_words_and_missing_values_out() -> None:
    runs: list[dict[str, float | str]] = [{"a": 1, "thread": "io 0.9"}, {"a": 9, "b": 5.0}, {"a": 2}]
    assert medians(runs) == {"a": 2, "b": 5.0}
    assert medians([]) == {}


def test_ratio_of_nothing_is_nothing() -> None:
    assert ratio(1.0, 0.0) is None
    assert ratio(1.0, 4.0) == 0.25


def test_twice_and_half_cancel_out() -> None:
    assert geometric_mean([2.0, 0.5]) == pytest.approx(1.0)
    assert spread([9.0, 10.0, 12.0]) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("measure", "kafka", "ours", "verdict"),
    [
        (RATE, {"rate": 100.0}, {"rate": 150.0}, Verdict.REACHED),
        (RATE, {"rate": 100.0}, {"rate": 149.0}, Verdict.MISSED),
        (RATE, {"rate": 100.0}, {}, Verdict.UNKNOWN),
        (RATE, {}, {"rate": 150.0}, Verdict.UNKNOWN),
        (COST, {"cost": 5.0}, {"cost": 0.4}, Verdict.REACHED),
        (COST, {"cost": 3.0}, {"cost": 0.4}, Verdict.MISSED),  # fast enough alone, not beside Kafka
        (COST, {"cost": 9.0}, {"cost": 0.6}, Verdict.MISSED),  # a tenth of Kafka's, and still too slow
        (Measure("x", "x", "", Better.LOWER), {"x": 1.0}, {"x": 1.0}, Verdict.NO_GOAL),
    ],
)
def test_verdicts(measure: Measure, kafka: dict[str, float], ours: dict[str, float], verdict: Verdict) -> None:
    assert measure.verdict(kafka, ours) is verdict


def test_right_is_better_in_the_chart() -> None:
    assert RATE.times_better({"rate": 100.0}, {"rate": 300.0}) == 3
    assert COST.times_better({"cost": 1.0}, {"cost": 0.25}) == 4
    assert COST.times_better({"cost": 1.0}, {}) is None
