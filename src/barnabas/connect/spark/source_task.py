"""The driver's side of a source: one partition of NAME.positions, round after round, in the place of SplitReading."""

from __future__ import annotations

import logging
import threading

import msgspec

from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.cluster.positions import Known, transactional_id
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import ConnectError, Unavailable
from barnabas.connect.python_functions import allowed_folders
from barnabas.connect.runtime.producing import abort_left_open
from barnabas.connect.runtime.progress import Progress
from barnabas.connect.runtime.source_task import Ending, SourceTask
from barnabas.connect.spark import session, settings, source_round
from barnabas.connect.spark.asked import SourceAnswer, SourceAsked, raise_again

log = logging.getLogger("barnabas.connect")

_LOOK_S = 0.2
_ABORT_S = 5.0  # a partition that is given back waits for it


class SparkSourceTask(SourceTask):
    def __init__(self, cluster: Cluster, definition: Definition, progress: Progress, number: int) -> None:
        super().__init__(cluster, definition, progress, number, SparkReading)

    def run(self, stop: threading.Event) -> None:
        self._definition.source().close()  # options that cannot be right are said before Spark starts
        session.started()
        super().run(stop)


class SparkReading:
    def __init__(
        self,
        cluster: Cluster,
        definition: Definition,
        progress: Progress,
        numbers: tuple[int, int],  # of the partition, of the task
        wanted: list[str],
    ) -> None:
        self._cluster = cluster
        self._definition = definition
        self._progress = progress
        self._numbers = numbers
        self._seconds = settings.read(definition.spark).round_s
        self._known: Known | None = None
        self.wanted = wanted
        self.problem = ""

    def run(self, ending: Ending) -> None:
        """Until it is set. Raises Fenced, or Unavailable when a round could not be run."""
        while not ending.is_set():
            if not self.wanted:
                ending.wait(_LOOK_S)
                continue
            answer = self._round(ending)
            if answer is None:
                return
            self._progress.wrote(answer.records, answer.dead)
            for split, behind in answer.behind.items():
                self._progress.is_behind(split, behind)
            self.problem = answer.problem
            self._known = answer.known
            raise_again(answer.failure)

    def _round(self, ending: Ending) -> SourceAnswer | None:
        """None: it was cancelled."""
        asked = SourceAsked(
            definition=self._definition,
            bootstrap=self._cluster.bootstrap,
            folders=allowed_folders(),
            seconds=self._seconds,
            task=self._numbers[1],
            partition=self._numbers[0],
            splits=self.wanted,
            known=self._known,
        )
        what = f"{self._definition.name}: splits of {self._definition.positions_topic}-{self._numbers[0]}"
        text = msgspec.json.encode(asked).decode()
        running = session.started().round(what, self._seconds, source_round.run, text)
        while not running.wait(_LOOK_S):
            if ending.is_set() and not running.end():
                self._abort_left_open(ending)
                return None
            if running.is_late:
                self.problem = session.LATE
        try:
            return msgspec.json.decode(running.answer(), type=SourceAnswer)
        except Unavailable:
            self._abort_left_open(ending)
            if ending.is_set():
                return None
            session.check()
            raise

    def _abort_left_open(self, ending: Ending) -> None:
        """A task that was killed leaves its transaction open, and readers of what is committed stand still at it. The
        next round would abort it, but may be long in coming: Spark has to start again, or the connector was stopped."""
        if ending.is_lost:
            return
        try:
            abort_left_open(self._cluster, transactional_id(self._definition, self._numbers[0]), _ABORT_S)
        except ConnectError as problem:  # the next round does it, or the transaction's timeout
            log.debug("%s: %s", self._definition.name, problem)
