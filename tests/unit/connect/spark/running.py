"""Tasks of connectors on Spark, each in a thread of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from confluent_kafka import TopicPartition

from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import ConnectError
from barnabas.connect.runtime.progress import Progress
from barnabas.connect.spark.sink_task import SparkSinkTask
from barnabas.connect.spark.source_task import SparkSourceTask
from barnabas.testing import RunningNode
from tests.support.members import until


class Running:
    """A task in a thread."""

    def __init__(self, node: RunningNode, definition: Definition) -> None:
        kind = SparkSourceTask if definition.side == "source" else SparkSinkTask
        self.progress = Progress(definition.name, "worker", 0)
        self.task = kind(Cluster(node.bootstrap), definition, self.progress, 0)
        self.raised: Exception | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.task.run(self._stop)
        except ConnectError as problem:
            self.raised = problem

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(30)
        assert not self._thread.is_alive()

    def ended(self) -> bool:
        return not self._thread.is_alive()

    def in_its_thread(self, action: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
        """Between two turns of the task, where librdkafka calls it, too."""
        done, tell = threading.Event(), self.task._tell

        def act_and_tell() -> None:
            if not done.is_set():
                action()
                done.set()
            tell()

        monkeypatch.setattr(self.task, "_tell", act_and_tell)
        until(done.is_set, "the task has done it", 30)


@contextmanager
def running(node: RunningNode, definition: Definition) -> Iterator[Running]:
    made = Running(node, definition)
    try:
        yield made
    finally:
        made.stop()


class Member:
    """A consumer, as far as a callback of the group uses it."""

    assigned: Sequence[TopicPartition] = ()
    unassigned: Sequence[TopicPartition] = ()

    def incremental_assign(self, places: list[TopicPartition]) -> None:
        self.assigned = places

    def incremental_unassign(self, places: list[TopicPartition]) -> None:
        self.unassigned = places
