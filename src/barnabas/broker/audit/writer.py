"""Events on their way to the topic `__audit` and to the file.

    writer.put(line)       never waits: it is queued, or, where the queue is full, dropped and counted

A task takes what has gathered and appends it to one partition of the topic: here, where this node leads it, else by
Produce on its leader. While there is none, events wait in a queue of a bounded size. A batch whose answer was lost is
sent again, so that an event may be there twice; its sequence number tells. An event is safe once all replicas in sync
have it, which nobody waits for: what a node had not written when it was killed is lost, a tenth of a second's worth.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.audit.log_file import AuditFile
from barnabas.broker.clock import wall_ms
from barnabas.broker.metrics.event_log import LimitedLog
from barnabas.broker.network.session import NODE_SOFTWARE
from barnabas.broker.peers.table import Peers
from barnabas.core.cluster.image import NO_LEADER
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import AUDIT_TOPIC
from barnabas.model.limits import AUDIT_BATCH_BYTES, AUDIT_QUEUE_BYTES
from barnabas.wire.apis import API_VERSIONS, PRODUCE
from barnabas.wire.records import Record, build_batch

if TYPE_CHECKING:
    from barnabas.broker.controller.requests import ControllerRequests
    from barnabas.broker.partition.opened import OpenPartition
    from barnabas.broker.partition.table import PartitionTable
    from barnabas.core.cluster.image import MetadataImage
    from barnabas.link.asyncio_driver import AsyncLink
    from barnabas.wire.messages import ProduceRequestBody, ProduceResponse

log = logging.getLogger(__name__)

_PRODUCE_VERSION = 9
_SOFTWARE_VERSION = "1"
_GATHER_SECONDS = 0.1
_RETRY_SECONDS = 0.2
_RETRY_MAX_SECONDS = 2.0
_ANSWER_TIMEOUT_MS = 5_000
_CLOSE_SECONDS = 1.0


class AuditNode(Protocol):
    """Where the topic is led, and how it is made and reached."""

    @property
    def node_id(self) -> int: ...
    @property
    def image(self) -> MetadataImage: ...
    @property
    def partitions(self) -> PartitionTable: ...
    @property
    def peers(self) -> Peers: ...
    @property
    def controller_requests(self) -> ControllerRequests: ...
    @property
    def read_threads(self) -> Executor: ...


class AuditWriter:
    def __init__(self, node: AuditNode, file: AuditFile | None) -> None:
        self._node = node
        self._file = file
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._wake = asyncio.Event()
        self._introduced: AsyncLink | None = None
        self._task: asyncio.Task[None] | None = None
        self._troubles = LimitedLog(log, asyncio.get_running_loop().time)
        self._closing = False
        self.dropped = 0

    def put(self, line: bytes) -> None:
        if self._queued_bytes + len(line) > AUDIT_QUEUE_BYTES:
            self.dropped += 1
            return
        self._queue.append(line)
        self._queued_bytes += len(line)
        self._wake.set()

    @property
    def has_room(self) -> bool:
        """Is there room again for what tells how many were dropped?"""
        return self._queued_bytes < AUDIT_QUEUE_BYTES // 2

    def start(self) -> None:
        """Once the node knows the metadata."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Writes what is there, for a moment."""
        if self._task is None:
            return
        self._closing = True
        self._wake.set()
        await asyncio.wait([self._task], timeout=_CLOSE_SECONDS)
        self._task.cancel()

    async def _run(self) -> None:
        while self._queue or not self._closing:
            await self._wake.wait()
            if not self._closing:
                await asyncio.sleep(_GATHER_SECONDS)
            self._wake.clear()
            while self._queue:
                batch = self._next_batch()
                if self._file is not None:
                    await self._write_file(self._file, batch)
                await self._write_topic(batch)
            if self._closing:
                return

    def _next_batch(self) -> list[bytes]:
        batch: list[bytes] = []
        size = 0
        while self._queue and size < AUDIT_BATCH_BYTES:
            batch.append(self._queue.popleft())
            size += len(batch[-1])
        self._queued_bytes -= size
        return batch

    async def _write_file(self, file: AuditFile, batch: list[bytes]) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._node.read_threads, file.append, b"\n".join((*batch, b"")))
        except OSError as error:
            self._troubles.warning("file", f"audit.log.file={file.path} cannot be written: {error.strerror or error}")

    async def _write_topic(self, batch: list[bytes]) -> None:
        pause = _RETRY_SECONDS
        while True:
            try:
                await self._append(batch)
                return
            except (OSError, KafkaError) as error:
                why = error.message if isinstance(error, KafkaError) else str(error)
                self._troubles.warning("topic", f"{len(batch)} audit events wait for {AUDIT_TOPIC}: {why}")
            except Exception:  # a defect of ours costs these events, not all that come after them
                log.exception("%d audit events could not be written", len(batch))
                self.dropped += len(batch)
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, _RETRY_MAX_SECONDS)

    async def _append(self, batch: list[bytes]) -> None:
        node = self._node
        topic = node.image.topic(AUDIT_TOPIC)
        if topic is None:
            await node.controller_requests.create_internal_topic(AUDIT_TOPIC)
            topic = node.image.topic(AUDIT_TOPIC)
            if topic is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "it is being made")
        index = node.node_id % len(topic.partitions)
        leader = topic.partitions[index].leader
        if leader == NO_LEADER:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, "it has no leader")
        if leader == node.node_id:
            await self._append_here(index, batch)
        else:
            await self._produce(leader, index, batch)

    async def _append_here(self, index: int, batch: list[bytes]) -> None:
        partition = self._node.partitions.get(AUDIT_TOPIC, index)
        if partition is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "its leader is changing")
        opened: OpenPartition = partition.opened or partition.open()
        end = opened.appends.append_records([(b"", line) for line in batch], wall_ms())
        committed: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
        opened.when_committed(end, lambda code: None if committed.done() else committed.set_result(code))
        try:
            async with asyncio.timeout(_ANSWER_TIMEOUT_MS / 1000):
                code = await committed
        except TimeoutError:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "its replicas do not follow") from None
        if code is not ErrorCode.NONE:
            raise KafkaError(code, "its leader has changed")

    async def _produce(self, leader: int, index: int, batch: list[bytes]) -> None:
        connection = await self._node.peers.connection(leader, "audit")
        if connection is not self._introduced:
            who = {"client_software_name": NODE_SOFTWARE, "client_software_version": _SOFTWARE_VERSION}
            await connection.ask(API_VERSIONS, 3, who, _ANSWER_TIMEOUT_MS)
            self._introduced = connection
        now_ms = wall_ms()
        records = bytes(build_batch([Record(i, now_ms, b"", line, ()) for i, line in enumerate(batch)]))
        body: ProduceRequestBody = {
            "transactional_id": None,
            "acks": -1,
            "timeout_ms": _ANSWER_TIMEOUT_MS,
            "topic_data": [{"name": AUDIT_TOPIC, "partition_data": [{"index": index, "records": records}]}],
        }
        answer: ProduceResponse = await connection.ask(PRODUCE, _PRODUCE_VERSION, body, 2 * _ANSWER_TIMEOUT_MS)
        for topic in answer.responses:
            for item in topic.partition_responses:
                if item.error_code:
                    raise KafkaError(ErrorCode(item.error_code), item.error_message or ErrorCode(item.error_code).name)
