"""Memory for half-sent requests: who waits, who goes on, who is closed."""

from __future__ import annotations

import asyncio

import pytest

from barnabas.broker.network import request_memory
from barnabas.broker.network.request_memory import RequestMemory


class Client:
    """A connection whose frame grows by doubling, as far as it may."""

    def __init__(self, memory: RequestMemory, name: str) -> None:
        self.memory, self.client_host = memory, name
        self.held_bytes = 0
        self.last_active = self.frame_begun = asyncio.get_running_loop().time()
        self.waits_for_answer = False
        self.waiting = self.closed = False
        self.wanted = 0

    def send(self, size: int) -> None:
        self.memory.begun(self)
        self.wanted = size
        self.last_active = asyncio.get_running_loop().time()
        self.grow()

    def grow(self) -> None:
        self.waiting = not self.closed and not self.memory.may_grow(self, self.wanted - self.held_bytes)
        if not self.waiting and not self.closed:
            self.memory.changed(self.wanted - self.held_bytes)
            self.held_bytes = self.wanted

    def whole(self) -> None:
        self.wanted = 0
        self.memory.ended(self)

    def release_buffer(self) -> None:
        size, self.held_bytes = self.held_bytes, 0
        self.memory.changed(-size)

    def abort(self) -> None:
        self.closed = True


async def turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_whoever_comes_last_waits_and_goes_on_when_there_is_room() -> None:
    async def run() -> None:
        memory = RequestMemory(100)
        a, b, c = (Client(memory, name) for name in "abc")
        a.send(60)
        b.send(30)
        c.send(30)
        assert (a.waiting, b.waiting, c.waiting) == (False, False, True)
        b.send(50)
        assert b.waiting
        a.send(150)
        assert not a.waiting  # the frame begun first goes on, beyond the limit
        assert memory.used_bytes == 180
        a.whole()
        await turn()
        assert (b.waiting, c.waiting, memory.used_bytes) == (False, False, 80)
        memory.close()

    asyncio.run(run())


def test_empty_buffers_are_given_back_before_anybody_waits() -> None:
    async def run() -> None:
        memory = RequestMemory(100)
        a, b, c = (Client(memory, name) for name in "abc")
        a.send(10)
        b.send(80)
        b.whole()
        assert memory.used_bytes == 90  # kept for its next request
        c.send(50)
        assert not c.waiting and memory.used_bytes == 60

    asyncio.run(run())


def test_a_request_counts_until_it_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_memory, "_LOOK_SECONDS", 0.01)

    async def run() -> None:
        memory = RequestMemory(100)
        working, oldest, late = (Client(memory, name) for name in ("working", "oldest", "late"))
        working.send(80)
        working.waits_for_answer = True
        working.whole()
        oldest.send(30)
        late.send(5)
        assert (oldest.waiting, late.waiting, memory.used_bytes) == (True, False, 85)
        late.send(50)
        working.waits_for_answer = False
        async with asyncio.timeout(5):
            while oldest.waiting or late.waiting:
                await asyncio.sleep(0.005)
        assert (memory.used_bytes, oldest.closed, late.closed) == (80, False, False)
        memory.close()

    asyncio.run(run())


def test_who_holds_memory_and_sends_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_memory, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(request_memory, "REQUEST_STALLED_SECONDS", 0.05)

    async def run() -> None:
        memory = RequestMemory(100)
        idle, good = Client(memory, "idle"), Client(memory, "good")
        idle.send(90)
        await asyncio.sleep(0.1)
        assert not idle.closed  # nobody waits for it
        good.send(50)
        assert good.waiting
        async with asyncio.timeout(5):
            while good.waiting:
                await asyncio.sleep(0.005)
        assert idle.closed and memory.closed_connections == 1
        memory.close()

    asyncio.run(run())


def test_twice_the_limit_is_never_held() -> None:
    async def run() -> None:
        memory = RequestMemory(100)
        clients = [Client(memory, str(number)) for number in range(30)]
        for client in clients:  # requests behind one that is being answered: nobody asks whether they may
            client.held_bytes = 10
            memory.changed(10)
            memory.begun(client)
        assert memory.used_bytes <= 210
        assert memory.closed_connections == sum(client.closed for client in clients) == 10

    asyncio.run(run())
