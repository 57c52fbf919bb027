"""Fetch (1), versions 4-18: the records of many partitions, sent from the files they lie in.

The answer is a list of pieces: bytes of ours, slices of segment files between them (the connection sends those by
`sendfile`). When too little is there the fetch is parked (broker/fetch/parked.py) and read again later. Bytes that
are not in the page cache, or that this process has not yet seen with a right CRC, are read once in a thread before
they are promised to a client, so a cold read stops nobody else (broker/fetch/cold_reads.py).

A fetch of a follower goes to broker/fetch/follower.py.

Versions: 5 log start offsets, 6 KAFKA_STORAGE_ERROR, 7 sessions (KIP-227), 8 throttling by the client (KIP-219), 9 the
reader's leader epoch (KIP-320), 10 zstd (KIP-110), 11 the rack of the reader, who may read from followers (KIP-392),
12 flexible and diverging epochs (KIP-595), 13 topics by id (KIP-516), 14 tiered storage (KIP-405), 15 the replica's
state as a tag (KIP-903), 16 addresses of new leaders (KIP-951), 17 directory ids (KIP-853), 18 the follower's high
watermark (KIP-1166).
"""

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Any

from barnabas.broker import clock
from barnabas.broker.api.failures import failure_body
from barnabas.broker.api.permissions import CLUSTER, CLUSTER_ACTION, TOPIC_REFUSED, refused
from barnabas.broker.fetch import follower as follower_fetch
from barnabas.broker.fetch.answer import pack
from barnabas.broker.fetch.cold_reads import make_ready, not_ready
from barnabas.broker.fetch.parked import ParkedFetch
from barnabas.broker.fetch.reader import READ_AT_ONCE, PartitionRead, Reader, read_all, read_in_turns
from barnabas.broker.fetch.sessions import NO_SESSION, FetchPlan, named, served_with_data
from barnabas.broker.network.connection import Reply
from barnabas.broker.network.session import Session
from barnabas.broker.quorum.answering import is_quorum_fetch, serve_fetch
from barnabas.model.access import CLUSTER_NAME
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import LARGE_REQUEST_THREAD_BYTES
from barnabas.wire.codec import decode_request
from barnabas.wire.fetch.answer import fetch_response_pieces
from barnabas.wire.headers import encode_response_frame

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ConsumerFetchNode, FetchNode
    from barnabas.broker.network.throttling import SessionMeters
    from barnabas.wire.messages import FetchRequest

API_KEY = 1
_FROM_FOLLOWERS_SINCE = 11
_READ_UNCOMMITTED, _READ_COMMITTED = 0, 1
_MANY = 100  # partitions of a session that are not read again after a wait in which nothing has come
_EMPTY_BYTES, _PARTITION_BYTES = 35, 60  # of an answer without its records: in all, and for each partition


class _Fetch:
    """One request and what is needed to read for it again."""

    __slots__ = ("_begun", "_seconds", "correlation_id", "max_bytes", "node", "plan", "quota", "reader", "version")

    def __init__(
        self,
        node: "ConsumerFetchNode",
        plan: FetchPlan,
        max_bytes: int,
        reader: Reader,
        version: int,
        corr: int,
        quota: "SessionMeters | None",
    ) -> None:
        self.node = node
        self.plan = plan
        self.max_bytes = max_bytes
        self.reader = reader
        self.version = version
        self.correlation_id = corr
        self.quota = quota
        self._begun = 0.0 if quota is None else quota.begun
        self._seconds = 0.0  # of the loop's time that it took before it waited

    def answer_again(self, is_still: bool, quiet: bool) -> "Reply | asyncio.Future[Reply]":
        """After a wait. `is_still`: there are many, and there was nothing to tell when it began; `quiet`: nothing has
        come since."""
        if is_still and quiet:
            self._has_waited()
            return self.pack([])
        if len(self.plan.wanted) > READ_AT_ONCE:
            return asyncio.ensure_future(self._again_in_turns())
        self._has_waited()
        reads, _, _ = read_all(self.node, self.plan.wanted, self.max_bytes, self.reader)
        return self.answer(reads)

    async def _again_in_turns(self) -> Reply:
        reads, _, _ = await read_in_turns(self.node, self.plan.wanted, self.max_bytes, self.reader)
        return await self._answer_when_ready(reads)

    async def in_turns(self, min_bytes: int, max_wait_ms: int) -> Reply:
        """The whole fetch, of so many partitions that others must be served in between."""
        reads, found, urgent = await read_in_turns(self.node, self.plan.wanted, self.max_bytes, self.reader)
        # What came to a partition after it was looked at would wake nobody.
        news = any(read.opened is not None and read.opened.high_watermark != read.high_watermark for read in reads)
        full = not self.node.parked_partitions.have_room(len(reads))
        if found >= min_bytes or urgent or news or max_wait_ms <= 0 or full:
            return await self._answer_when_ready(reads)
        return await self.park(reads, min_bytes - found, max_wait_ms)

    def park(self, reads: list[PartitionRead], missing: int, max_wait_ms: int) -> "asyncio.Future[Reply]":
        partitions = {read.opened for read in reads if read.opened is not None}
        committed = self.reader.read_committed
        if self.quota is not None:
            self._seconds += clock.source.monotonic() - self._begun
        many = self.plan.incremental and len(reads) > _MANY
        again = partial(self.answer_again, many and not any(read.is_news for read in reads))
        parked = ParkedFetch(partitions, missing, max_wait_ms, committed, again).future
        parked_partitions, count = self.node.parked_partitions, len(reads)
        parked_partitions.add(count)
        parked.add_done_callback(lambda _: parked_partitions.add(-count))
        return parked

    def answer(self, reads: list[PartitionRead]) -> "Reply | asyncio.Future[Reply]":
        for read in reads:
            if read.is_cold or (read.slice is not None and not_ready(read.slice)):
                return asyncio.ensure_future(self._answer_when_ready(reads))
        return self.pack(reads)

    async def _answer_when_ready(self, reads: list[PartitionRead]) -> Reply:
        await make_ready(self.node.read_threads, reads)
        self._has_waited()
        return self.pack(reads)

    def _has_waited(self) -> None:
        if self.quota is not None:
            self._begun = clock.source.monotonic()

    def pack(self, reads: list[PartitionRead]) -> Reply:
        plan = self.plan
        if self.quota is not None:
            seconds = self._seconds + clock.source.monotonic() - self._begun
            if time_ms := self.quota.fetched(_size(reads), seconds):
                return self._throttled(time_ms)
        served = partial(served_with_data, plan)
        return pack(
            self.version, self.correlation_id, reads, plan.session_id, incremental=plan.incremental, served=served
        )

    def _throttled(self, time_ms: int) -> Reply:
        """Nothing, as from a Kafka: what a client gets above its quota would not count."""
        plan = self.plan
        if not plan.incremental:
            self.node.fetch_sessions.forget(plan.session_id)
        session_id = plan.session_id if plan.incremental else NO_SESSION
        return fetch_response_pieces(
            self.version, self.correlation_id, (), throttle_time_ms=time_ms, session_id=session_id
        )[0]


def _size(reads: list[PartitionRead]) -> int:
    """About that of the answer."""
    return _EMPTY_BYTES + sum(_PARTITION_BYTES + read.slice.length for read in reads if read.slice is not None)


def handle(
    node: "FetchNode", session: Session, frame: memoryview, position: int, version: int, correlation_id: int
) -> "Reply | Awaitable[Reply]":
    if len(frame) > LARGE_REQUEST_THREAD_BYTES:
        return _decoded_in_thread(node, session, bytes(frame), position, version, correlation_id)
    return _handle(node, session, decode_request(API_KEY, version, frame, position), version, correlation_id)


async def _decoded_in_thread(
    node: "FetchNode", session: Session, frame: bytes, position: int, version: int, correlation_id: int
) -> Any:  # a reply or a future of one
    """The first fetch of a session with thousands of partitions. The next request waits until this one is read.

    Gives a reply or, for a parked fetch, a future of it, which the connection waits for without holding up the next.
    """
    loop = asyncio.get_running_loop()
    request = await loop.run_in_executor(node.read_threads, decode_request, API_KEY, version, frame, position)
    return _handle(node, session, request, version, correlation_id)


def _handle(
    node: "FetchNode", session: Session, request: "FetchRequest", version: int, correlation_id: int
) -> "Reply | asyncio.Future[Reply]":
    if (
        node.access is not None
        and is_of_node(request)
        and not node.access.requires(session, API_KEY, CLUSTER_ACTION, CLUSTER, CLUSTER_NAME)
    ):
        return _refused_as_node(request, version, correlation_id)
    if is_quorum_fetch(request):
        return asyncio.ensure_future(serve_fetch(node, request, session, version, correlation_id))
    replica_id, broker_epoch = follower_fetch.follower_of(request)
    if replica_id >= 0:
        return follower_fetch.handle(node, request, version, correlation_id, replica_id, broker_epoch)
    return _handle_consumer(node, session, request, version, correlation_id)


def _handle_consumer(
    node: "ConsumerFetchNode", session: Session, request: "FetchRequest", version: int, correlation_id: int
) -> "Reply | asyncio.Future[Reply]":
    if request.isolation_level not in (_READ_UNCOMMITTED, _READ_COMMITTED):
        body = failure_body(API_KEY, version, request, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
        return encode_response_frame(API_KEY, version, correlation_id, body)
    try:
        plan = node.fetch_sessions.plan(request, version, node.clock.steady_ms())
    except KafkaError as error:
        return fetch_response_pieces(version, correlation_id, (), error_code=int(error.code))[0]
    max_bytes, min_bytes = min(request.max_bytes, node.fetch_max_bytes), request.min_bytes
    quota = session.meters
    if quota is not None:
        quota = quota if quota.meters.rules is node.image.quotas else None
        if quota is not None and (most := quota.meters.fetch_max_bytes) is not None:
            max_bytes = min(max_bytes, most)
            min_bytes = min(min_bytes, max_bytes)
    committed = request.isolation_level == _READ_COMMITTED
    may_read = None if node.access is None else partial(node.access.may_read, session)
    reader = Reader(committed, version >= _FROM_FOLLOWERS_SINCE, request.rack_id, may_read)
    fetch = _Fetch(node, plan, max_bytes, reader, version, correlation_id, quota)
    if len(plan.wanted) > READ_AT_ONCE:
        return asyncio.ensure_future(fetch.in_turns(min_bytes, request.max_wait_ms))
    reads, found, urgent = read_all(node, plan.wanted, max_bytes, reader)
    if found >= min_bytes or urgent or request.max_wait_ms <= 0 or not reads:
        return fetch.answer(reads)
    if not node.parked_partitions.have_room(len(reads)):
        return fetch.answer(reads)  # nothing to read, but nobody has to be remembered either
    return fetch.park(reads, min_bytes - found, request.max_wait_ms)


def is_of_node(request: "FetchRequest") -> bool:
    """Of another node: a follower's, or the quorum's."""
    return is_quorum_fetch(request) or follower_fetch.follower_of(request)[0] >= 0


def _refused_as_node(request: "FetchRequest", version: int, correlation_id: int) -> Reply:
    """Who may not act as a node of the cluster does not get a follower's session either."""
    if is_quorum_fetch(request):
        body = failure_body(API_KEY, version, request, refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
        return encode_response_frame(API_KEY, version, correlation_id, body)
    reads = [PartitionRead(wanted) for wanted in named(request)]
    for read in reads:
        read.error_code = TOPIC_REFUSED
    return pack(version, correlation_id, reads, NO_SESSION, incremental=False, served=lambda wanted: None)
