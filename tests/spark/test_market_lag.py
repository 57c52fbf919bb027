"""The lag of `market`, which reads with a group for each of its queries, on a real node and a real Spark."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from barnabas import Admin, Producer
from barnabas.pipelines.framework.progress.watching import Snapshot, Watch
from barnabas.pipelines.framework.records import write
from barnabas.pipelines.framework.running import Run, Wanted, opened
from barnabas.pipelines.market import PIPELINE, generator
from barnabas.pipelines.market.generator import TRADES
from barnabas.testing import RunningNode

WITHIN_S = 240


@pytest.mark.timeout(600)
def test_the_slowest_query_counts_and_an_old_topic_does_not(
    quick_spark: Any, node: RunningNode, admin: Admin, tmp_path: Path
) -> None:
    names = {each.name: f"{each.name}-lag" for each in (*PIPELINE.reads, *PIPELINE.writes)}
    wanted = Wanted(PIPELINE, node.bootstrap, tmp_path, make_inputs=True, topics=names)
    begin_ms = int(time.time() * 1000) - 300_000
    records = list(islice(generator.generate(5, begin_ms, 18), 700))
    with opened(wanted) as run, Watch(run) as watch:
        write(node.bootstrap, records[:400], wanted.topic)
        run.start_now()
        awaited(run, watch, lambda seen: seen.lag_records == 0)

        # As after an earlier run with `--topic trades=...`: the group has offsets in a topic that is not read now.
        with Producer(node.bootstrap) as producer:
            for _ in range(50):
                producer.send("trades-of-before", b"{}")
        admin.reset_group("market.quoted", "trades-of-before", 0)

        run.context.queries["quoted"].stop()
        write(node.bootstrap, records[400:], wanted.topic)
        behind = awaited(run, watch, lambda seen: seen.lag_records == 300)
        assert behind.lag_seconds is not None and 0 < behind.lag_seconds < 600
        bars = awaited_end(admin, "market.bars", names[TRADES])
        assert bars == 0  # the other query has read everything, so the lag is not its
        watch.tell({"pipeline": "market", "pid": os.getpid()})
        status = run.house.state("now")
        assert status is not None and status["lag_records"] == 300

        run.context.start_again("quoted")
        awaited(run, watch, lambda seen: seen.lag_records == 0)


def awaited(run: Run, watch: Watch, holds: Callable[[Snapshot], bool]) -> Snapshot:
    deadline = time.monotonic() + WITHIN_S
    while not holds(seen := watch.look()):
        run.check()  # on a busy machine Spark may give up a Python process that takes 10 s to start: the query goes on
        assert time.monotonic() < deadline, f"lag {seen.lag_records}, {seen.queries}"
        time.sleep(0.2)
    return seen


def awaited_end(admin: Admin, group: str, topic: str) -> int:
    deadline = time.monotonic() + WITHIN_S
    while True:
        parts = [each for each in admin.describe_group(group).partitions if each.topic == topic]
        lag = sum(each.lag_records or 0 for each in parts)
        if parts and lag == 0:
            return lag
        assert time.monotonic() < deadline, parts
        time.sleep(0.2)
