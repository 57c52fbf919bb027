"""The driver's side of a sink: a member of its group that owns partitions and has them written by rounds.

A partition is in one round at a time. A round begins when a partition has something new, with as many others as it
takes for every task of Spark to have its share; the group's offsets move when it has answered.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import msgspec
from confluent_kafka import Consumer, KafkaException, TopicPartition

from barnabas.connect.cluster.connection import Cluster, called
from barnabas.connect.contract import Behind
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import ConnectError, Unavailable
from barnabas.connect.python_functions import allowed_folders
from barnabas.connect.runtime import dead_letters
from barnabas.connect.runtime.handing_out import Place, hand_out
from barnabas.connect.runtime.pauses import Pauses
from barnabas.connect.runtime.progress import Progress
from barnabas.connect.spark import session, settings, sink_round
from barnabas.connect.spark.asked import Begin, SinkAnswer, SinkAsked, raise_again
from barnabas.connect.spark.offsets import Ends, begins_of
from barnabas.connect.spark.session import Round, Spark

log = logging.getLogger("barnabas.connect")

_POLL_S = 0.1
_LOOK_S = 0.2  # how often the ends of the partitions are asked for
_GATHER_S = 60.0  # how long a round is whose writers gather records, at least
_SESSION_MS = 6_000  # as of a worker


@dataclass
class _Owned:
    next_offset: int  # where the next round begins
    committed: int | None = None  # by this member
    end: int = -1
    last_ms: int = 0
    is_new: bool = True  # nobody has asked the target yet
    waits_since: float = field(default_factory=time.monotonic)
    running: Round | None = None
    pauses: Pauses = field(default_factory=Pauses)
    problem: str = ""

    @property
    def is_due(self) -> bool:
        if self.running is not None or not self.pauses.is_over:
            return False
        return self.is_new or bool(self.problem) or self.end > self.next_offset


class SparkSinkTask:
    def __init__(self, cluster: Cluster, definition: Definition, progress: Progress, number: int) -> None:
        self._cluster = cluster
        self._definition = definition
        self._progress = progress
        self._number = number
        self._settings = settings.read(definition.spark)
        self._owned: dict[Place, _Owned] = {}
        self._rounds: dict[Round, list[Place]] = {}
        self._ends = Ends(cluster)
        self._is_stopping = False

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set, or something is raised."""
        definition = self._definition
        definition.sink().close()  # options that cannot be right are said before Spark starts
        dead_letters.ensure(self._cluster, definition)
        spark = session.started()
        consumer = self._cluster.consumer(
            group_id=definition.group,
            auto_offset_reset=definition.start,
            partition_assignment_strategy="cooperative-sticky",
            session_timeout_ms=_SESSION_MS,
            heartbeat_interval_ms=1000,
            queued_max_messages_kbytes=1024,  # the partitions are owned, not read
            topic_metadata_refresh_interval_ms=5000,
        )
        topics = [*definition.topics, definition.redrive_topic]
        try:
            consumer.subscribe(topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)
            self._work(consumer, spark, stop)
        finally:
            self._end(consumer)

    def _end(self, consumer: Consumer) -> None:
        """Rounds first: offsets are committed while the member is in the group as ever."""
        self._is_stopping = True
        try:
            self._end_rounds(list(self._owned))
            self._commit(consumer, list(self._owned), wait=True)
        finally:
            try:
                consumer.close()  # leaves the group; the partitions are revoked first
            except KafkaException as error:
                log.debug("%s", error)

    def _work(self, consumer: Consumer, spark: Spark, stop: threading.Event) -> None:
        look_at = 0.0
        while not stop.is_set():
            hand_out(called(lambda: consumer.consume(1, timeout=_POLL_S)), {})  # nothing comes but what went wrong
            self._note_ended()
            self._commit(consumer, list(self._owned), wait=False)
            now = time.monotonic()
            if now >= look_at:
                self._look()
                look_at = now + _LOOK_S
            self._begin_due(spark)
            self._tell()

    # --- rounds -----------------------------------------------------------------------------------------------------

    def _begin_due(self, spark: Spark) -> None:
        tasks = min(self._definition.tasks, spark.cores)
        due = sorted((place for place, each in self._owned.items() if each.is_due), key=self._waits_since)
        for places in shares(due, len(self._owned), tasks, tasks - len(self._rounds)):
            self._begin(spark, places)

    def _waits_since(self, place: Place) -> float:
        return self._owned[place].waits_since

    def _begin(self, spark: Spark, places: list[Place]) -> None:
        asked = SinkAsked(
            definition=self._definition,
            bootstrap=self._cluster.bootstrap,
            folders=allowed_folders(),
            seconds=self._settings.round_s,
            gather_s=_GATHER_S,
            task=self._number,
            partitions=[Begin(*place, self._owned[place].next_offset) for place in places],
        )
        what = f"{self._definition.name}: {', '.join(f'{topic}-{number}' for topic, number in places[:10])}"
        text = msgspec.json.encode(asked).decode()
        running = spark.round(what, self._settings.round_s, sink_round.run, text)
        self._rounds[running] = places
        for place in places:
            self._owned[place].running = running

    def _note_ended(self) -> None:
        for running in [each for each in self._rounds if each.has_ended]:
            self._note(running)

    def _note(self, running: Round) -> None:
        mine = self._without(running)
        try:
            answer = msgspec.json.decode(running.answer(), type=SinkAnswer)
        except Unavailable as problem:
            for owned in mine.values():
                owned.problem = str(problem)
                owned.pauses.failed()
            if not self._is_stopping:
                session.check()
            return
        self._progress.wrote(answer.records, answer.dead)
        for each in answer.partitions:
            if (found := mine.get((each.topic, each.partition))) is not None:
                _take(found, each.durable, each.last_ms, each.problem)
        if answer.failure is not None and not self._is_stopping:
            raise_again(answer.failure)

    def _without(self, running: Round) -> dict[Place, _Owned]:
        """What it was for and is still ours."""
        places = self._rounds.pop(running)
        mine = {place: owned for place in places if (owned := self._owned.get(place)) and owned.running is running}
        now = time.monotonic()
        for owned in mine.values():
            owned.running, owned.waits_since = None, now
        return mine

    def _look(self) -> None:
        for place, end in self._ends.of(list(self._owned)).items():
            owned = self._owned[place]
            owned.end = end
            records = max(0, end - owned.next_offset)
            seconds = max(0.0, time.time() - owned.last_ms / 1000) if records and owned.last_ms else 0.0
            self._progress.is_behind(f"{place[0]}-{place[1]}", Behind(records, None, round(seconds, 3)))

    def _tell(self) -> None:
        late = session.LATE if any(each.is_late for each in self._rounds) else ""
        problems = [self._ends.problem, late, *(each.problem for each in self._owned.values())]
        problem = next((each for each in problems if each), "")
        self._progress.is_in("waiting" if problem else "running", problem)

    # --- offsets and ownership --------------------------------------------------------------------------------------

    def _commit(self, consumer: Consumer, places: Sequence[Place], *, wait: bool) -> None:
        due = {
            place: owned.next_offset
            for place in places
            if not (owned := self._owned[place]).is_new and owned.next_offset != owned.committed
        }
        if not due:
            return
        offsets = [TopicPartition(*place, offset) for place, offset in due.items()]
        try:
            if wait:
                consumer.commit(offsets=offsets, asynchronous=False)
            else:
                consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            # As of a worker: who comes next writes the same again, which the target takes as done.
            log.info("%s: offsets were not committed: %s", self._definition.name, error.args[0].str())
            return
        for place, offset in due.items():
            self._owned[place].committed = offset

    def _assigned(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        if self._is_stopping:  # a consumer that is being closed gets no answer to what the group has committed
            consumer.incremental_assign(places)
            return
        begins = begins_of(self._cluster, consumer, places, self._definition.start)
        consumer.incremental_assign(places)
        consumer.pause(places)  # they are owned, not read
        for place, offset in begins.items():
            self._owned[place] = _Owned(offset)
        self._works_on()

    def _revoked(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        mine = [place for each in places if (place := (each.topic, each.partition)) in self._owned]
        self._end_rounds(mine)
        self._commit(consumer, mine, wait=True)
        self._forget(mine)
        consumer.incremental_unassign(places)

    def _lost(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        """They belong to another member already."""
        mine = [place for each in places if (place := (each.topic, each.partition)) in self._owned]
        for running in self._rounds_of(mine):
            running.cancel()
            self._without(running)
        self._forget(mine)
        consumer.incremental_unassign(places)

    def _end_rounds(self, places: Collection[Place]) -> None:
        for running in self._rounds_of(places):
            if not running.end():
                self._without(running)  # what it has written is written again, from the last offset
                continue
            try:
                self._note(running)
            except ConnectError as problem:
                log.info("%s: %s", self._definition.name, problem)

    def _rounds_of(self, places: Collection[Place]) -> set[Round]:
        return {running for place in places if (running := self._owned[place].running) is not None}

    def _forget(self, places: Collection[Place]) -> None:
        for place in places:
            del self._owned[place]
        self._works_on()

    def _works_on(self) -> None:
        self._progress.works_on(f"{topic}-{partition}" for topic, partition in self._owned)


def shares(due: Sequence[Place], owned: int, tasks: int, free: int) -> list[list[Place]]:
    """What is due, for the tasks that are free: each gets no more than its part of all that is owned, so that what
    comes later finds a task, too."""
    if free <= 0:
        return []
    chosen = due[: math.ceil(owned / tasks) * free]
    groups = min(free, len(chosen))
    return [list(chosen[number::groups]) for number in range(groups)]


def _take(owned: _Owned, durable: int, last_ms: int, problem: str) -> None:
    owned.problem = problem
    if durable >= 0:
        owned.next_offset = durable
        owned.is_new = False
    owned.last_ms = last_ms or owned.last_ms
    if problem:
        owned.pauses.failed()
    else:
        owned.pauses.succeeded()
        owned.is_new = False
