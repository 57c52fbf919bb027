"""The way to the active controller, wherever it is.

A request for it travels in an Envelope (58, KIP-590) over one connection to the quorum's leader; on the leader itself
it is handled without a connection. While there is no leader, or the one asked no longer is, the request is tried again
for a bounded time: an election takes a moment. A request whose answer was lost may have been carried out all the same;
whoever asks again hears TOPIC_ALREADY_EXISTS or the like, as with Kafka.

A client that changes something through one node and then asks the same node must find the change: right behind the
request this node asks for the controller's high watermark, and waits, briefly, until its own image is there.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas.broker.peers.connection import ANSWER_TIMEOUT_MS, PeerConnection, PeerGone
from barnabas.broker.peers.table import wait_for
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import METADATA_TOPIC
from barnabas.wire.apis import DESCRIBE_QUORUM, ENVELOPE
from barnabas.wire.codec import decode_response, encode_request
from barnabas.wire.headers import request_header, response_header_bytes

if TYPE_CHECKING:
    from barnabas.broker.node import Node

log = logging.getLogger(__name__)

_RETRY_SECONDS = 0.05
FORWARD_TIMEOUT_MS = 15_000  # an election takes a second or two at worst; a client waits 30
_CATCH_UP_SECONDS = 1.0
_QUORUM_OF = {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]}


class ControllerLink:
    def __init__(self, node: "Node", on_lost: Callable[[], None] | None = None) -> None:
        self._node = node
        self._on_lost = on_lost
        self._address: tuple[str, int] | None = None
        self._connecting: asyncio.Task[PeerConnection] | None = None
        self.moved = asyncio.Event()  # set, and made anew, when another leads
        self._closed = False

    def leader_changed(self) -> None:
        self.moved.set()
        self.moved = asyncio.Event()
        if self._address is not None and self._address != self._leader_address():
            self._drop()

    # --- asking -----------------------------------------------------------------------------------------------------

    async def ask(self, api_key: int, version: int, body: dict[str, Any], timeout_ms: int | None = None) -> Any:
        frame = request_header(api_key, version, 0, f"node-{self._node.node_id}")
        frame += encode_request(api_key, version, body)
        answer = await self.forward(frame, b"", timeout_ms or FORWARD_TIMEOUT_MS, follow=api_key != DESCRIBE_QUORUM)
        return decode_response(api_key, version, answer, response_header_bytes(api_key, version))

    async def forward(self, frame: bytes, client_host: bytes, timeout_ms: int, *, follow: bool = True) -> bytes:
        """A whole request (header and body); the answer with its header. NOT_CONTROLLER when time is up."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_ms / 1000
        while True:
            moved = self.moved
            try:
                if self._node.controller.is_active:
                    return await self._here(frame)
                return await self._there(frame, client_host, deadline, follow)
            except PeerGone as error:
                log.debug("the active controller was not reached: %s", error)
            except KafkaError as error:
                if error.code is not ErrorCode.NOT_CONTROLLER:
                    raise
            if self._closed or loop.time() >= deadline:
                raise KafkaError(ErrorCode.NOT_CONTROLLER, "there is no active controller at the moment")
            try:
                async with asyncio.timeout(_RETRY_SECONDS):
                    await moved.wait()
            except TimeoutError:
                pass

    async def _here(self, frame: bytes) -> bytes:
        return await self._node.dispatcher.handle_enveloped(memoryview(frame))

    async def _there(self, frame: bytes, client_host: bytes, deadline: float, follow: bool) -> bytes:
        connection = await self.connection()
        timeout_ms = max(100, min(ANSWER_TIMEOUT_MS, int((deadline - asyncio.get_running_loop().time()) * 1000)))
        body = {"request_data": frame, "request_principal": None, "client_host_address": client_host}
        asked = connection.ask_raw(ENVELOPE, 0, encode_request(ENVELOPE, 0, body), timeout_ms)
        behind = None
        if follow:
            behind = connection.ask_raw(DESCRIBE_QUORUM, 2, encode_request(DESCRIBE_QUORUM, 2, _QUORUM_OF), timeout_ms)
        answer = decode_response(ENVELOPE, 0, await asked)
        if answer.error_code:
            raise KafkaError(ErrorCode(answer.error_code), "the node asked is not the active controller")
        if behind is not None:
            await self._catch_up(behind)
        return bytes(answer.response_data)

    async def _catch_up(self, behind: "asyncio.Future[memoryview]") -> None:
        try:
            told = decode_response(DESCRIBE_QUORUM, 2, await behind)
        except PeerGone:
            return  # what was asked for is done; only this node may be a moment behind
        for topic in told.topics:
            for partition in topic.partitions:
                if partition.error_code == 0:
                    await self._node.quorum.applied(partition.high_watermark - 1, _CATCH_UP_SECONDS)

    # --- the connection ---------------------------------------------------------------------------------------------

    def _leader_address(self) -> tuple[str, int] | None:
        leader_id, endpoint = self._node.quorum.leader
        if endpoint is None or leader_id == self._node.node_id:
            return None
        return endpoint.host, endpoint.port

    async def connection(self) -> PeerConnection:
        address = self._leader_address()
        if address is None:
            raise PeerGone("no active controller is known")
        task = self._connecting
        if self._address != address or task is None or _spent(task):
            self._drop()
            self._address = address
            task = self._connecting = asyncio.ensure_future(self._node.connector.connect(*address, self._lost))
        return await wait_for(task)

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

    def close(self) -> None:
        self._closed = True
        self._drop()
        self.moved.set()


def _spent(task: "asyncio.Task[PeerConnection]") -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None or task.result().closed)
