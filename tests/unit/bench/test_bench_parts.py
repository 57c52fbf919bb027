"""A run of some rows, or of some sizes of a row: what was measured before stays, and says on what machine it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench import report
from bench.__main__ import merged, parse
from bench.options import Options
from bench.workloads.produce import Produce
from bench.workloads.spark_later import SparkLater

OLD, NEW = {"CPU": "2 x Old"}, {"CPU": "2 x New"}


def results(machine: dict[str, str], **rows: dict[str, float]) -> dict[str, Any]:
    """Rows by name, each with its cases and one figure of each."""
    made = {}
    for name, cases in rows.items():
        told = [
            {"case": case, "servers": {"Barnabas": {"median": {"x": x}, "errors": []}}} for case, x in cases.items()
        ]
        made[name.replace("_", "-")] = {"when": "2026-01-01", "on": machine, "cases": told}
    return {"ours": "Barnabas", "rounds": 3, "quiet_cores": 0.25, "machine": machine, "versions": {}, "rows": made}


def figures(found: dict[str, Any], row: str) -> dict[str, float]:
    return {case["case"]: case["servers"]["Barnabas"]["median"]["x"] for case in found["rows"][row]["cases"]}


def test_sizes_that_were_not_run_keep_their_figures(tmp_path: Path) -> None:
    kept = tmp_path / "latest.json"
    kept.write_text(
        json.dumps(results(OLD, produce={"a": 1}, spark_later={"activity, 100 million": 2, "activity, 1 million": 3}))
    )
    fresh = results(NEW, spark_later={"activity, 1 million": 4, "lake, 10 million": 5})
    found = merged(fresh, kept, [Produce(), SparkLater()])
    want = {"activity, 1 million": 4, "activity, 100 million": 2, "lake, 10 million": 5}
    assert figures(found, "spark-later") == want
    assert list(figures(found, "spark-later")) == list(want)  # in the order of the row
    assert found["rows"]["produce"]["on"] == OLD == found["machine"]


def test_a_row_of_another_machine_says_so_and_no_other() -> None:
    rows = results(OLD, produce={"a": 1})["rows"] | results(NEW, spark_later={"lake, 1 million": 1})["rows"]
    page = report.write({**results(OLD), "rows": rows}, [Produce(), SparkLater()], "")
    assert page.count("Measured on: ") == 1
    assert page.index("## Spark: --later") < page.index("Measured on: CPU: 2 x New")


def test_without_sizes_the_smallest_is_run(tmp_path: Path) -> None:
    def labels(*words: str) -> list[str]:
        asked = Options(tmp_path, millions=tuple(parse(words).millions or ()))
        return [case.label for case in SparkLater().chosen(asked)]

    assert labels() == ["activity, 1 million", "lake, 1 million", "restore, 1 million"]
    assert labels("--millions", "10") == ["activity, 10 million", "lake, 10 million", "restore, 10 million"]
