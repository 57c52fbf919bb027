"""The way to the active controller, wherever it is.

A request for it travels in an Envelope (58, KIP-590) over one connection to the quorum's leader. On the leader itself
it is handled without a connection, and what the node itself asks for is not even encoded. While there is no leader, or
the one asked no longer is, the request is tried again for a bounded time: an election takes a moment. A request whose
answer was lost may have been carried out all the same; whoever asks again gets TOPIC_ALREADY_EXISTS or the like, as
with Kafka.

A client that changes something through one node and then asks the same node must find the change: right behind the
request this node asks for the controller's high watermark, and waits, briefly, until its own image is there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from barnabas.broker.controller.leader_connection import LeaderConnection
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.session import OWN, Session, packed_address, principal_bytes
from barnabas.link.asyncio_driver import ANSWER_TIMEOUT_MS
from barnabas.link.errors import LinkDown
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import METADATA_TOPIC
from barnabas.wire.apis import DESCRIBE_QUORUM, ENVELOPE
from barnabas.wire.codec import Decoded, decode_response, encode_request, request_of, response_of
from barnabas.wire.headers import request_header, response_header_bytes

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeQuorumResponse, EnvelopeResponse, Request

log = logging.getLogger(__name__)

T = TypeVar("T")
_RETRY_SECONDS = 0.05
FORWARD_TIMEOUT_MS = 15_000  # an election takes a second or two at worst; a client waits 30
_CATCH_UP_SECONDS = 1.0
_QUORUM_OF = {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]}


class ControllerLink:
    """`handle_here(frame, session)` and `answer_here(request, context)` answer where this node is the active controller
    (`is_active()`), and raise NOT_CONTROLLER where it is no longer; `applied(offset, seconds)` waits until this node's
    image is there."""

    def __init__(
        self,
        node_id: int,
        leader: LeaderConnection,
        is_active: Callable[[], bool],
        handle_here: Callable[[memoryview, Session], Awaitable[bytes]],
        answer_here: Callable[["Request[Mapping[str, object]]", RequestContext], Awaitable[Mapping[str, object]]],
        applied: Callable[[int, float], Awaitable[bool]],
    ) -> None:
        self._client_id = f"node-{node_id}"
        self._leader = leader
        self._is_active = is_active
        self._handle_here = handle_here
        self._answer_here = answer_here
        self._applied = applied
        self._closed = False

    def leader_changed(self) -> None:
        self._leader.leader_changed()

    async def ask(
        self, api_key: int, version: int, body: Mapping[str, object], timeout_ms: int | None = None
    ) -> Decoded:
        """A request of this node itself; the answer as decoded."""

        async def here() -> Decoded:
            context = RequestContext(api_key, version, 0, self._client_id, OWN)
            return response_of(api_key, await self._answer_here(request_of(api_key, body), context))

        async def there(deadline: float) -> Decoded:
            frame = request_header(api_key, version, 0, self._client_id) + encode_request(api_key, version, body)
            answer = await self._ask_leader(frame, OWN, deadline, follow=api_key != DESCRIBE_QUORUM)
            return decode_response(api_key, version, answer, response_header_bytes(api_key, version))

        return await self._until_answered(here, there, timeout_ms or FORWARD_TIMEOUT_MS)

    async def forward(self, frame: bytes, session: Session, timeout_ms: int, *, follow: bool = True) -> bytes:
        """A client's request, whole (header and body); the answer with its header. NOT_CONTROLLER when time is up."""
        return await self._until_answered(
            lambda: self._handle_here(memoryview(frame), session),
            lambda deadline: self._ask_leader(frame, session, deadline, follow),
            timeout_ms,
        )

    async def _until_answered(
        self, here: Callable[[], Awaitable[T]], there: Callable[[float], Awaitable[T]], timeout_ms: int
    ) -> T:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_ms / 1000
        while True:
            moved = self._leader.moved
            try:
                return await (here() if self._is_active() else there(deadline))
            except LinkDown as error:
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

    async def _ask_leader(self, frame: bytes, session: Session, deadline: float, follow: bool) -> bytes:
        connection = await self._leader.get()
        timeout_ms = max(100, min(ANSWER_TIMEOUT_MS, int((deadline - asyncio.get_running_loop().time()) * 1000)))
        body = {
            "request_data": frame,
            # Without a principal it is this node's own wish, which it has the rights for, or has not.
            "request_principal": None if session is OWN else principal_bytes(session.principal),
            "client_host_address": packed_address(session.client_host),
        }
        asked = connection.ask_raw(ENVELOPE, 0, encode_request(ENVELOPE, 0, body), timeout_ms)
        behind = None
        if follow:
            behind = connection.ask_raw(DESCRIBE_QUORUM, 2, encode_request(DESCRIBE_QUORUM, 2, _QUORUM_OF), timeout_ms)
        answer: EnvelopeResponse = decode_response(ENVELOPE, 0, await asked)
        if answer.error_code:
            raise KafkaError(ErrorCode(answer.error_code), "the node asked is not the active controller")
        if behind is not None:
            await self._catch_up(behind)
        return bytes(answer.response_data or b"")

    async def _catch_up(self, behind: "asyncio.Future[memoryview]") -> None:
        try:
            answer: DescribeQuorumResponse = decode_response(DESCRIBE_QUORUM, 2, await behind)
        except LinkDown:
            return  # what was asked for is done; only this node may be a moment behind
        for topic in answer.topics:
            for partition in topic.partitions:
                if partition.error_code == 0:
                    await self._applied(partition.high_watermark - 1, _CATCH_UP_SECONDS)

    def close(self) -> None:
        self._closed = True
        self._leader.close()
