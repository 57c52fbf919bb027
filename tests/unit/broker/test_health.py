"""What a node says of itself, and the file `doctor` reads it from."""

from __future__ import annotations

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.metrics import health
from barnabas.broker.metrics.health import STATUS_FILE, Health
from barnabas.broker.metrics.loop_watchdog import LoopHolds
from barnabas.cli.doctor import health as checks_health
from barnabas.model.limits import HEALTH_PROBLEMS_MAX
from barnabas.storage.disk import DISK


def test_a_failure_again_only_counts() -> None:
    node = Health()
    assert [node.failed("compaction", "t-0", "no space"), node.failed("compaction", "t-0", "no space")] == [1, 2]
    node.failed("compaction", "t-1", "no space")
    assert [(p.subject, p.times) for p in node.problems()] == [("t-0", 2), ("t-1", 1)]
    node.recovered("compaction", "t-0")
    assert [p.subject for p in node.problems()] == ["t-1"]


def test_the_table_of_problems_is_bounded() -> None:
    node = Health()
    for number in range(HEALTH_PROBLEMS_MAX + 5):
        node.failed("retention", f"t-{number}", "x" * 10_000)
    assert len(node.problems()) == HEALTH_PROBLEMS_MAX
    assert node.omitted == 5
    assert len(json.dumps(node.status())) < 256 * 1024


def test_doctor_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_WRITE_SECONDS", 0.01)
    path = tmp_path / STATUS_FILE

    async def run(threads: ThreadPoolExecutor) -> None:
        node = Health()
        node.figures["loop"] = LoopHolds().figures
        node.publish(
            {"pid": os.getpid(), "node_id": 3}, threads, lambda data: DISK.write_whole(str(path), data, sync=False)
        )
        await _until(lambda: bool(_status(path)))
        assert _status(path)["loop"]["holds"] == 0
        node.failed("compaction", "t-0", "no space", "Make room.")
        node.failed("compaction", "t-0", "no space", "Make room.")
        await _until(lambda: bool(_status(path)["problems"]))
        node.close()

    with ThreadPoolExecutor(1) as threads:
        asyncio.run(run(threads))
    shown = list(checks_health.checks(tmp_path))
    assert (shown[0].status, shown[0].what) == ("warn", "compaction")
    assert shown[0].told == "node 3, t-0: no space (2 times)"
    assert shown[0].way_out == "Make room."
    assert (shown[1].what, shown[1].told) == ("loop", "node 3: never held for more than 50 ms")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2}', '{"version": 1, "pid": 0.5e99}', '{"version": 1}'])
def test_doctor_reads_no_file_that_is_not_a_running_nodes(tmp_path: Path, text: str) -> None:
    (tmp_path / STATUS_FILE).write_text(text)
    assert [check.told for check in checks_health.checks(tmp_path)] == [f"no node runs with its data in {tmp_path}"]


def _status(path: Path) -> dict[str, Any]:
    return json.loads(path.read_bytes()) if path.exists() else {}


async def _until(done: Any) -> None:
    async with asyncio.timeout(5):
        while not done():
            await asyncio.sleep(0.005)
