"""A simulated computer: an address, a disk that outlives its processes, a wall clock, and a node that runs on it.

The node is the real one (broker/node.py); only the platform it stands on is simulated.
"""

import asyncio
import base64
import ssl
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from barnabas.broker.node import Node
from barnabas.broker.platform import Platform
from barnabas.broker.settings.sources import load_settings
from barnabas.core.cluster.image import MetadataImage
from barnabas.sim.disk import Platter, SimDisk
from barnabas.sim.history import Partition
from barnabas.sim.loop import SimThreads
from barnabas.sim.network import SimSocket
from barnabas.sim.platter import File, Folder
from barnabas.sim.process import Process
from barnabas.storage.files import FILES

if TYPE_CHECKING:
    from barnabas.sim.world import World

PORT = 9092
_EPOCH_SECONDS = 1_700_000_000.0  # when a simulated world begins, as wall clocks have it


class SimGround(Platform):
    writes_status = False  # nobody looks into the folder; problems are in node.health
    imports_ahead = False  # all nodes are one process here
    watches_loop = False  # time stands still while a callback runs

    def __init__(self, computer: "Computer", process: Process) -> None:
        self._computer = computer
        self._random = computer.random
        self.disk = SimDisk(computer.platter, process, lambda: int(computer.wall_seconds() * 1000))

    def threads(self, count: int, name: str) -> Executor:
        computer = self._computer
        if name == "start":  # nothing else of the node runs meanwhile, so how long it takes makes no difference
            return SimThreads(computer.world.loop, lambda: 0.0)
        return SimThreads(computer.world.loop, computer.flush_seconds if name == "flush" else computer.read_seconds)

    def random(self) -> Random:
        return Random(self._random.getrandbits(64))

    def new_uuid(self) -> bytes:
        while True:
            value = self._random.randbytes(16)
            if not base64.urlsafe_b64encode(value).startswith(b"-"):
                return value

    def listen(self, host: str, port: int) -> SimSocket:  # type: ignore[override]  # SimLoop.create_server takes it
        return self._computer.world.network.listen(host, port)

    async def connect(
        self, make: Callable[[], asyncio.BaseProtocol], host: str, port: int, tls: ssl.SSLContext | None
    ) -> asyncio.BaseTransport:
        assert tls is None, "the simulated network has no TLS"
        computer = self._computer
        return await computer.world.network.connect(make, computer.host, host, port)

    def hostname(self) -> str:
        return self._computer.host

    def memory_bytes(self) -> int:
        return 4 << 30

    def boot_id(self) -> str:
        return f"boot {self._computer.power_losses}"


class Computer:
    def __init__(self, world: "World", number: int, settings: Mapping[str, str]) -> None:
        self.world = world
        self.number = number
        self.name = f"{world.name}{number}"
        self.host = f"{world.subnet}.0.{number}"
        self.random = Random(world.random.getrandbits(64))
        self.platter = Platter(Random(world.random.getrandbits(64)))
        self.process: Process | None = None
        self.node: Node | None = None
        self.ready = False
        self.is_stopping = False
        self.power_losses = 0
        self.lives = 0
        self.disks = 1
        self._last_broker_epoch = -1
        self.flips: list[tuple[Partition, str, int]] = []  # partition, segment, position of every flipped bit
        self.wall_offset_seconds = 0.0
        self.slow_sync_seconds = 0.0
        self._settings = {"listeners": f"PLAINTEXT://{self.host}:{PORT}", "node.id": str(number)} | dict(settings)
        self._settings |= {"broker.rack": f"rack{number}"} if "controller.quorum.voters" in settings else {}
        self.data_dir = Path("/data")

    @property
    def is_up(self) -> bool:
        return self.process is not None

    def wall_seconds(self) -> float:
        return _EPOCH_SECONDS + self.world.loop.now + self.wall_offset_seconds

    def read_seconds(self) -> float:
        return self.random.random() * 0.001

    def flush_seconds(self) -> float:
        """Half of what an fsync takes: before it is done, and until its thread is heard of."""
        return 0.0002 + self.random.random() * 0.004 + self.slow_sync_seconds * self.random.random()

    @property
    def last_broker_epoch(self) -> int:
        """Of the registration it serves by, or served by last."""
        self._last_broker_epoch = getattr(self.node, "broker_epoch", self._last_broker_epoch)
        return self._last_broker_epoch

    def flipped_in(self, partition: Partition, segment: str, start: int, end: int) -> bool:
        return any(flip[:2] == (partition, segment) and start <= flip[2] < end for flip in self.flips)

    # --- life -------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        assert self.process is None
        self.lives += 1
        self.process = Process(f"{self.name}#{self.lives}", self.host, is_node=True)
        self.ready = False
        self.world.trace.note(f"{self.process.name} starts")
        self.world.loop.spawn(self.process, self._main(self.process))

    async def _main(self, process: Process) -> None:
        node = Node(load_settings(flags=self._settings, environ={}).settings, self.data_dir, SimGround(self, process))
        process.keepsakes.append(node)
        self.node = node
        node._publish = partial(self._published, node._publish)  # type: ignore[method-assign]
        try:
            await node.start()
        except (Exception, asyncio.CancelledError) as error:
            self.world.node_would_not_start(self, error)
            self.world.loop.for_process(None, 0.0, self.exited, process)
            return
        self.ready = True
        self.world.trace.note(f"{process.name} is ready")
        self.world.node_ready(self)
        await node.stopped.wait()
        try:
            await node.stop()
        except (Exception, asyncio.CancelledError) as error:
            self.world.trace.note(f"{process.name} could not stop cleanly: {error!r}")
            if not self.world.excused:
                self.world.surprises.append(f"{process.name} could not stop cleanly: {error!r}")
        self.world.loop.for_process(None, 0.0, self.exited, process)

    def _published(self, publish: Callable[[MetadataImage], None], image: MetadataImage) -> None:
        old = getattr(self.node, "image", MetadataImage())
        publish(image)
        self.world.leaders.published(self, old, image)

    def exited(self, process: Process) -> None:
        """The process ended by itself: a clean stop, a fatal error, or a start that failed."""
        if self.process is process:
            failure = self.node.failure if self.node is not None else None
            self.world.trace.note(f"{process.name} ended{f': {failure}' if failure is not None else ''}")
            self._end(silently=False)

    def stop(self) -> None:
        """Ask it to stop, as SIGTERM does."""
        if self.process is not None and self.node is not None and self.ready:
            self.world.trace.note(f"{self.process.name} is asked to stop")
            self.is_stopping = True
            self.world.loop.for_process(self.process, 0.0, self.node.stopped.set)

    def kill(self, why: str = "kill -9") -> None:
        if self.process is not None:
            self.world.trace.note(f"{self.process.name} {why}")
            self._end(silently=False)

    def lose_power(self) -> None:
        if self.process is not None:
            self.world.trace.note(f"{self.process.name} loses power")
            self._end(silently=True)
        self.power_losses += 1
        self.platter.lose_power()
        self.world.losses.struck(self)

    def lose_disk(self) -> None:
        """A new, empty disk where the old one was."""
        assert self.process is None
        self.world.trace.note(f"{self.name} gets an empty disk")
        self.platter.root = Folder()
        self.disks += 1
        self.flips.clear()
        self.world.losses.struck(self)

    def _end(self, *, silently: bool) -> None:
        process = self.process
        assert process is not None
        _ = self.last_broker_epoch  # to be remembered
        self.world.committed.ends(self)
        self.world.loop.kill(process)
        self.world.network.process_died(process, silently=silently)
        self.world.corpses.append((process, self.node))
        self.process, self.node, self.ready, self.is_stopping = None, None, False, False
        self.platter.open_files = 0
        for file in self.platter.root.live.values():
            _unlock(file)
        for owner in list(FILES._owners):  # the pool belongs to the real process, which all nodes share here
            disk = getattr(owner, "_disk", None)
            if isinstance(disk, SimDisk) and disk.belongs_to(process):
                del FILES._owners[owner]

    def pause(self) -> None:
        if self.process is not None:
            self.world.trace.note(f"{self.process.name} is paused")
            self.process.paused = True

    def resume(self) -> None:
        if self.process is not None and self.process.paused:
            self.world.trace.note(f"{self.process.name} goes on")
            self.world.loop.resume(self.process)


def _unlock(what: File | Folder) -> None:
    if isinstance(what, File):
        what.locked_by = None
    else:
        for inner in what.live.values():
            _unlock(inner)
