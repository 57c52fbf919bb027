"""The simulated world: one loop, one network, its computers, and everything that happens from one seed.

A world is one cluster. A second one (`beside` it) has the same clock, network and trace, and all else of its own:
computers, clients, history, what is watched.
"""

import gc
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from random import Random
from typing import TYPE_CHECKING, TypeVar

from barnabas.broker import clock
from barnabas.broker.node import Node
from barnabas.core.cluster.image import MetadataImage
from barnabas.sim.bugs.base import note_error
from barnabas.sim.checkers.s1_one_leader import Leaders
from barnabas.sim.checkers.s2_committed_everywhere import CommittedEverywhere
from barnabas.sim.checkers.s2_same_bytes import SameBytes
from barnabas.sim.checkers.s3_watermarks import Watermarks
from barnabas.sim.checkers.s4_vote_on_disk import VotesOnDisk
from barnabas.sim.checkers.s8_work_goes_on import WorkGoesOn
from barnabas.sim.computer import PORT, Computer
from barnabas.sim.health import Health
from barnabas.sim.history import History, Partition
from barnabas.sim.loop import SimLoop
from barnabas.sim.losses import Losses
from barnabas.sim.network import Network
from barnabas.sim.process import Process
from barnabas.sim.trace import Trace
from barnabas.sim.virtual_clock import Complaints, SimTime
from barnabas.storage.files import FILES

if TYPE_CHECKING:
    from barnabas.sim.workloads.base import Workload

T = TypeVar("T")


class World:
    def __init__(
        self,
        seed: int,
        nodes: int = 1,
        settings: Mapping[str, str] | None = None,
        name: str = "node",
        beside: "World | None" = None,
    ) -> None:
        """`name` is what its computers are called, with a number."""
        self.seed = seed
        self.name = name
        if beside is None:
            self.random = Random(seed)
            self.loop = SimLoop(Random(self.random.getrandbits(64)))  # type: ignore[abstract]  # sockets, signals: not here
            self.loop.on_crash = self._crashed
            self.loop.on_error = self._loop_error
            self.trace = Trace(self.loop.time)
            self.network = Network(self.loop, self.trace)
            self.faults: dict[str, int] = {}
            self.by_host: dict[str, Computer] = {}
            self.clusters: list[World] = [self]
        else:
            self.random = Random(beside.random.getrandbits(64))
            self.loop, self.trace, self.network = beside.loop, beside.trace, beside.network
            self.faults, self.by_host, self.clusters = beside.faults, beside.by_host, beside.clusters
            self.clusters.append(self)
        self.subnet = f"10.{len(self.clusters) - 1}"
        self.history = History(self.loop.time)
        self.surprises: list[str] = []  # what no fault explains: an exception nobody expected
        self.corpses: list[tuple[Process, Node | None]] = []
        self.looks: list[Callable[[int], object]] = []  # called at each look inside the nodes, with its number
        self.on_ready: list[Callable[[Computer], object]] = []
        self.workloads: list[Workload] = []
        self.losses = Losses(self)
        self.watermarks = Watermarks(self)
        self.leaders = Leaders(self)
        self.votes = VotesOnDisk(self)
        self.committed = CommittedEverywhere(self)
        self.same_bytes = SameBytes(self)
        self.health = Health(self)
        self.work_goes_on = WorkGoesOn(self)
        self.topics: dict[str, int] = {}  # what the scenario writes to, and how many partitions it has
        self.trimmed: set[str] = set()  # topics with deleted records: a kill may bring some of them back, as in Kafka
        self.min_insync: dict[str, int] = {}  # topic: on how many replicas an acknowledged record has to be
        self.passwords: dict[str, str] = {}  # of users; without any nobody logs in
        self.users: Callable[[str], str] = str  # the user that a client of this name logs in as
        self.excuses = 0  # faults that are on and make errors in the log normal
        self.computers: list[Computer] = []
        voters = ",".join(f"{number}@{self.subnet}.0.{number}:{PORT}" for number in range(1, nodes + 1))
        quorum = {"controller.quorum.voters": voters} if nodes > 1 else {}
        for number in range(1, nodes + 1):
            self.computers.append(Computer(self, number, quorum | dict(settings or {})))
        self.by_host |= {computer.host: computer for computer in self.computers}
        self._time = SimTime(self)
        self._listener = Complaints(self)

    # --- running ----------------------------------------------------------------------------------------------------

    def __enter__(self) -> "World":
        self._clock_before = clock.source
        clock.source = self._time
        self._gc_before = gc.isenabled()
        gc.disable()  # what Python tidies up, and when, must not depend on what ran before
        root = logging.getLogger("barnabas")
        self._log_before = (root.level, root.propagate)
        root.setLevel(logging.WARNING)
        root.propagate = False
        root.addHandler(self._listener)
        self._stop_watching = [each.committed.watch() for each in self.clusters if len(each.computers) > 1]
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.close()
        for stop in reversed(self._stop_watching):
            stop()
        clock.source = self._clock_before
        root = logging.getLogger("barnabas")
        root.removeHandler(self._listener)
        root.level, root.propagate = self._log_before
        FILES._owners.clear()
        for cluster in self.clusters:
            cluster.corpses.clear()
        if self._gc_before:
            gc.enable()

    def run_for(self, seconds: float) -> None:
        end = self.loop.now + seconds
        reached: list[bool] = []
        self.loop.for_process(None, seconds, reached.append, True)
        self.loop.run_until(lambda: bool(reached) or self.loop.now > end)

    def run_until(self, done: Callable[[], bool], limit_seconds: float) -> bool:
        """True when it came to be within the time."""
        late: list[bool] = []
        self.loop.for_process(None, limit_seconds, late.append, True)
        self.loop.run_until(lambda: bool(late) or done())
        return done()

    def inside(self, process: Process | None, look: Callable[[], T]) -> T:
        """What `look` finds when it runs as a callback of that process, now; raises what it raises."""
        looked: Future[T] = Future()

        def run() -> None:
            try:
                looked.set_result(look())
            except Exception as error:  # raised again in the caller
                looked.set_exception(error)

        self.loop.for_process(process, 0.0, run)
        self.run_until(looked.done, 1.0)
        return looked.result(timeout=0)

    # --- what may be lost -------------------------------------------------------------------------------------------

    def may_lose(self, partition: Partition, era: int) -> bool:
        """May something acknowledged in this era be gone now?"""
        return self.losses.may_lose(partition, era)

    def is_damaged(self, partition: Partition) -> bool:
        return partition in self.losses.damaged

    @property
    def all_computers(self) -> "list[Computer]":
        """Of every cluster."""
        return list(self.by_host.values())

    def of_current_process(self) -> "World":
        """The cluster whose node runs just now."""
        current = self.loop.current
        computer = self.by_host.get(current.host) if current is not None else None
        return computer.world if computer is not None else self

    def newest_image(self) -> MetadataImage | None:
        """What the cluster has decided, as the node that knows most has it."""
        images = [computer.node.image for computer in self.computers if computer.node is not None and computer.ready]
        return max(images, key=lambda image: image.offset, default=None)

    # --- what happens to processes ----------------------------------------------------------------------------------

    @property
    def excused(self) -> bool:
        return self.excuses > 0

    def count(self, fault: str) -> None:
        self.faults[fault] = self.faults.get(fault, 0) + 1

    def _crashed(self, process: Process) -> None:
        for computer in self.all_computers:
            if computer.process is process:
                computer.kill("crashed in the middle of a change on disk")

    def node_ready(self, computer: Computer) -> None:
        for told in self.on_ready:
            told(computer)

    def node_would_not_start(self, computer: Computer, error: BaseException) -> None:
        note_error(error)
        self.trace.note(f"{computer.name} would not start: {type(error).__name__}: {error}")
        if not self.excused:
            self.surprises.append(f"{computer.name} would not start: {type(error).__name__}: {error}")

    def _loop_error(self, context: dict[str, object]) -> None:
        error = context.get("exception")
        assert error is None or isinstance(error, BaseException)
        note_error(error)
        text = f"{context.get('message')}: {type(error).__name__}: {error}"
        self.trace.note(f"loop: {type(error).__name__}: {error}")
        cluster = self.of_current_process()
        if not cluster.excused:
            cluster.surprises.append(text)
