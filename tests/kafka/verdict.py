"""What a run of a class says: passes, failures that were expected, skips; and what was not expected, either way."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.kafka.table import KafkaClass

LEFT_OUT = "the quick run starts one kind of cluster"


@dataclass(frozen=True)
class Outcome:
    """One run of one test: Kafka runs most of them with the controller in the same process and in one of its own."""

    method: str
    run: str
    state: str  # passed, failed, skipped
    seconds: float
    reason: str
    trace: str
    again: bool = False  # it had failed in the run of its class


@dataclass(frozen=True)
class Verdict:
    test_class: KafkaClass
    runs: list[Outcome]
    problems: list[str]
    exit_code: int = 0

    @property
    def unexpected(self) -> list[str]:
        """Methods that failed without a reason in the table."""
        failed = {run.method for run in self.runs if run.state == "failed"}
        return sorted(method for method in failed if self.test_class.expected_failure(method) is None)

    @property
    def passed_again(self) -> list[str]:
        return sorted({run.method for run in self.runs if run.again and run.state == "passed"})

    @property
    def counts(self) -> Counter[str]:
        return Counter(run.state for run in self.runs if LEFT_OUT not in run.reason)

    @property
    def quick(self) -> bool:
        """Was it run with one kind of cluster only, where its tests have several?"""
        return any(LEFT_OUT in run.reason for run in self.runs)

    @property
    def skips(self) -> list[str]:
        """Why tests were skipped, without the name of the exception that said so."""
        reasons = (run.reason for run in self.runs if run.state == "skipped" and LEFT_OUT not in run.reason)
        said = {re.sub(r"^\S*TestAbortedException: (Assumption failed: )?", "", reason) for reason in reasons}
        return sorted(said | {f"{pattern}: {why}" for pattern, why in self.test_class.skips.items()})


def read_runs(path: Path) -> list[Outcome]:
    if not path.exists():
        return []
    return [Outcome(**json.loads(line)) for line in path.read_text().splitlines() if line.strip()]


def judge(test_class: KafkaClass, runs: list[Outcome], exit_code: int, *, whole: bool = True) -> Verdict:
    """`whole`: every method ran, so an expected failure that did not happen is a row to be removed."""
    problems = []
    if exit_code != 0:
        problems.append(f"the JVM left with {exit_code} after {len(runs)} tests")
    if not runs:
        problems.append("no test ran")
    for run in runs:
        if run.state == "failed" and test_class.expected_failure(run.method) is None:
            problems.append(f"{run.method} ({run.run}) failed: {run.reason.splitlines()[0] if run.reason else '?'}")
    failed = {run.method for run in runs if run.state == "failed"}
    if whole:
        for pattern, why in test_class.fails.items():
            if not any(test_class.expected_failure(method) == why for method in failed):
                problems.append(f"{pattern} was expected to fail ({why}) and did not: remove the row")
    return Verdict(test_class, runs, problems, exit_code)
