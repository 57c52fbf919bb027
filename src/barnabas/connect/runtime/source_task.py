"""A member of a source's group: the splits of the partitions of NAME.positions that it owns, each partition with a
thread and a transactional producer of its own (cluster/positions.py says why that is enough for exactly once)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeAlias

from confluent_kafka import Consumer, TopicPartition

from barnabas.connect.cluster import positions
from barnabas.connect.cluster.batches import Fenced
from barnabas.connect.cluster.connection import Cluster, called
from barnabas.connect.contract import Source
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import BadOption, ConnectError, Unavailable
from barnabas.connect.runtime import dead_letters
from barnabas.connect.runtime.partition_writing import Stopped
from barnabas.connect.runtime.pauses import Pauses
from barnabas.connect.runtime.progress import Progress
from barnabas.connect.runtime.split_reading import SplitReading

log = logging.getLogger("barnabas.connect")

_POLL_S = 0.2
_SPLITS_S = 5.0
_SESSION_MS = 6_000  # as of a sink


class Ending(threading.Event):
    """Set when a partition of NAME.positions is to be let go."""

    is_lost = False  # the group has given it to somebody else, who has taken its transactional id over


class Reading(Protocol):
    """Reads the splits of one partition of NAME.positions: in this process, or by rounds on Spark."""

    wanted: list[str]

    @property
    def problem(self) -> str: ...

    def run(self, ending: Ending) -> None: ...


MakeReading: TypeAlias = Callable[[Cluster, Definition, Progress, tuple[int, int], list[str]], Reading]


class SourceTask:
    def __init__(
        self,
        cluster: Cluster,
        definition: Definition,
        progress: Progress,
        number: int,
        reading: MakeReading = SplitReading,
    ) -> None:
        self._cluster = cluster
        self._definition = definition
        self._progress = progress
        self._number = number
        self._reading = reading
        self._partition_count = 0
        self._owned: dict[int, _Owned] = {}

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set, or something is raised."""
        definition = self._definition
        source = definition.source()
        dead_letters.ensure(self._cluster, definition)
        self._partition_count = positions.ensure(self._cluster, definition)
        consumer = self._cluster.consumer(
            group_id=definition.group,
            auto_offset_reset="latest",
            partition_assignment_strategy="cooperative-sticky",
            session_timeout_ms=_SESSION_MS,
            heartbeat_interval_ms=1000,
            queued_max_messages_kbytes=1024,  # the topic is owned, not read
        )
        try:
            consumer.subscribe(
                [definition.positions_topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
            )
            self._work(consumer, source, stop)
        finally:
            self._release(list(self._owned))
            consumer.close()
            source.close()

    def _work(self, consumer: Consumer, source: Source, stop: threading.Event) -> None:
        splits_at = 0.0
        while not stop.is_set():
            called(lambda: consumer.poll(_POLL_S if self._owned else 0.05))
            now = time.monotonic()
            if self._owned and (now >= splits_at or any(each.is_new for each in self._owned.values())):
                self._share(list(source.splits()))
                splits_at = now + _SPLITS_S
            if any(each.fenced for each in self._owned.values()):
                raise Unavailable("another worker has taken over")  # the group says who has what: join it again
            if (failure := next((each.failure for each in self._owned.values() if each.failure), None)) is not None:
                raise failure
            self._tell()

    def _share(self, splits: list[str]) -> None:
        shares: dict[int, list[str]] = {partition: [] for partition in self._owned}
        for split in splits:
            partition = positions.partition_of(split, self._partition_count)
            if partition in shares:
                shares[partition].append(split)
        for partition, share in shares.items():
            self._owned[partition].take(share)
        self._progress.works_on(split for share in shares.values() for split in share)

    def _tell(self) -> None:
        problem = next((each.problem for each in self._owned.values() if each.problem), "")
        if problem:
            self._progress.is_in("waiting", problem)
        else:
            self._progress.is_in("running")

    # --- ownership --------------------------------------------------------------------------------------------------

    def _assigned(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        consumer.incremental_assign(places)
        consumer.pause(places)  # it is owned, not read
        for each in places:
            self._owned[each.partition] = _Owned(
                self._cluster, self._definition, self._progress, (each.partition, self._number), self._reading
            )

    def _revoked(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        self._release([each.partition for each in places])
        consumer.incremental_unassign(places)

    def _lost(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        for each in places:
            if (owned := self._owned.get(each.partition)) is not None:
                owned.ending.is_lost = True
        self._release([each.partition for each in places])
        consumer.incremental_unassign(places)

    def _release(self, partitions: list[int]) -> None:
        """What is in a transaction is committed first: a former owner is fenced, so there is no harm in trying."""
        found = [owned for each in partitions if (owned := self._owned.pop(each, None)) is not None]
        for each in found:
            each.ending.set()
        for each in found:
            each.stop()


class _Owned:
    """A partition of NAME.positions that is ours: a thread once it has splits."""

    def __init__(
        self,
        cluster: Cluster,
        definition: Definition,
        progress: Progress,
        numbers: tuple[int, int],  # of the partition, of the task
        make: MakeReading,
    ) -> None:
        self._cluster = cluster
        self._definition = definition
        self._progress = progress
        self._numbers = numbers
        self._make = make
        self._splits: list[str] = []
        self._thread: threading.Thread | None = None
        self._reading: Reading | None = None
        self._pauses = Pauses()
        self._own_problem = ""
        self.ending = Ending()
        self.is_new = True
        self.fenced = False
        self.failure: ConnectError | None = None

    @property
    def problem(self) -> str:
        reading = self._reading
        return self._own_problem or (reading.problem if reading is not None else "")

    def take(self, splits: list[str]) -> None:
        self.is_new = False
        self._splits = splits
        if self._reading is not None:
            self._reading.wanted = splits
        if splits and self._thread is None and not self.ending.is_set():
            name = f"{self._definition.name}-{self._numbers[0]}"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self.ending.is_set():
            try:
                reading = self._make(self._cluster, self._definition, self._progress, self._numbers, self._splits)
                self._reading = reading
                self._own_problem = ""
                reading.run(self.ending)
            except Fenced:
                self.fenced = True
                return
            except (BadOption, Stopped) as problem:
                self.failure = problem
                return
            except ConnectError as problem:
                self._wait(str(problem))
            except Exception as problem:  # a defect, ours or of a connector: said, and tried again like any failure
                log.exception("%s failed", self._definition.name)
                self._wait(f"{type(problem).__name__}: {problem}")
            else:
                self._pauses.succeeded()

    def _wait(self, problem: str) -> None:
        self._own_problem = problem
        self.ending.wait(self._pauses.failed())

    def stop(self) -> None:
        self.ending.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
