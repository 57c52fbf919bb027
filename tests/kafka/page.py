"""Writes the table of Apache Kafka's own tests into docs/compatibility.md, between two marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date

from tests.kafka.table import KafkaClass
from tests.kafka.verdict import Verdict
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "compatibility.md"
BEGIN, END = "<!-- kafka-tests: begin -->", "<!-- kafka-tests: end -->"


def write_page(verdicts: Sequence[Verdict], table: Sequence[KafkaClass], days: Sequence[date]) -> None:
    """`days`: when the recorded runs were made."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{made(verdicts, table, days)}{END}{after}")


def made(verdicts: Sequence[Verdict], table: Sequence[KafkaClass], days: Sequence[date]) -> str:
    total: Counter[str] = Counter()
    rows = []
    for verdict in sorted(verdicts, key=lambda each: each.test_class.simple_name):
        total.update(verdict.counts)
        counts = verdict.counts
        if not verdict.runs:
            rows.append(f"| {verdict.test_class.simple_name} | | | | no result is recorded |")
            continue
        rows.append(
            f"| {verdict.test_class.simple_name} | {counts['passed']} | {counts['failed'] or ''}"
            f" | {counts['skipped'] or ''} | {reasons(verdict)} |"
        )
    left_out = [f"| {row.simple_name} | {row.not_run} |" for row in table if row.not_run]
    return "\n".join(
        [
            f"{total['passed']} pass, {total['failed']} fail, {total['skipped']} are skipped."
            " A test counts once for each kind of cluster that it ran on.",
            origin(verdicts, days),
            "",
            "| class | pass | fail | skip | why not |",
            "|---|---|---|---|---|",
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


def origin(verdicts: Sequence[Verdict], days: Sequence[date]) -> str:
    """From which runs the results come."""
    if not days:
        return "No run is recorded."
    quick = sum(1 for verdict in verdicts if verdict.quick)
    whole = sum(1 for verdict in verdicts if verdict.runs) - quick
    when = f"{min(days)}" if min(days) == max(days) else f"{min(days)} to {max(days)}"
    return (
        f"The results are those of the last run of each test, made {when}: {quick} classes with `--quick` (the"
        " controller in the broker's process, where a test has the choice),"
        f" {whole} with every kind of cluster that their tests name."
    )


def reasons(verdict: Verdict) -> str:
    failed = {run.method for run in verdict.runs if run.state == "failed"}
    found = {verdict.test_class.expected_failure(method) or f"{method}: not expected" for method in failed}
    return "; ".join([*sorted(found), *verdict.skips]).replace("|", "\\|").replace("\n", " ")
