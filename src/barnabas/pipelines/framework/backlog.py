"""The history that a live query leaves out: told by a batch beside it, exactly once.

A query in Real-Time Mode would tell the whole log record by record before it comes to now. So it begins shortly before
the start, at `since_ms`, and a batch tells what lies before that. `since_ms` lies so far back that what was sent
earlier is in the log when the batch reads it. It is decided at the first start, kept beside the checkpoints, and holds
until all of the history is told.

A run that stood still for long begins anew at its end: the live query would have to tell all of the pause one by one.
The batch then also covers what the old query may have told in its last minutes, once more.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from barnabas.pipelines.framework.beside import Beside
from barnabas.pipelines.framework.checkpoints import Checkpoints
from barnabas.pipelines.framework.context import CLOCKS_MS, FORMAT, RunContext
from barnabas.pipelines.framework.pipeline import Option
from barnabas.pipelines.framework.realtime import LIVE
from barnabas.pipelines.session import active

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAME = "backlog"
OPTION = Option(NAME, "batch", "what reads old events at the first start: a batch beside the stream, or live")
LONG_PAUSE_MS = 1_800_000
SENDING_MS = 120_000  # a record gets its time when it is sent; Java's producer tries so long to have it written
_FILE = "live-began.json"


@dataclass(frozen=True, slots=True)
class History:
    """What lies from `from_ms` on and before `since_ms`. `write` names the batch to the sink."""

    from_ms: int
    since_ms: int
    write: str
    told: bool = False


def decided(context: RunContext, earlier_ms: int, step_ms: int = 1) -> History:
    """What this run has to work through: as decided before, or decided now.

    `earlier_ms`: how far before its end a query still tells what belongs to it. `step_ms`: both ends are whole
    multiples of it.
    """
    known = _read(context.checkpoints)
    now_ms = int(time.time() * 1000)
    ended_ms = context.checkpoints.last_commit_ms(LIVE)
    if known is not None and (ended_ms is None or now_ms - ended_ms < LONG_PAUSE_MS):
        return known
    from_ms = context.begin_ms or 0
    if known is not None and ended_ms is not None:
        from_ms = known.from_ms if not known.told else max(known.since_ms, ended_ms - earlier_ms - CLOCKS_MS)
        context.checkpoints.remove(LIVE)
    since_ms = 0 if context.option(NAME) == "live" else now_ms - SENDING_MS
    from_ms, since_ms = (each - each % step_ms for each in (from_ms, since_ms))
    made = History(min(from_ms, since_ms), since_ms, str(uuid.uuid4()), told=since_ms <= from_ms)
    _write(context.checkpoints, made)
    return made


def work_through_beside(context: RunContext, history: History, rows: Callable[[], DataFrame], topic: str) -> None:
    """Tell the history beside the live query; `rows` gives it as `decoding.as_json` makes it."""
    if history.told:
        return

    def work() -> None:
        sink = {**context.writing(), "topic": context.topic(topic), "delivery": "exactly-once"}
        with active(context.spark):  # this is a thread of its own
            writer = rows().coalesce(1).write.format(FORMAT).mode("append")
            writer.options(**sink, queryId=history.write, batchId="0").save()
        _write(context.checkpoints, replace(history, told=True))

    context.beside[NAME] = Beside(work)


def _read(checkpoints: Checkpoints) -> History | None:
    told = checkpoints.read(_FILE)
    return None if told is None else History(**json.loads(told))


def _write(checkpoints: Checkpoints, history: History) -> None:
    checkpoints.write(_FILE, json.dumps(asdict(history)))
