"""The runner of Apache Kafka's own tests: what counts as expected, and what fails the run."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tests.kafka import run as runner
from tests.kafka.page import made
from tests.kafka.run import record
from tests.kafka.table import KafkaClass, read_table
from tests.kafka.verdict import LEFT_OUT, Outcome, Verdict, judge, read_runs

CLASS = KafkaClass("a.b.SomeTest", fails={"testQuota*": "quotas are not served"}, skips={"testTier*": "no tiers"})


def run(method: str, state: str, reason: str = "") -> Outcome:
    return Outcome(method, f"{method} [1]", state, 1.0, reason, "")


def test_what_is_expected_is_no_problem() -> None:
    runs = [run("testA", "passed"), run("testQuotaB", "failed", "x"), run("testC", "skipped", "inside")]
    verdict = judge(CLASS, runs, 0)
    assert verdict.problems == []
    table = [CLASS, KafkaClass("a.OtherTest", not_run="share groups are not served")]
    day = date(2026, 3, 1)
    page = made([verdict], table, {"SomeTest": day})
    assert "| SomeTest | 1 | 1 | 1 | 2026-03-01 | quotas are not served; inside; testTier*: no tiers |" in page
    assert "| OtherTest | share groups are not served |" in page
    quick = judge(CLASS, [*runs, run("testA", "skipped", LEFT_OUT)], 0)
    assert "| SomeTest | 1 | 1 | 1 | 2026-03-01, one kind | quotas" in made([quick], table, {"SomeTest": day})


def test_a_class_that_was_not_run_here_keeps_its_row() -> None:
    other, never = KafkaClass("a.OtherTest"), KafkaClass("a.NeverTest")
    first = made([judge(other, [run("testA", "passed")], 0)], [other], {"OtherTest": date(2026, 3, 1)})
    verdicts = [judge(CLASS, [run("testA", "passed"), run("testQuotaB", "failed")], 0)]
    verdicts += [judge(row, [], 0) for row in (other, never)]
    page = made(verdicts, [CLASS, other, never], {"SomeTest": date(2026, 3, 2)}, first)
    assert "| OtherTest | 1 |  |  | 2026-03-01 |  |\n" in page
    assert "| NeverTest | | | | | no result is recorded |" in page
    assert page.startswith("2 pass, 1 fail, 0 are skipped.")


def test_what_is_not_expected_fails_the_run() -> None:
    (problem,) = judge(CLASS, [run("testA", "failed", "boom"), run("testQuotaB", "failed")], 0).problems
    assert "testA" in problem and "boom" in problem
    (problem,) = judge(CLASS, [run("testQuotaB", "passed")], 0).problems
    assert "remove the row" in problem
    assert judge(CLASS, [run("testQuotaB", "passed")], 0, whole=False).problems == []
    assert len(judge(CLASS, [], 1, whole=False).problems) == 2  # a JVM that died, and no test


def test_an_unsteady_test_may_pass_or_fail() -> None:
    unsteady = KafkaClass("a.b.SomeTest", unsteady={"testRace": "a race of the test"})
    assert judge(unsteady, [run("testRace", "passed")], 0).problems == []
    failed = judge(unsteady, [run("testRace", "failed")], 0)
    assert failed.problems == []
    assert "| a race of the test |" in made([failed], [unsteady], {"SomeTest": date(2026, 3, 1)})


def test_a_method_run_alone_replaces_its_part_of_the_record(tmp_path: Path) -> None:
    kept = tmp_path / "SomeTest.jsonl"
    alone = [run("testB", "passed")]
    record(kept, alone, whole=False)
    assert not kept.exists()  # one method is not the class
    record(kept, [run("testA", "passed"), run("testB", "failed")], whole=True)
    record(kept, alone, whole=False)
    assert read_runs(kept) == [run("testA", "passed"), run("testB", "passed")]
    record(kept, alone, whole=False, again=True)
    assert read_runs(kept) == [run("testA", "passed"), replace(run("testB", "passed"), again=True)]


@pytest.mark.parametrize("second", ["passed", "failed"])
def test_what_fails_is_tried_again_alone_and_the_page_says_so(monkeypatch: pytest.MonkeyPatch, second: str) -> None:
    asked: list[tuple[str, bool]] = []

    def run_class(test_class: KafkaClass, methods: str, *, whole: bool, quick: bool, again: bool) -> Verdict:
        asked.append((methods, again))
        return judge(test_class, [run("testB", second)], 0, whole=whole)

    monkeypatch.setattr(runner, "run_class", run_class)
    runs = [run("testA", "passed"), run("testB", "failed", "timed out"), run("testQuotaC", "failed")]
    first = judge(CLASS, runs, 0)
    assert first.unexpected == ["testB"] and len(first.problems) == 1
    verdict = runner.run_again(first, whole=True, quick=False)
    assert asked == [("testB", True)]
    if second == "failed":
        assert verdict.problems == first.problems
        return
    assert verdict.problems == []
    page = made([verdict], [CLASS], {"SomeTest": date(2026, 3, 1)})
    assert "| quotas are not served; testB: failed beside other work, passed alone; testTier*: no tiers |" in page


def test_skipped_methods_are_left_out() -> None:
    assert re.fullmatch(CLASS.methods, "testA") and not re.fullmatch(CLASS.methods, "testTiers")


def test_the_table_is_readable_and_the_slice_short() -> None:
    table = read_table()
    assert len({row.simple_name for row in table}) == len(table) > 80
    assert all(not row.short or not row.not_run for row in table)
    assert 5 <= sum(len(row.short) for row in table) <= 40
