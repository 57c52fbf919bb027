"""Fetch (1), versions 4-18: the records of many partitions, sent from the files they lie in.

The answer is a list of pieces: bytes of ours, slices of segment files between them (the connection sends those by
`sendfile`). When too little is there the fetch is parked (broker/parked_fetch.py) and read again later. Bytes that
are not in the page cache, or that this process has not yet seen with a right CRC, are read once in a thread before
they are promised to a client, so a cold read stops nobody else (broker/cold_reads.py).

A fetch of a follower goes to broker/follower_fetch.py.

v7 sessions, v11 rack of the reader (it may read from followers), v12 diverging epochs, v13 topic ids, v15 replica state
as a tag.
"""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker import follower_fetch
from barnabas.broker.api.failures import failure_body
from barnabas.broker.cold_reads import make_ready, not_ready
from barnabas.broker.connection import Reply
from barnabas.broker.fetch_answer import pack
from barnabas.broker.fetch_sessions import FetchPlan, served_with_data
from barnabas.broker.parked_fetch import ParkedFetch
from barnabas.broker.quorum.answering import is_quorum_fetch, serve_fetch
from barnabas.broker.reader import PartitionRead, Reader, read_all
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.codec import decode_request
from barnabas.wire.fetch import fetch_response_pieces
from barnabas.wire.headers import encode_response_frame

if TYPE_CHECKING:
    from barnabas.broker.node import Node

API_KEY = 1
_FROM_FOLLOWERS_SINCE = 11
_READ_UNCOMMITTED, _READ_COMMITTED = 0, 1


class _Fetch:
    """One request and what is needed to read for it again."""

    __slots__ = ("correlation_id", "max_bytes", "node", "plan", "reader", "version")

    def __init__(self, node: "Node", plan: FetchPlan, max_bytes: int, reader: Reader, version: int, corr: int) -> None:
        self.node = node
        self.plan = plan
        self.max_bytes = max_bytes
        self.reader = reader
        self.version = version
        self.correlation_id = corr

    def answer_again(self) -> "Reply | asyncio.Future[Reply]":
        reads, _, _ = read_all(self.node, self.plan.wanted, self.max_bytes, self.reader)
        return self.answer(reads)

    def answer(self, reads: list[PartitionRead]) -> "Reply | asyncio.Future[Reply]":
        for read in reads:
            if read.is_cold or (read.slice is not None and not_ready(read.slice)):
                return asyncio.ensure_future(self._answer_when_ready(reads))
        return self.pack(reads)

    async def _answer_when_ready(self, reads: list[PartitionRead]) -> Reply:
        await make_ready(self.node.read_threads, reads)
        return self.pack(reads)

    def pack(self, reads: list[PartitionRead]) -> Reply:
        plan = self.plan
        served = partial(served_with_data, plan)
        return pack(
            self.version, self.correlation_id, reads, plan.session_id, incremental=plan.incremental, served=served
        )


def handle(
    node: "Node", frame: memoryview, position: int, version: int, correlation_id: int
) -> "Reply | asyncio.Future[Reply]":
    request = decode_request(API_KEY, version, frame, position)
    if is_quorum_fetch(request):
        return asyncio.ensure_future(serve_fetch(node, request, version, correlation_id))
    replica_id, broker_epoch = follower_fetch.follower_of(request)
    if replica_id >= 0:
        return follower_fetch.handle(node, request, version, correlation_id, replica_id, broker_epoch)
    if request.isolation_level not in (_READ_UNCOMMITTED, _READ_COMMITTED):
        body = failure_body(API_KEY, version, request, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
        return encode_response_frame(API_KEY, version, correlation_id, body)
    try:
        plan = node.fetch_sessions.plan(request, version, node.clock.steady_ms())
    except KafkaError as error:
        return fetch_response_pieces(version, correlation_id, (), error_code=int(error.code))[0]
    max_bytes = min(request.max_bytes, node.fetch_max_bytes)
    committed = request.isolation_level == _READ_COMMITTED
    reader = Reader(committed, version >= _FROM_FOLLOWERS_SINCE, request.rack_id)
    fetch = _Fetch(node, plan, max_bytes, reader, version, correlation_id)
    reads, found, urgent = read_all(node, plan.wanted, max_bytes, reader)
    if found >= request.min_bytes or urgent or request.max_wait_ms <= 0 or not reads:
        return fetch.answer(reads)
    partitions = {read.partition for read in reads if read.partition is not None}
    missing = request.min_bytes - found
    return ParkedFetch(partitions, missing, request.max_wait_ms, committed, fetch.answer_again).future
