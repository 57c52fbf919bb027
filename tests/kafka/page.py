"""Writes the table of Apache Kafka's own tests into docs/compatibility.md, between two marks.

The page is the record: a class whose results are not on this machine keeps the row it has there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date

from tests.kafka.table import KafkaClass
from tests.kafka.verdict import Verdict
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "compatibility.md"
BEGIN, END = "<!-- kafka-tests: begin -->", "<!-- kafka-tests: end -->"
_ROW = re.compile(r"^\| (\w+) \| *(\d*) *\| *(\d*) *\| *(\d*) *\| *(\d{4}-\d\d-\d\d[^|]*?) *\|.*\|$", re.M)


def write_page(verdicts: Sequence[Verdict], table: Sequence[KafkaClass], days: Mapping[str, date]) -> None:
    """`days`: when each class was run on this machine."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{made(verdicts, table, days, old)}{END}{after}")


def made(verdicts: Sequence[Verdict], table: Sequence[KafkaClass], days: Mapping[str, date], old: str = "") -> str:
    """`old`: the part of the page as it was."""
    kept = {found[1]: found[0] for found in _ROW.finditer(old)}
    rows = []
    for verdict in sorted(verdicts, key=lambda each: each.test_class.simple_name):
        name = verdict.test_class.simple_name
        if verdict.runs:
            rows.append(row(verdict, days[name]))
        else:
            rows.append(kept.get(name, f"| {name} | | | | | no result is recorded |"))
    counted = [found.group(2, 3, 4) for line in rows if (found := _ROW.match(line))]
    passed, failed, skipped = (sum(int(counts[i] or 0) for counts in counted) for i in range(3))
    left_out = [f"| {each.simple_name} | {each.not_run} |" for each in table if each.not_run]
    return "\n".join(
        [
            f"{passed} pass, {failed} fail, {skipped} are skipped."
            ' A test counts once for each kind of cluster that it ran on; "one kind" is a run with `--quick`: the'
            " controller in the broker's process, where a test has the choice.",
            "",
            "| class | pass | fail | skip | run | why not |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
            "Not run:",
            "",
            "| class | why |",
            "|---|---|",
            *left_out,
            "",
        ]
    )


def row(verdict: Verdict, day: date) -> str:
    counts = verdict.counts
    return (
        f"| {verdict.test_class.simple_name} | {counts['passed']} | {counts['failed'] or ''}"
        f" | {counts['skipped'] or ''} | {day}{', one kind' if verdict.quick else ''} | {reasons(verdict)} |"
    )


def reasons(verdict: Verdict) -> str:
    failed = {run.method for run in verdict.runs if run.state == "failed"}
    found = {verdict.test_class.expected_failure(method) or f"{method}: not expected" for method in failed}
    again = [f"{method}: failed beside other work, passed alone" for method in verdict.passed_again]
    return "; ".join([*sorted(found), *again, *verdict.skips]).replace("|", "\\|").replace("\n", " ")
