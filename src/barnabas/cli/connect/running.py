"""`connect run` and `connect worker`: a worker in this process, with a line when something changes."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType

from barnabas.cli.common import human
from barnabas.cli.common.screen import note, paint, quoted
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.cluster.status import TaskStatus
from barnabas.connect.definition.definition import Definition
from barnabas.connect.operations import states
from barnabas.connect.runtime.worker import Worker
from barnabas.connect.spark import settings
from barnabas.connect.spark.settings import SparkSettings

_LOOK_S = 0.5
_RATE_S = 10.0


def run_definitions(bootstrap: str, definitions: list[Definition]) -> None:
    spark = settings.of_all(definitions)
    cluster = _connected(bootstrap)
    states.run_from_file(cluster, definitions)
    engines = {each.name: each.engine for each in definitions}
    what = f"running {', '.join(engines)}"
    if "spark" in engines.values():
        _run_on_spark(Worker(cluster, engines), what, spark)
    else:
        _run(Worker(cluster, engines), what)


def run_added(bootstrap: str) -> None:
    _run(Worker(_connected(bootstrap)), "running the connectors that were added")


def run_added_on_spark(bootstrap: str, spark: SparkSettings) -> None:
    worker = Worker(_connected(bootstrap), engine="spark")
    _run_on_spark(worker, "running the connectors that were added with engine: spark", spark)


def _run_on_spark(worker: Worker, what: str, spark: SparkSettings) -> None:
    from barnabas.connect.spark import session

    session.use(spark)
    note(f"connectors on Spark run when it has started ({spark.master or 'beside this process'}), in some seconds")
    try:
        _run(worker, what)
    finally:
        session.stop()


def _connected(bootstrap: str) -> Cluster:
    from barnabas.cli.up.logging import log_to_stderr
    from barnabas.cli.up.options import UpOptions

    log_to_stderr(UpOptions())  # by BARNABAS_LOG_LEVEL and BARNABAS_LOG_FORMAT; else warnings
    cluster = Cluster(bootstrap)
    cluster.check()
    return cluster


def _run(worker: Worker, what: str) -> None:
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {each: signal.signal(each, end) for each in (signal.SIGINT, signal.SIGTERM)}
    watching = threading.Thread(target=_watch, args=(worker, stop), daemon=True)
    try:
        watching.start()
        worker.run(stop, lambda: note(f"{what}, as worker {worker.id}; Ctrl-C ends it"))
    finally:
        stop.set()
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch(worker: Worker, stop: threading.Event) -> None:
    """A line for each connector whose state changes; on a terminal also how much it does."""
    states_told: dict[tuple[str, int], str] = {}
    waited = 0.0
    while not stop.wait(_LOOK_S):
        waited += _LOOK_S
        found = worker.statuses()
        for each in found:
            if states_told.get((each.connector, each.task)) != each.state:
                states_told[each.connector, each.task] = each.state
                if each.state == "running":
                    note(f"{each.connector}: running")
        if waited >= _RATE_S and sys.stderr.isatty():
            waited = 0.0
            for each in found:
                note(_told(each))


def _told(status: TaskStatus) -> str:
    text = f"{status.connector}: {human.count(status.records)} records, {human.rate(status.records_per_s, 1)}"
    if status.dead:
        text += f", {human.plural(status.dead, 'dead letter')}"
    if status.behind_records is not None:
        text += f", {human.plural(status.behind_records, 'record')} behind"
    return paint(quoted(text), "dim", sys.stderr)
