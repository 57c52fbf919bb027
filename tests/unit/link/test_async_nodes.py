"""Several requests that need a connection to a node that does not answer."""

from __future__ import annotations

import asyncio
import socket

import pytest

from barnabas.link.async_nodes import AsyncNodes, AsyncOptions
from barnabas.link.errors import Unreachable


def test_requests_that_wait_for_one_connection_fail_together() -> None:
    """A socket that accepts and says nothing, as a node does whose machine hangs."""

    async def story(port: int) -> tuple[list[object], int]:
        accepted = 0
        ended: list[asyncio.Event] = []

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal accepted
            accepted += 1
            ended.append(asyncio.Event())
            mine = ended[-1]
            while await reader.read(100):
                pass
            writer.close()
            await writer.wait_closed()
            mine.set()

        server = await asyncio.start_server(silent, sock=listening)
        nodes = AsyncNodes([("127.0.0.1", port)], AsyncOptions("test", connect_timeout_s=0.2))
        found = await asyncio.gather(*(nodes.node_ids() for _ in range(5)), return_exceptions=True)
        tried = accepted
        with pytest.raises(Unreachable):
            await nodes.node_ids()  # whoever comes later tries again
        assert accepted == tried + 1
        nodes.close()
        for each in ended:
            await each.wait()
        server.close()
        await server.wait_closed()
        return list(found), tried

    with socket.create_server(("127.0.0.1", 0)) as listening:
        found, tried = asyncio.run(story(listening.getsockname()[1]))
    assert tried == 1
    assert [str(each) for each in found] == [str(found[0])] * 5 and "no answer in time" in str(found[0])
