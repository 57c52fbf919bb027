"""Starts the process that searches, and speaks to it from a loop: the loop only moves bytes."""

import asyncio
import contextlib
import socket
import subprocess
from collections.abc import AsyncIterator

from barnabas.browse.errors import BrowseError
from barnabas.browse.search.messages import LENGTH, Chunk, Found, Scanned, Task, framed, from_worker
from barnabas.model.processes import python_environment, python_module

_MODULE = "barnabas.browse.search.worker"
_SOCKET_BYTES = 4 << 20  # asked for; the system may give less
_RECEIVE_BYTES = 256 * 1024


class SearchProcess:
    def __init__(self) -> None:
        self._link, theirs = socket.socketpair()
        for each in (self._link, theirs):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BYTES)
        self._link.setblocking(False)
        with theirs:
            self._process = subprocess.Popen(
                python_module(_MODULE),
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                env=python_environment(),
                start_new_session=True,  # a Ctrl-C is for whoever started the search
            )
        self._turn = asyncio.Lock()

    async def begin(self, task: Task) -> None:
        await self._send(framed(task))

    async def look_through(self, chunk: Chunk, data: memoryview) -> None:
        async with self._turn:  # a chunk and its bytes belong together
            await self._send(framed(chunk))
            await self._send(data)

    async def answers(self) -> AsyncIterator[Found | Scanned]:
        """Until the process ends, which it does not by itself."""
        loop = asyncio.get_running_loop()
        received = bytearray()
        while True:
            data = await loop.sock_recv(self._link, _RECEIVE_BYTES)
            if not data:
                raise self._ended()
            received += data
            while len(received) >= LENGTH.size:
                behind = LENGTH.size + LENGTH.unpack_from(received)[0]
                if len(received) < behind:
                    break
                yield from_worker(memoryview(bytes(received[LENGTH.size : behind])))
                del received[:behind]

    async def close(self) -> None:
        """Ends it, whatever it does."""
        self._link.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await asyncio.to_thread(self._process.wait)

    async def _send(self, data: bytes | memoryview) -> None:
        try:
            await asyncio.get_running_loop().sock_sendall(self._link, data)
        except OSError:
            raise self._ended() from None

    def _ended(self) -> BrowseError:
        code = self._process.poll()
        return BrowseError(f"the process that searches has ended{'' if code is None else f' with code {code}'}")
