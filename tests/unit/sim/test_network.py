"""The simulated network between hosts: what is blocked waits, what is cut is lost, and who blocks counts."""

import asyncio
from random import Random

from barnabas.sim.loop import SimLoop
from barnabas.sim.network import End, Network
from barnabas.sim.process import Process
from barnabas.sim.trace import Trace


class Ear(asyncio.Protocol):
    def __init__(self) -> None:
        self.heard = b""
        self.lost: list[Exception | None] = []

    def data_received(self, data: bytes) -> None:
        self.heard += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.append(exc)


class Stage:
    """Host a listens, host b is connected to it."""

    def __init__(self) -> None:
        self.loop = SimLoop(Random(1))  # type: ignore[abstract]
        self.network = Network(self.loop, Trace(self.loop.time))
        self.server, self.client = Process("server", "a"), Process("client", "b")
        self.ear, self.own = Ear(), Ear()
        self.loop.spawn(self.server, self._listen())
        self.wait(0.1)
        self.task = self.loop.spawn(self.client, self.network.connect(lambda: self.own, "b", "a", 1))
        self.wait(1)

    async def _listen(self) -> None:
        self.network.listen("a", 1).serve(lambda: self.ear)

    @property
    def end(self) -> End:
        end: End = self.task.result()
        return end

    def wait(self, seconds: float) -> None:
        over: list[int] = []
        self.loop.for_process(None, seconds, over.append, 1)
        self.loop.run_until(lambda: bool(over))


def test_a_blocked_way_holds_what_is_sent_until_every_fault_is_over() -> None:
    stage = Stage()
    stage.network.block([("b", "a")])
    stage.network.block([("b", "a"), ("a", "b")])
    stage.end.write(b"one")
    stage.wait(100)
    assert stage.ear.heard == b""
    stage.network.unblock([("b", "a"), ("a", "b")])
    stage.wait(1)
    assert stage.ear.heard == b""
    stage.network.unblock([("b", "a")])
    stage.wait(1)
    assert stage.ear.heard == b"one"


def test_one_way_may_be_closed_alone() -> None:
    stage = Stage()
    stage.network.block([("a", "b")])
    stage.end.write(b"there")
    stage.wait(1)
    assert stage.ear.heard == b"there"
    stage.end.peer.write(b"and back")
    stage.wait(1)
    assert stage.own.heard == b""
    stage.network.heal()
    stage.wait(1)
    assert stage.own.heard == b"and back"


def test_nobody_is_told_of_a_power_loss_until_the_host_is_back() -> None:
    stage = Stage()
    stage.loop.kill(stage.server)
    stage.network.process_died(stage.server, silently=True)
    stage.end.write(b"anybody?")
    stage.wait(60)
    assert stage.own.lost == []
    stage.server = Process("server again", "a")
    stage.loop.spawn(stage.server, stage._listen())
    stage.wait(1)
    stage.end.write(b"anybody?")
    stage.wait(1)
    assert len(stage.own.lost) == 1 and isinstance(stage.own.lost[0], ConnectionResetError)


def test_a_killed_process_is_heard_of_at_once() -> None:
    stage = Stage()
    stage.loop.kill(stage.server)
    stage.network.process_died(stage.server, silently=False)
    stage.wait(0.01)
    assert len(stage.own.lost) == 1
