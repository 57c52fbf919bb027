"""Memory for what is decoded of large requests, and for their answers while they are made, over all connections.

A decoded request takes up to fifty times its bytes, which are all that `queued.max.request.bytes` counts while it
arrives. Each element of it is counted as DECODED_ELEMENT_BYTES until the request is answered. While they hold more than
their limit, the next large request is not decoded, first come, first served, and its connection is not read: so the
most that is ever held is the limit, the last small one and one really large one, of which one is decoded at a time.

Some requests are answered when somebody else has come, or after a time that the client chooses (`WAIT_FOR_OTHERS`).
If they were waited for, a few of them could hold up everybody else's requests, or themselves for ever. So they have a
limit of their own, and above it they are refused with an error that makes clients try again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import DECODED_ELEMENT_BYTES, GROUP_METADATA_NODE_MAX_BYTES
from barnabas.wire import apis

WAIT_FOR_OTHERS = {
    apis.JOIN_GROUP: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    apis.SYNC_GROUP: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    apis.DELETE_RECORDS: ErrorCode.REQUEST_TIMED_OUT,
}


class DecodedMemory:
    def __init__(self, limit_bytes: int, waiting_limit_bytes: int = GROUP_METADATA_NODE_MAX_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._waiting_limit_bytes = waiting_limit_bytes
        self.used_bytes = 0
        self.waiting_bytes = 0  # of those that wait for others
        self.decoding = asyncio.Lock()  # held by who decodes a really large one, until it is counted
        self._first = asyncio.Lock()
        self._given_back = asyncio.Event()

    async def room(self, api_key: int) -> None:
        """Returns when such a request may be decoded. What it takes has to be counted before the next one is let in."""
        if api_key in WAIT_FOR_OTHERS:
            return
        async with self._first:
            while self.used_bytes >= self._limit_bytes:
                self._given_back.clear()
                await self._given_back.wait()

    @contextmanager
    def held(self, api_key: int, frame_bytes: int, elements: int) -> Iterator[None]:
        """Count a decoded request while it is worked off. Raises the KafkaError that refuses one that waits for
        others."""
        taken = frame_bytes + elements * DECODED_ELEMENT_BYTES
        refusal = WAIT_FOR_OTHERS.get(api_key)
        if refusal is None:
            self.used_bytes += taken
            try:
                yield
            finally:
                self.used_bytes -= taken
                self._given_back.set()
            return
        if self.waiting_bytes + taken > self._waiting_limit_bytes:
            raise KafkaError(refusal, "too many large requests wait for others; try again")
        self.waiting_bytes += taken
        try:
            yield
        finally:
            self.waiting_bytes -= taken
