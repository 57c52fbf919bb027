"""The metrics pipeline on a real node and a real Spark, with requests late, doubled and out of order."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipelines.common.disorder import Disorder, millis
from barnabas.pipelines.common.lateness import counts
from barnabas.pipelines.metrics import PIPELINE, answer, generator, later
from barnabas.pipelines.metrics.levels import levels
from barnabas.pipelines.metrics.now import RESULTS
from barnabas.testing import RunningNode
from tests.spark.stage import Stage, dropped_by_watermark

BEGIN = 1_790_000_000_000
DISORDER = Disorder(late=0.05, late_ms=9_000, too_late=0.01, too_late_ms=15_000, twice=0.02)


def test_streamed_recomputed_and_plain_python_agree(
    quick_spark: Any, node: RunningNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(PIPELINE, quick_spark, node.bootstrap, tmp_path)
    records = list(islice(generator.generate(7, BEGIN, 100, DISORDER), 4000))
    want = answer.windows(records)
    too_late = sum(not counts(millis(each.value["time"]), each.time_ms, answer.ALLOWED_MS) for each in records)
    stage.write(records)

    assert dropped_by_watermark(stage.now(step=2500)) == 0
    told = stage.values(RESULTS)
    streamed = {(window.service, window.begin_ms): window for window in map(later.window_of, told)}
    assert [streamed[key] for key in sorted(streamed)] == want
    assert len(told) > len(want)  # the window at the cut was told twice, and the second telling holds

    recomputed = []
    report = later.report
    monkeypatch.setattr(later, "report", lambda *given: recomputed.append(given) or report(*given))
    outcome = stage.later()
    [(found, windows, promise, _)] = recomputed
    assert windows == want
    assert found == levels(records, promise)
    assert outcome.numbers["too_late"] == too_late > 0
    assert outcome.files["report"].read_text().count("<svg") == 3 * len(generator.SERVICES)


@pytest.mark.long
def test_a_batch_that_spark_does_again_is_told_once(quick_spark: Any, node: RunningNode, tmp_path: Path) -> None:
    """The driver died when the batch was written and Spark had not noted it: at its start it does the batch again."""
    stage = Stage(PIPELINE, quick_spark, node.bootstrap, tmp_path)
    stage.write(islice(generator.generate(7, BEGIN, 100, DISORDER), 2000))
    context = stage.now(step=1200)
    told = sorted(stage.messages(RESULTS))
    commits = context.checkpoint("windows") / "commits"
    last = max(int(place.name) for place in commits.iterdir() if place.name.isdigit())
    for name in (f"{last}", f".{last}.crc"):
        (commits / name).unlink(missing_ok=True)
    again = stage.now(step=1200)
    assert again.queries["windows"].recentProgress[0]["batchId"] == last
    assert sorted(stage.messages(RESULTS)) == told  # the same records in the same places, and no other
