"""Whom the console shows a person's password, and how often."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from barnabas.console.clusters.facts import Node
from barnabas.console.clusters.node_metrics import NodeMetrics
from barnabas.link.async_nodes import AsyncNodes, AsyncOptions
from barnabas.link.sasl import OAUTHBEARER, Credentials


@contextmanager
def refusing() -> Iterator[tuple[str, list[str | None]]]:
    """A node that lets nobody read its metrics: its address, and the logins that came."""
    came: list[str | None] = []

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            came.append(self.headers.get("Authorization"))
            self.send_error(401)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", came
        finally:
            server.shutdown()
            thread.join()


def test_a_node_that_refuses_a_login_is_not_asked_every_two_seconds() -> None:
    async def run() -> None:
        with refusing() as (url, came):
            password = Credentials("SCRAM-SHA-512", "alice", "wrong")
            for credentials, login in ((password, True), (Credentials(OAUTHBEARER, "alice", "a.token"), False)):
                came.clear()
                metrics = NodeMetrics(AsyncNodes([], AsyncOptions("test")), None, credentials)
                metrics._urls, metrics._found_at = {1: url}, time.monotonic()
                for _ in range(3):
                    await metrics.scrape([Node(1, "127.0.0.1", 1, "", False)])
                assert [each is not None for each in came] == [login]  # and a token is no password
                metrics.close()

    asyncio.run(run())
