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
        """To another node; OSError when it cannot be reached, ssl.SSLError when it is not the one it should be."""
        transport, _ = await asyncio.get_running_loop().create_connection(make, host, port, ssl=tls)
        return transport


REAL_PLATFORM = Platform()
