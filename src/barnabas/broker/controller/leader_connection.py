"""The connection to the leader of the quorum, which is the active controller: opened when it is needed, given up when
another node leads."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from barnabas.broker.peers.table import PeerConnector, wait_for
from barnabas.core.raft import Endpoint
from barnabas.link.asyncio_driver import AsyncLink
from barnabas.link.errors import LinkDown


class QuorumLeader(Protocol):
    @property
    def leader(self) -> tuple[int, Endpoint | None]:
        """Its id and where it is reached; -1 while none is known."""


class LeaderConnection:
    def __init__(self, node_id: int, quorum: QuorumLeader, connector: PeerConnector) -> None:
        self._node_id = node_id
        self._quorum = quorum
        self._connector = connector
        self._on_lost: Callable[[], None] | None = None
        self._address: tuple[str, int] | None = None
        self._connecting: asyncio.Task[AsyncLink] | None = None
        self.moved = asyncio.Event()  # set, and made anew, when another node leads

    def on_lost(self, then: Callable[[], None]) -> None:
        """`then()` when the connection was closed, and not by this node."""
        self._on_lost = then

    def leader_changed(self) -> None:
        self.moved.set()
        self.moved = asyncio.Event()
        if self._address is not None and self._address != self._leader_address():
            self._drop()

    async def get(self) -> AsyncLink:
        address = self._leader_address()
        if address is None:
            raise LinkDown("no active controller is known")
        task = self._connecting
        if self._address != address or task is None or _is_unusable(task):
            self._drop()
            self._address = address
            task = self._connecting = asyncio.ensure_future(self._connector.connect(*address, self._lost))
        return await wait_for(task)

    def close(self) -> None:
        self._drop()
        self.moved.set()

    def _leader_address(self) -> tuple[str, int] | None:
        leader_id, endpoint = self._quorum.leader
        if endpoint is None or leader_id == self._node_id:
            return None
        return endpoint.host, endpoint.port

    def _lost(self, owed: bool) -> None:
        if self._on_lost is not None:
            self._on_lost()

    def _drop(self) -> None:
        task, self._connecting, self._address = self._connecting, None, None
        if task is None:
            return
        if not task.done():
            task.cancel()
        elif not task.cancelled() and task.exception() is None:
            task.result().close()


def _is_unusable(task: "asyncio.Task[AsyncLink]") -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None or task.result().closed)
