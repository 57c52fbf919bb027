"""A worker: runs the connectors that the cluster's definitions ask for, and tells how they are.

Several workers share the work: those of one connector are the members of its group, whoever they are. A connector that
fails is tried again with growing pauses, for ever; only a definition that cannot work waits for somebody to change it.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import msgspec
from confluent_kafka import KafkaException, Producer

from barnabas.connect.cluster import definitions, status
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.cluster.definitions import Entry, Followed
from barnabas.connect.definition.definition import Definition, Engine
from barnabas.connect.errors import BadOption, ConnectError
from barnabas.connect.runtime.partition_writing import Stopped
from barnabas.connect.runtime.pauses import Pauses
from barnabas.connect.runtime.progress import Progress
from barnabas.connect.runtime.sink_task import SinkTask
from barnabas.connect.runtime.source_task import SourceTask

log = logging.getLogger("barnabas.connect")
_STOP_S = 20.0
# Where no node answers, nothing that a task still waits for will come: its commits would take up to half a minute. What
# it had not committed is done again by whoever comes next.
_STOP_WITHOUT_CLUSTER_S = 2.0
_REACH_S = 1.0
_UNTELL_S = 5.0


class Worker:
    def __init__(self, cluster: Cluster, names: Mapping[str, Engine] | None = None, engine: Engine = "process") -> None:
        """`names`: only these, each on an engine; None: all of `engine` that are not run from a file. A connector
        whose definition names another engine since is let go: whoever runs it there goes on."""
        self._cluster = cluster
        self._names = names
        self._engine = engine
        self.id = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:4]}"
        self._running: dict[str, _Connector] = {}
        self._told: set[bytes] = set()
        self._producer: Producer | None = None

    def run(self, stop: threading.Event, ready: Callable[[], None] = lambda: None) -> None:
        definitions.ensure(self._cluster)
        status.ensure(self._cluster)
        self._producer = self._cluster.producer(linger_ms=5)
        followed = Followed(self._cluster)
        tell_at = 0.0
        try:
            while not stop.is_set():
                followed.poll(0.1)
                if not followed.is_loaded:
                    continue
                self._reconcile(followed.entries)
                ready()
                ready = lambda: None  # noqa: E731  # once
                if time.monotonic() >= tell_at:
                    self._tell()
                    tell_at = time.monotonic() + status.TELL_S
        finally:
            for each in self._running.values():
                each.stopping.set()
            is_up = self._is_cluster_up()
            self._stop(list(self._running), _STOP_S if is_up else _STOP_WITHOUT_CLUSTER_S)
            self._untell(_UNTELL_S if is_up else 0.0)
            if is_up:
                followed.close()

    # --- what is to run ---------------------------------------------------------------------------------------------

    def _reconcile(self, entries: dict[str, Entry]) -> None:
        wanted = {name: entry for name, entry in entries.items() if self._is_mine(name, entry)}
        gone = [
            name for name, running in self._running.items() if name not in wanted or not running.is_of(wanted[name])
        ]
        self._stop(gone)
        for name, entry in wanted.items():
            if name not in self._running:
                self._running[name] = _Connector(self._cluster, entry, self.id)

    def _is_mine(self, name: str, entry: Entry) -> bool:
        if entry.state != "running":
            return False
        if self._names is not None:
            return self._names.get(name) == entry.definition.engine
        return not entry.from_file and self._engine == entry.definition.engine

    def _stop(self, names: Iterable[str], within_s: float = _STOP_S) -> None:
        ending = [running for name in names if (running := self._running.pop(name, None)) is not None]
        for each in ending:
            each.stopping.set()
        deadline = time.monotonic() + within_s
        for each in ending:
            each.join(deadline)

    def _is_cluster_up(self) -> bool:
        try:
            self._cluster.check(_REACH_S)
        except ConnectError as problem:
            log.info("stopping without the cluster: %s", problem)
            return False
        return True

    # --- telling ----------------------------------------------------------------------------------------------------

    @property
    def problems(self) -> list[str]:
        """One line for each task that waits or has failed."""
        return [
            f"{told.connector}: {told.problem}"
            for running in self._running.values()
            for told in running.told()
            if told.problem
        ]

    def statuses(self) -> list[status.TaskStatus]:
        return [told for running in self._running.values() for told in running.told()]

    def _tell(self) -> None:
        assert self._producer is not None
        current = {status.key_of(told): msgspec.json.encode(told) for told in self.statuses()}
        self._send({**current, **dict.fromkeys(self._told - set(current))})
        self._told = set(current)

    def _untell(self, within_s: float) -> None:
        if self._producer is not None:
            self._send(dict.fromkeys(self._told))
            self._producer.flush(within_s)

    def _send(self, rows: dict[bytes, bytes | None]) -> None:
        assert self._producer is not None
        for key, value in rows.items():
            try:
                self._producer.produce(status.STATUS_TOPIC, key=key, value=value, partition=0)
            except (BufferError, KafkaException) as problem:
                log.debug("status: %s", problem)  # the next one says the same and more
        self._producer.poll(0)


class _Connector:
    """One connector on this worker: its tasks, each with a thread."""

    def __init__(self, cluster: Cluster, entry: Entry, worker: str) -> None:
        self._entry = entry
        self.stopping = threading.Event()
        definition = entry.definition
        is_many = definition.side == "sink" and definition.engine == "process"
        tasks = definition.tasks if is_many else 1
        self._progresses = [Progress(definition.name, worker, number) for number in range(tasks)]
        self._threads = [
            threading.Thread(
                target=self._run,
                args=(cluster, definition, each, number),
                name=f"{definition.name}-task-{number}",
                daemon=True,
            )
            for number, each in enumerate(self._progresses)
        ]
        for thread in self._threads:
            thread.start()

    def is_of(self, entry: Entry) -> bool:
        return (entry.definition, entry.restarts) == (self._entry.definition, self._entry.restarts)

    def _run(self, cluster: Cluster, definition: Definition, progress: Progress, number: int) -> None:
        pauses = Pauses()
        while not self.stopping.is_set():
            began = time.monotonic()
            try:
                _task(cluster, definition, progress, number).run(self.stopping)
            except (BadOption, Stopped) as problem:
                progress.is_in("failed", str(problem))
                self.stopping.wait()
            except ConnectError as problem:
                progress.is_in("waiting", str(problem))
                self._wait(pauses, began)
            except Exception as problem:  # a defect, ours or of a connector: said, and tried again like any failure
                log.exception("%s failed", definition.name)
                progress.is_in("waiting", f"{type(problem).__name__}: {problem}")
                self._wait(pauses, began)
        progress.is_in("stopped")

    def _wait(self, pauses: Pauses, began: float) -> None:
        if time.monotonic() - began > 60:
            pauses.succeeded()  # it has worked meanwhile
        self.stopping.wait(pauses.failed())

    def told(self) -> list[status.TaskStatus]:
        return [each.told() for each in self._progresses]

    def join(self, deadline: float) -> None:
        for thread in self._threads:
            thread.join(max(0.1, deadline - time.monotonic()))


class Task(Protocol):
    def run(self, stop: threading.Event) -> None: ...


def _task(cluster: Cluster, definition: Definition, progress: Progress, number: int) -> Task:
    kind: Callable[[Cluster, Definition, Progress, int], Task]
    if definition.engine == "spark":
        from barnabas.connect.spark.sink_task import SparkSinkTask
        from barnabas.connect.spark.source_task import SparkSourceTask

        kind = SparkSinkTask if definition.side == "sink" else SparkSourceTask
    else:
        kind = SinkTask if definition.side == "sink" else SourceTask
    return kind(cluster, definition, progress, number)
