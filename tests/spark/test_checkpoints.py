"""Progress on storage that all machines reach, by Spark's own file systems; here a folder by its address."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipelines import metrics
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework.checkpoints import RemoteCheckpoints
from barnabas.pipelines.framework.running import Wanted, opened
from barnabas.pipelines.metrics import later
from barnabas.pipelines.metrics.answer import windows
from barnabas.pipelines.metrics.now import RESULTS
from barnabas.testing import RunningNode
from tests.spark.stage import Stage
from tests.spark.test_metrics import BEGIN, DISORDER


def test_what_is_asked_of_it(spark: Any, tmp_path: Path) -> None:
    place = tmp_path / "shared" / "orders"
    shared = RemoteCheckpoints(spark, f"file://{place}")
    assert shared.queries() == set() and shared.last_commit_ms("sums") is None and shared.read("a") is None
    for _ in range(2):
        shared.belongs_to("one", fresh=False)
    with pytest.raises(PipelineError, match=r"another cluster \(one\)"):
        shared.belongs_to("two", fresh=False)
    assert shared.place("sums") == f"file://{place}/sums"
    commits = place / "sums" / "commits"
    commits.mkdir(parents=True)
    for name in ("0", "1", ".2.tmp"):
        (commits / name).touch()
    assert shared.last_commit_ms("sums") == int((commits / "1").stat().st_mtime * 1000)
    shared.write("a", "x")
    shared.write("a", "ü")
    assert shared.read("a") == "ü" and shared.queries() == {"sums"}
    shared.remove("sums")
    assert shared.queries() == set()
    shared.belongs_to("two", fresh=True)
    assert shared.read("a") is None and shared.read("cluster") == "two\n"


def test_a_run_in_another_folder_goes_on(quick_spark: Any, node: RunningNode, tmp_path: Path) -> None:
    stage = Stage(metrics.PIPELINE, quick_spark, node.bootstrap, tmp_path)
    requests = list(islice(metrics.generator.generate(7, BEGIN, 100, DISORDER), 3000))
    wanted = Wanted(metrics.PIPELINE, node.bootstrap, tmp_path / "one", once=True, make_inputs=True)
    wanted = replace(wanted, topics=stage.topics, checkpoints=f"file://{tmp_path}/shared")
    for name, portion in (("one", requests[:2000]), ("two", requests[2000:])):
        stage.write(portion)
        run_once(replace(wanted, home=tmp_path / name))
        assert not (tmp_path / name / "metrics" / "checkpoints").exists()
    told = {(each.service, each.begin_ms): each for each in map(later.window_of, stage.values(RESULTS))}
    assert [told[key] for key in sorted(told)] == windows(requests)
    windows_told = [(each.service, each.begin_ms) for each in map(later.window_of, stage.values(RESULTS))]
    first = [key for key in windows_told if key == min(windows_told, key=lambda key: key[1])]
    assert len(first) == 1, "it began anew, and told old windows again"
    batches = {each.name for each in (tmp_path / "shared" / "metrics" / "windows" / "commits").iterdir()}
    assert {"0", "1"} <= {name for name in batches if name.isdigit()}
    with pytest.raises(PipelineError, match="the progress of metrics lies in --checkpoints file://"):
        run_once(replace(wanted, home=tmp_path / "two", checkpoints=""))


def run_once(wanted: Wanted) -> None:
    with opened(wanted) as run:
        run.start_now()
        deadline = time.monotonic() + 240
        while run.check():
            assert time.monotonic() < deadline, run.troubles
            time.sleep(0.1)
