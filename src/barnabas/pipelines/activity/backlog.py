"""The history that the live query leaves out: older interests and the jobs that fit them, by a batch, exactly once.

The live query answers interests that were sent at `since_ms` or later; this batch those before. `since_ms` lies so far
back that every job that an older interest may want has been sent: so the batch is complete, and no pair is of both.
What was decided at the first start is kept beside the checkpoints, and holds until all of it is told.

A run that stood still for long begins anew at its end: the live query would have to send each job of the pause to
every slice of it. The batch then also covers what the old query may have told in its last minutes, once more.
"""

from __future__ import annotations

import json
import shutil
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipelines.activity.generator import JOBS, SEARCHES, VIEWS
from barnabas.pipelines.activity.matching import recommend
from barnabas.pipelines.activity.rules import Rules
from barnabas.pipelines.common.lateness import SKEW_MS
from barnabas.pipelines.framework import RunContext, decoding
from barnabas.pipelines.framework.beside import Beside
from barnabas.pipelines.framework.context import CLOCKS_MS, FORMAT
from barnabas.pipelines.framework.realtime import LIVE
from barnabas.pipelines.session import active

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAME = "backlog"
LONG_PAUSE_MS = 1_800_000
_FILE = "live-began.json"


@dataclass(frozen=True, slots=True)
class History:
    """The interests sent from `from_ms` on and before `since_ms`. `write` names the batch to the sink."""

    from_ms: int
    since_ms: int
    write: str
    told: bool = False


def of(context: RunContext, rules: Rules) -> History:
    """What this run has to work through: as decided before, or decided now."""
    file = context.path("checkpoints", _FILE)
    known = _read(file)
    now_ms = int(time.time() * 1000)
    ended_ms = _last_commit_ms(context.checkpoint(LIVE))
    if known is not None and (ended_ms is None or now_ms - ended_ms < LONG_PAUSE_MS):
        return known
    before_ms = rules.after_ms + rules.late_ms + 2 * SKEW_MS
    from_ms = context.begin_ms or 0
    if known is not None and ended_ms is not None:
        from_ms = known.from_ms if not known.told else max(known.since_ms, ended_ms - before_ms - CLOCKS_MS)
        shutil.rmtree(context.checkpoint(LIVE))
    since_ms = 0 if context.option(NAME) == "live" else now_ms - before_ms
    made = History(min(from_ms, since_ms), since_ms, str(uuid.uuid4()), told=since_ms <= from_ms)
    _write(file, made)
    return made


def work_through_beside(context: RunContext, history: History, rules: Rules) -> None:
    if not history.told:
        context.beside[NAME] = Beside(lambda: work_through(context, history, rules))


def work_through(context: RunContext, history: History, rules: Rules) -> None:
    from pyspark.sql import functions as f

    def between(name: str) -> DataFrame:
        sent_ms = f.unix_millis("_timestamp")
        return context.batch(name).where((sent_ms >= history.from_ms) & (sent_ms < history.since_ms))

    pairs = recommend(between(SEARCHES), between(VIEWS), context.batch(JOBS, rules.window_ms + rules.late_ms), rules)
    sink = {**context.writing(), "topic": context.topic("activity.recommendations"), "delivery": "exactly-once"}
    writer = decoding.as_json(pairs, key="member").coalesce(1).write.format(FORMAT).mode("append")
    with active(context.spark):  # this is a thread of its own
        writer.options(**sink, queryId=history.write, batchId="0").save()
    _write(context.path("checkpoints", _FILE), History(history.from_ms, history.since_ms, history.write, told=True))


def _last_commit_ms(checkpoint: Path) -> int | None:
    times = [each.stat().st_mtime for each in (checkpoint / "commits").glob("[0-9]*")]
    return int(max(times) * 1000) if times else None


def _read(file: Path) -> History | None:
    try:
        return History(**json.loads(file.read_text()))
    except FileNotFoundError:
        return None


def _write(file: Path, history: History) -> None:
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(asdict(history)))
    fresh.replace(file)
