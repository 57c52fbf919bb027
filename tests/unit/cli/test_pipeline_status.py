"""What `barnabas pipeline status` makes of what a run told of itself, and what it says of a name it does not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.common.failure import Failure
from barnabas.cli.common.options import pairs
from barnabas.cli.pipeline.command import status, stop
from barnabas.cli.pipeline.running import row

NOW_S = 1_000.0
WHO = {"pipeline": "orders", "part": "now", "pid": 7, "begun_at": NOW_S - 65, "told_at": NOW_S - 1}


def query(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "batches": 3, "rows": 0, "rows_per_s": 0.0, "trouble": "", **more}


def test_rows_are_not_added_up_over_queries_that_read_the_same_records() -> None:
    queries = [query("revenue", rows=1_200, rows_per_s=50.0), query("dead-letters", rows=1_150, rows_per_s=40.0)]
    shown = row({**WHO, "queries": queries, "lag_records": 4, "lag_seconds": 0.5, "results": 9, "bad": 1}, NOW_S)
    assert shown[:5] == ("orders", "now", "7", "1 min 5 s", "1,200")
    assert shown[5].startswith("50") and shown[6:] == ("4", "0.5 s", "9", "1", "0", "")


def test_a_run_whose_spark_is_starting_is_shown() -> None:
    assert row({**WHO, "phase": "starting Spark"}, NOW_S)[4:] == ("-",) * 7 + ("starting Spark",)


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"queries": [query("revenue", batches=0)]}, "the first batch is under way"),
        ({"queries": [query("a"), query("b", trouble="a Python worker died")]}, "b: a Python worker died"),
        ({"queries": [query("a")], "told_at": NOW_S - 40}, "silent for 40 s"),
    ],
)
def test_the_last_column_says_what_a_person_should_know(state: dict[str, Any], told: str) -> None:
    assert row({**WHO, **state}, NOW_S)[-1] == told


def test_a_misspelt_name_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Failure, match=r"Did you mean 'activity'\?"):
        status("activty", data=str(tmp_path))
    with pytest.raises(Failure, match="no pipeline 'shop' has run here"):
        stop("shop.py", data=str(tmp_path))
    status("activity", data=str(tmp_path))
    assert capsys.readouterr().out == "activity does not run\n"


def test_a_name_that_is_given_twice_is_refused() -> None:
    assert pairs(["events=a", "events=a"], "--topic") == {"events": "a"}
    with pytest.raises(Failure, match="--topic gives events twice, 'a' and 'b'"):
        pairs(["events=a", "events=b"], "--topic")
