"""The anomalies pipeline on a real node and a real Spark, with readings late, doubled and out of order."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipelines.anomalies import PIPELINE, answer, generator, history
from barnabas.pipelines.anomalies.baseline import Rule
from barnabas.pipelines.anomalies.schema import ALERTS
from barnabas.pipelines.common.disorder import millis
from barnabas.testing import RunningNode
from tests.spark.stage import Stage

BEGIN = 1_790_000_000_000


def test_streamed_recomputed_and_plain_python_agree(
    quick_spark: Any, node: RunningNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(PIPELINE, quick_spark, node.bootstrap, tmp_path)
    records = list(islice(generator.generate(5, BEGIN, 40), 6000))
    rule = Rule(threshold=4.0)
    want = answer.alerts(records, rule)
    assert len(want) > 20

    stage.write(records)
    stage.now(options={"threshold": "4"}, step=3500)
    assert sorted(map(alert_of, stage.values(ALERTS))) == want  # each once

    again: list[answer.Alert] = []
    back_test = history.back_test

    def seen(scored: Any, *rest: Any) -> Any:
        """What SQL makes of the same log, caught on its way into the back-test."""
        loud = scored.where(f"abs(score) >= {rule.threshold}").collect()
        again.extend(alert_of(row.asDict()) for row in loud)
        return back_test(scored, *rest)

    monkeypatch.setattr(history, "back_test", seen)
    thresholds = [3.0, 4.0, 8.0]
    tried = answer.back_test(records, thresholds, Rule())
    outcome = stage.later(options={"thresholds": "3,4,8"})
    assert sorted(again) == want
    assert outcome.numbers["incidents"] == tried[0].incidents > 1
    for each, line in zip(tried, outcome.lines, strict=False):
        assert line.startswith(f"threshold {each.threshold:g}: {each.alerts:,} alerts")
        assert line.endswith(f"{each.incidents_seen} of {each.incidents} incidents seen")


def alert_of(row: dict[str, Any]) -> answer.Alert:
    """A row of Spark, or a value of the topic."""
    time_ms = millis(row["time"]) if isinstance(row["time"], str) else round(row["time"].timestamp() * 1000)
    rest = (row[name] for name in ("seq", "value", "mean", "deviation", "score"))
    return answer.Alert(row["sensor"], time_ms, *rest)
