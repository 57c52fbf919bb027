"""How events come in disorder, the rule of which count, and options that are numbers."""

import math
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from barnabas.pipelines.anomalies import PIPELINE as ANOMALIES
from barnabas.pipelines.common.disorder import Disorder, Happening, as_they_arrive, iso, millis
from barnabas.pipelines.common.lateness import SKEW_MS, counts
from barnabas.pipelines.common.numbers import positive, whole
from barnabas.pipelines.common.page import line_chart, page, table
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import RunContext
from barnabas.pipelines.lake import PIPELINE as LAKE
from tests.support.tidy import TIDY

BEGIN = 1_790_000_000_000


def happenings(count: int) -> list[Happening]:
    return [Happening(BEGIN + number * 10, "t", f"k{number % 7}", {"n": number}) for number in range(count)]


def context(pipeline: Any, **options: str) -> RunContext:
    return RunContext(pipeline, cast(Any, None), "nowhere:1", Path("/nowhere"), options=options)


def test_without_disorder_all_arrives_as_it_happened() -> None:
    made = list(as_they_arrive(happenings(50), TIDY, Random(1)))
    assert [record.value["n"] for record in made] == list(range(50))
    assert [record.time_ms for record in made] == [happening.time_ms for happening in happenings(50)]


def test_nothing_is_lost_and_the_shares_are_what_was_asked_for() -> None:
    disorder = Disorder(network_ms=20, late=0.1, late_ms=2_000, too_late=0.05, too_late_ms=9_000, twice=0.1)
    made = list(as_they_arrive(happenings(5000), disorder, Random(1)))
    assert {record.value["n"] for record in made} == set(range(5000))
    assert 0.08 < (len(made) - 5000) / 5000 < 0.12
    first: dict[int, int] = {}
    for record in made:
        first.setdefault(record.value["n"], record.time_ms - BEGIN - record.value["n"] * 10)
    delays = list(first.values())
    assert min(delays) >= 0 and max(delays) <= 9_000
    assert 0.04 < sum(delay > 2_000 for delay in delays) / 5000 < 0.06
    assert [record.time_ms for record in made] == sorted(record.time_ms for record in made)


def test_an_endless_stream_is_given_out_as_it_goes() -> None:
    def endless() -> Iterator[Any]:
        number = 0
        while True:
            yield Happening(BEGIN + number * 10, "t", "k", {"n": number})
            number += 1

    stream = as_they_arrive(endless(), Disorder(), Random(1))
    assert len([next(stream) for _ in range(1000)]) == 1000


def test_the_rule_of_lateness() -> None:
    assert counts(1000, 1000, 500) and counts(1000, 1500, 500) and counts(1000 + SKEW_MS, 1000, 500)
    assert not counts(1000, 1501, 500) and not counts(1001 + SKEW_MS, 1000, 500)


@pytest.mark.parametrize("time_ms", [0, 1, BEGIN, BEGIN + 7, BEGIN + 999])
def test_times_in_json_come_back(time_ms: int) -> None:
    assert millis(iso(time_ms)) == time_ms


def test_times_of_others_are_read_too() -> None:
    assert millis("2026-09-21T16:13:20.5+02:00") == BEGIN + 500
    assert millis("2026-09-21T14:13:20") == BEGIN


def test_options_that_are_no_numbers_are_refused_in_one_line() -> None:
    assert positive(context(ANOMALIES), "threshold") == 6
    assert positive(context(ANOMALIES, threshold="2.5"), "threshold") == 2.5
    for bad in ("", "x", "0", "-1", "nan", "inf"):
        with pytest.raises(PipelineError, match=r"threshold=.*above 0"):
            positive(context(ANOMALIES, threshold=bad), "threshold")
    with pytest.raises(PipelineError, match="at most 5"):
        positive(context(ANOMALIES), "threshold", at_most=5)
    assert whole(context(LAKE, merge="4"), "merge", at_least=2) == 4
    for bad in ("", "x", "1", "2.5"):
        with pytest.raises(PipelineError, match="merge="):
            whole(context(LAKE, merge=bad), "merge", at_least=2)


def test_pages_escape_what_comes_from_data() -> None:
    made = page("<b>", "a & b", [table(["<i>"], [["<u>"]]), line_chart('"x"', [1.0, None, 2.0, math.pi], limit=3)])
    assert "<b>" not in made and "<i>" not in made and "<u>" not in made and "a &amp; b" in made
    assert made.count("<polyline") == 2  # the gap parts the line


def test_a_day_of_values_is_thinned_without_losing_its_peak() -> None:
    values: list[float | None] = [1.0] * 8640
    values[5000] = 777.0
    made = line_chart("rate", values)
    assert len(made) < 8_000 and "highest 777" in made
