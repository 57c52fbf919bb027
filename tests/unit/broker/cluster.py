"""Several real nodes in one loop on 127.0.0.1, for tests of what they do together."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from barnabas.broker.node import Node
from barnabas.broker.platform import REAL_PLATFORM, Platform
from barnabas.broker.settings.sources import load_settings
from barnabas.wire.codec import decode_response, encode_request
from barnabas.wire.headers import request_header, response_header_bytes


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


class Cluster:
    def __init__(self, folder: Path, count: int = 3, **settings: str) -> None:
        self.folder = folder
        self.settings = {name.replace("_", "."): value for name, value in settings.items()}
        self.ports = dict(zip(range(1, count + 1), free_ports(count), strict=True))
        self.nodes: dict[int, Node] = {}
        self.more: dict[int, dict[str, str]] = {}
        self.grounds: dict[int, Platform] = {}

    @property
    def voters(self) -> str:
        return ",".join(f"{number}@127.0.0.1:{port}" for number, port in self.ports.items())

    def make(self, number: int) -> Node:
        given = {
            "node.id": str(number),
            "listeners": f"PLAINTEXT://127.0.0.1:{self.ports[number]}",
            "controller.quorum.voters": self.voters,
        }
        given |= self.settings | self.more.get(number, {})
        given = {name: value for name, value in given.items() if value}
        platform = self.grounds.get(number, REAL_PLATFORM)
        node = Node(load_settings(flags=given, environ={}).settings, self.folder / str(number), platform)
        self.nodes[number] = node
        return node

    async def start(self, *numbers: int) -> None:
        await asyncio.gather(*(self.make(number).start() for number in numbers or self.ports))

    async def stop(self) -> None:
        """All at once, in order."""
        await asyncio.gather(*(node.stop() for node in self.nodes.values()))
        self.nodes.clear()

    def drop(self) -> None:
        """The end of a test: as quick as it goes."""
        for number in list(self.nodes):
            self.kill(number)

    def active(self) -> Node | None:
        return next((node for node in self.nodes.values() if node.controller.is_active), None)

    async def controller(self) -> Node:
        await until(lambda: self.active() is not None)
        found = self.active()
        assert found is not None
        return found

    def others(self, node: Node) -> list[Node]:
        return [other for other in self.nodes.values() if other is not node]

    def kill(self, number: int) -> Node:
        """As near to kill -9 as one process comes: every connection is reset, nothing is written any more."""
        node = self.nodes.pop(number)
        node.lifecycle.close()
        node.quorum.close()
        node.controller.close()
        node.peers.close()
        node.replication.stop()
        node.upkeep.stop()
        node.transactions.close()
        node.groups.close()
        node.listener.abandon()
        _reset_connections(node)
        # One that the loop has accepted, and is about to hand over, would be a connection to nobody.
        for delay_s in (0.0, 0.02):
            asyncio.get_running_loop().call_later(delay_s, _reset_connections, node)
        node.data.close(clean=False)
        return node


def _reset_connections(node: Node) -> None:
    for connection in list(node.listener.connections):
        connection.abort()


async def until(true: Callable[[], bool], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.005)


async def ask(node: Node, api_key: int, version: int, body: dict[str, Any]) -> Any:
    """As a client asks."""
    reader, writer = await asyncio.open_connection("127.0.0.1", node.endpoints[0].port)
    try:
        frame = request_header(api_key, version, 7, "a test") + encode_request(api_key, version, body)
        writer.write(len(frame).to_bytes(4, "big") + frame)
        size = int.from_bytes(await reader.readexactly(4), "big")
        return decode_response(
            api_key, version, await reader.readexactly(size), response_header_bytes(api_key, version)
        )
    finally:
        writer.close()


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(30):
            await test()

    asyncio.run(limited())
