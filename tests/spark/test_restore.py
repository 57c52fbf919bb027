"""The restore pipeline on a real node and a real Spark."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from barnabas import Producer
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.restore import PIPELINE, generator
from barnabas.pipelines.restore.answer import rebuilt
from barnabas.pipelines.restore.files import read_state
from barnabas.pipelines.restore.store import Change
from barnabas.testing import RunningNode
from tests.spark.stage import Stage

BEGIN = 1_790_000_000_000


def changes(stage: Stage) -> list[Change]:
    return [
        Change(each.key, each.value, {name: value or b"" for name, value in each.headers})
        for each in stage.messages(generator.TOPIC)
    ]


def test_a_lost_state_comes_back_whole_and_damage_is_noticed(
    quick_spark: Any, node: RunningNode, tmp_path: Path
) -> None:
    stage = Stage(PIPELINE, quick_spark, node.bootstrap, tmp_path)
    records = list(islice(generator.generate(3, BEGIN, 200), 3000))
    stage.write(records)
    log = changes(stage)

    moment = records[2000].time_ms
    outcome = stage.later(end_ms=moment)
    past = [
        Change(each.key, each.value, {name: value or b"" for name, value in each.headers})
        for each in stage.messages(generator.TOPIC)
        if each.timestamp_ms < moment
    ]
    assert read_state(outcome.files["state"]) == rebuilt(past) != rebuilt(log)
    assert outcome.numbers == {"keys": len(rebuilt(past)), "shards_checked": 3}

    newest = log[-1]
    with Producer(node.bootstrap) as producer:  # a change that says more than there is
        told = {**newest.headers, "seq": b"999999", "keys": b"5000"}
        producer.send(stage.topics[generator.TOPIC], b"{}", key=newest.key, headers=told)
    with pytest.raises(PipelineError, match=r"is not whole: its newest record says 5,000 keys"):
        stage.later()
    assert read_state(tmp_path / "state.unverified.db") == rebuilt(changes(stage))  # all of the log, for a look
    assert read_state(outcome.files["state"]) == rebuilt(past)  # what was good before is not touched
