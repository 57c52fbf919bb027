"""The operating system as a node sees it: disk, threads, randomness, sockets. Time comes from the loop and clock.py.

The real one is here. The simulator substitutes its own, and nothing else about the node changes.
"""

import asyncio
import os
import random
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

from barnabas.broker.network.listener import listening_socket
from barnabas.model.ids import new_uuid
from barnabas.model.limits import CONNECT_TIMEOUT_SECONDS
from barnabas.storage.disk import DISK, Disk


class Platform:
    disk: Disk = DISK
    writes_status = True  # a file for a person at this machine (metrics/health.py)
    imports_ahead = True  # of the first request, in a thread: what a first request would otherwise wait for
    watches_loop = True  # a thread that notices what holds the loop (metrics/loop_watchdog.py)

    def threads(self, count: int, name: str) -> Executor:
        return ThreadPoolExecutor(count, thread_name_prefix=name)

    def random(self) -> random.Random:
        return random.Random()

    def new_uuid(self) -> bytes:
        return new_uuid()

    def listen(self, host: str, port: int) -> socket.socket:
        return listening_socket(host, port)

    def hostname(self) -> str:
        return socket.gethostname()

    def boot_id(self) -> str:
        """Another one after the machine started anew: what was in memory only is gone. Empty where nobody can say."""
        try:
            return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            return ""

    def memory_bytes(self) -> int:
        """Of the machine, or of the container this process may use."""
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        try:
            return min(whole, int(Path("/sys/fs/cgroup/memory.max").read_text()))
        except (OSError, ValueError):  # no control group, or one without a limit ("max")
            return whole

    async def connect(
        self, make: Callable[[], asyncio.BaseProtocol], host: str, port: int, tls: ssl.SSLContext | None
    ) -> asyncio.BaseTransport:
        """To another node; OSError when it cannot be reached (TimeoutError when nothing is heard of it), ssl.SSLError
        when it is not the one it should be. How long a handshake may take is for the caller to say."""
        loop = asyncio.get_running_loop()
        if tls is None:
            transport, _ = await loop.create_connection(make, host, port)
            return transport
        async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
            connected = await _connected_socket(loop, host, port)
        transport, _ = await loop.create_connection(make, sock=connected, ssl=tls, server_hostname=host)
        return transport


async def _connected_socket(loop: asyncio.AbstractEventLoop, host: str, port: int) -> socket.socket:
    """To the first address of this name that accepts; OSError of the last one when none does."""
    problem = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        made = socket.socket(family, kind, protocol)
        try:
            made.setblocking(False)
            await loop.sock_connect(made, address)
            return made
        except OSError as error:
            made.close()
            problem = error
        except BaseException:
            made.close()  # nobody waits for it any more
            raise
    raise problem


REAL_PLATFORM = Platform()
