"""The wires between the nodes of a cluster, to be cut: the others are told a door of this process for each node, which
carries the bytes on.

Who connects is read from the client id of its first request, or, under TLS, from whose process has the socket. Who is
no node of the cluster (a link of another one) comes from OUTSIDE. A cut wire loses nothing and says nothing, as a
network does: bytes, ends and resets wait until it is healed, and nobody gets a new connection through, in either
direction, while one of the two is closed.

A wire has a latency (`delays`, one way): bytes arrive so much later, however many follow them. Where it loses packets
(`loss`), what TCP would send again comes later by `RETRANSMIT_SECONDS`, and everything behind it waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

_UP_TO_CLIENT_ID = 14  # size, API key, version, correlation id, length of the client id
RETRANSMIT_SECONDS = 0.2  # Linux waits so long at least
_ON_THE_WAY_MAX_BYTES = 32 << 20  # of one direction of a connection, as a TCP window bounds it
OUTSIDE = 0
Wire = tuple[int, int]  # from a node to a node


class Links:
    def __init__(
        self,
        doors: Mapping[int, int],
        behind: Mapping[int, int],
        pids: Callable[[], Mapping[int, int]] | None = None,
    ) -> None:
        """`doors`: the port of each node that others are told; `behind`: the one it listens on. `pids`: the number of
        each node by its process, where TLS hides the first request."""
        self._pids = pids
        self.doors, self.behind = dict(doors), dict(behind)
        self.delay_seconds = 0.0  # of every wire
        self.delays: dict[Wire, float] = {}  # of single ones, in addition
        self.loss = 0.0  # of every wire: the share of reads of up to 64 KiB that have to be sent again
        self._rng = random.Random(7)
        self._gates: dict[Wire, asyncio.Event] = {}
        self._writers: set[asyncio.StreamWriter] = set()
        self._carrying: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    # --- life ---------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)

    def stop(self) -> None:
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)
        self._loop.close()

    async def _listen(self) -> None:
        everybody = (OUTSIDE, *self.doors)
        for wire in product(everybody, everybody):
            self._gates[wire] = asyncio.Event()
            self._gates[wire].set()
        self._servers: dict[int, asyncio.Server] = {}
        await self._open(self.doors)

    async def _open(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            if number not in self._servers:
                self._servers[number] = await asyncio.start_server(self._to(number), "127.0.0.1", self.doors[number])

    async def _end(self) -> None:
        for server in self._servers.values():
            server.close()
        for task in self._carrying:
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()

    # --- what a test does ---------------------------------------------------------------------------------------------

    def close(self, *wires: Wire) -> None:
        """These directions carry nothing from now on."""
        self._do(lambda: [self._gates[wire].clear() for wire in wires])

    def cut(self, some: Iterable[int], others: Iterable[int]) -> None:
        """Nothing goes between these and those."""
        between = list(product(some, others))
        self.close(*between, *((there, here) for here, there in between))

    def cut_off(self, number: int) -> None:
        self.cut([number], [each for each in self.doors if each != number])

    def refuse(self, numbers: Iterable[int]) -> None:
        """The processes of these nodes are gone, and connections to them refused, as by the machine they were on."""
        self._do(lambda: [self._servers.pop(number).close() for number in numbers if number in self._servers])

    def accept(self, numbers: Iterable[int]) -> None:
        asyncio.run_coroutine_threadsafe(self._open(numbers), self._loop).result(10)

    def reset(self) -> None:
        """Every connection between nodes ends at once."""
        self._do(lambda: [writer.transport.abort() for writer in list(self._writers)])

    def delay(self, groups: Iterable[Iterable[int]], seconds: float) -> None:
        """Between nodes of different groups, one way."""
        known = [frozenset(group) for group in groups]
        pairs = product(self.doors, self.doors)
        self.delays = {wire: seconds for wire in pairs if not any(set(wire) <= group for group in known)}

    def heal(self) -> None:
        """Whole again; latencies and losses of single wires belong to the place, and stay."""
        self.delay_seconds = 0.0
        self._do(lambda: [gate.set() for gate in self._gates.values()])

    def _do(self, act: Callable[[], object]) -> None:
        async def inside() -> None:
            act()

        asyncio.run_coroutine_threadsafe(inside(), self._loop).result(10)

    # --- carrying -----------------------------------------------------------------------------------------------------

    def _to(self, target: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]:
        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._carrying.add(task)
            self._writers.add(writer)
            try:
                await self._connect(target, reader, writer)
            except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                self._carrying.discard(task)
                self._writers.discard(writer)
                writer.transport.abort()

        return accepted

    async def _connect(self, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = client_id = b""
        if self._pids is None:
            first = await reader.readexactly(_UP_TO_CLIENT_ID)
            client_id = await reader.readexactly(int.from_bytes(first[-2:], "big"))
            source = int(client_id.removeprefix(b"node-")) if client_id.startswith(b"node-") else OUTSIDE
        else:
            source = _owner(writer.get_extra_info("peername")[1], self._pids())
        await self._gates[source, target].wait()
        await self._gates[target, source].wait()
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.behind[target])
        self._writers.add(far_writer)
        try:
            far_writer.write(first + client_id)
            await asyncio.gather(
                self._carry((source, target), reader, far_writer), self._carry((target, source), far_reader, writer)
            )
        finally:
            self._writers.discard(far_writer)
            far_writer.transport.abort()

    async def _carry(self, wire: Wire, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until this side ends, which the other side hears of when the wire lets it."""
        on_the_way = _OnTheWay()
        delivering = asyncio.ensure_future(self._deliver(wire, on_the_way, writer))
        try:
            data, due = b"?", 0.0
            while data:
                try:
                    data = await reader.read(1 << 16)
                except OSError:
                    data = b""
                later = self.delay_seconds + self.delays.get(wire, 0.0)
                if self.loss and self._rng.random() < self.loss:
                    later += RETRANSMIT_SECONDS
                due = max(due, self._loop.time() + later)  # in order
                await on_the_way.put(due, data)
            await delivering
        finally:
            delivering.cancel()

    async def _deliver(self, wire: Wire, on_the_way: _OnTheWay, writer: asyncio.StreamWriter) -> None:
        data = b"?"
        while data:
            due, data = await on_the_way.get()
            if (early := due - self._loop.time()) > 0:
                await asyncio.sleep(early)
            await self._gates[wire].wait()
            with contextlib.suppress(OSError):
                writer.write(data)
                await writer.drain()
        writer.transport.abort()


class _OnTheWay:
    """Bytes with the moment when they arrive; nothing at the end."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._size = 0
        self._changed = asyncio.Condition()

    async def put(self, due: float, data: bytes) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._size < _ON_THE_WAY_MAX_BYTES)
            self._waiting.append((due, data))
            self._size += len(data)
            self._changed.notify_all()

    async def get(self) -> tuple[float, bytes]:
        async with self._changed:
            await self._changed.wait_for(lambda: bool(self._waiting))
            due, data = self._waiting.popleft()
            self._size -= len(data)
            self._changed.notify_all()
            return due, data


def _owner(port: int, pids: Mapping[int, int]) -> int:
    """The node whose process has the socket with this local port; OSError for one that is gone."""
    local = f"0100007F:{port:04X}"
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    socket = next((f"socket:[{row[9]}]" for row in rows if row[1] == local), "")
    for pid, number in pids.items():
        with contextlib.suppress(OSError):
            for file in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if str(file.readlink()) == socket:
                        return number
    raise ConnectionError("nobody has that socket any more")
