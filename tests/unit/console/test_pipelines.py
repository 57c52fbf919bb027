"""What starts when a pipeline is started from the browser, and what a run's own words become."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.console.clusters.facts import Facts
from barnabas.console.options import Role
from barnabas.console.pages.pipelines.listing import list_pipelines, part_row
from barnabas.console.pages.pipelines.running import Asked, command, start
from barnabas.console.problems import Problem


def told(asked: Asked, name: str = "metrics") -> list[str]:
    return command(name, asked)[command(name, asked).index("pipeline") :]


def test_the_command_has_what_was_asked_and_nothing_else() -> None:
    assert told(Asked(generate=50, options={"p95": "--fresh 1; rm -rf /"})) == [
        "pipeline", "run", "metrics", "--now", "--set=p95=--fresh 1; rm -rf /", "--generate=50",
    ]  # fmt: skip
    assert told(Asked(part="later"), "restore") == ["pipeline", "run", "restore", "--later"]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("os", Asked()),
        ("../metrics", Asked()),
        ("mine.py", Asked()),
        ("restore", Asked(part="now")),
        ("metrics", Asked(part="--fresh")),
        ("metrics", Asked(options={"nothing": "1"})),
        ("metrics", Asked(options={"p95": "x" * 2_000})),
        ("metrics", Asked(part="later", generate=5)),
        ("metrics", Asked(generate=float("nan"))),
    ],
)
def test_what_there_is_not_is_refused(name: str, asked: Asked) -> None:
    with pytest.raises(Problem):
        command(name, asked)


def state(**more: object) -> dict[str, Any]:
    return {"pid": 7, "pipeline": "metrics", "part": "now", "begun_at": 100.0, "told_at": 150.0, **more}


def query(**more: object) -> dict[str, Any]:
    row = {"name": "q", "batches": 3, "rows": 10, "rows_per_s": 2.0, "batch_ms": 300, "state_bytes": 0, "late": 0}
    return {**row, "trouble": "", **more}


def test_a_run_that_starts_has_a_phase_and_no_numbers() -> None:
    row = part_row(state(phase="starting Spark"), 160.0)
    assert (row["phase"], row["up"], row["rows"], row["silent"]) == ("starting Spark", 60.0, None, None)


def test_a_run_has_the_numbers_of_its_busiest_query_and_every_trouble() -> None:
    row = part_row(state(queries=[query(), query(name="r", rows=90, batch_ms=None, trouble="no leader")]), 151.0)
    assert (row["rows"], row["batch_ms"], row["troubles"]) == (90, 300, [{"query": "r", "what": "no leader"}])
    assert part_row(state(queries=[query()]), 190.0)["silent"] == 40.0


def test_the_console_does_not_load_spark() -> None:
    """Nor what Spark's workers need: pyarrow alone takes 40 MB."""
    script = (
        "import sys; import barnabas.console.web.app; from barnabas.pipelines.framework import registry;"
        "registry.built_in(); print([each for each in ('pyspark', 'pyarrow', 'numpy') if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("role", "sees"),
    [
        (Role(), True),
        (Role(data=False), False),
        (Role(topics=("orders.*",)), False),
        (Role(mask=(".card",)), False),
    ],
)
def test_what_a_run_prints_is_for_people_who_may_see_every_record(
    role: Role, sees: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of Spark quotes the row that it could not read."""
    failing = state(queries=[query(trouble="cannot parse '4711-secret'")])
    ran = [
        {"name": "metrics", "states": [failing], "output": ["row 4711-secret"], "starting": False},
        {"name": "restore", "states": [], "output": ["barnabas: bad row 4711-secret"], "starting": False},
    ]
    monkeypatch.setattr("barnabas.console.pages.pipelines.listing._read", lambda *_: ran)
    observer = SimpleNamespace(facts=Facts(), first_look=lambda _: asyncio.sleep(0))
    options = SimpleNamespace(pipelines=str(tmp_path))
    call: Any = SimpleNamespace(
        connection=SimpleNamespace(observer=observer), facts=Facts(), options=options, role=role
    )
    shown = str(asyncio.run(list_pipelines(call)))
    assert ("4711" in shown) is sees and ("it has failed" in shown) is not sees


def test_a_pipeline_that_two_people_start_at_once_is_started_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Path] = []

    class Running:
        def poll(self) -> None:
            return None

    def begin(folder: Path, arguments: list[str]) -> Running:
        begun.append(folder)
        return Running()

    monkeypatch.setattr("barnabas.console.pages.pipelines.running._begin", begin)
    monkeypatch.setattr("barnabas.console.pages.pipelines.running._processes", {})
    monkeypatch.setattr("barnabas.console.pages.pipelines.running._starting", asyncio.Lock())
    call: Any = SimpleNamespace(
        options=SimpleNamespace(pipelines=str(tmp_path)),
        connection=SimpleNamespace(options=SimpleNamespace(bootstrap="127.0.0.1:1")),
        path=lambda _: "metrics",
        body=lambda kind: asyncio.sleep(0, kind()),
    )

    async def both() -> tuple[object, object]:
        return await asyncio.gather(start(call), start(call), return_exceptions=True)

    first, second = asyncio.run(both())
    assert first == {"started": "metrics"} and isinstance(second, Problem) and len(begun) == 1
