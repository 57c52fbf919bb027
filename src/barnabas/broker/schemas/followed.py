"""The schema ids that records may have, as this node follows them in `_schemas` (core/schemas/known.py).

    followed.identifiers(subject)     what is registered, as far as has been read
    await followed.catch_up()         everything that was registered before the call has been read

Nothing is read before the first `catch_up`: a node whose topics check no ids does nothing here. From then on one Fetch
waits at the leader of the topic, wherever that is (this node included, by the same way), as a consumer's with
read_committed does. Following ends, and what is known is dropped, when this node leads no topic any more that checks.

`catch_up` asks the leader for the last stable offset and waits until that is read. One question is under way at a time;
whoever comes meanwhile waits for the next one, since the first may have been answered already. After WAIT_SECONDS the
caller gets LEADER_NOT_AVAILABLE, which producers try again: nothing was stored. Where there is no such topic, nothing
is registered.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Container, Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker import clock
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.broker.peers.table import Peers
from barnabas.broker.roles import ClusterView
from barnabas.core.schemas.known import KnownSchemas
from barnabas.link.errors import LinkDown
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import SCHEMAS_TOPIC
from barnabas.wire.apis import FETCH, LIST_OFFSETS
from barnabas.wire.batch import BatchHeader
from barnabas.wire.compression import Codec
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import iter_opened, open_payload
from barnabas.wire.visible import next_offset, visible_batches

if TYPE_CHECKING:
    from barnabas.wire.messages import FetchResponse, ListOffsetsResponse

log = logging.getLogger(__name__)

WAIT_SECONDS = 1.0
_RETRY_SECONDS = 0.05
_LOOK_SECONDS = 30.0  # between two looks whether anybody still wants to know
_FETCH_WAIT_MS = 5_000
_FETCH_MAX_BYTES = 1024 * 1024
_ANSWER_MS = 5_000
_READ_COMMITTED, _LATEST = 1, -1
_FETCH_VERSION, _LIST_OFFSETS_VERSION = 13, 7  # later ones add nothing that is used
_PURPOSE = "schemas"  # a connection of its own: a Fetch that waits would hold up what others ask


class _Place(NamedTuple):
    """Where the topic is now."""

    topic_id: bytes
    leader: int
    leader_epoch: int


class FollowedSchemas:
    def __init__(
        self, cluster: ClusterView, peers: Peers, threads: Executor, is_wanted: Callable[[], bool] = lambda: True
    ) -> None:
        self._cluster = cluster
        self._peers = peers
        self._threads = threads
        self._is_wanted = is_wanted
        self.known = KnownSchemas()
        self._topic_id = b""
        self._position = 0  # the next offset to read
        self._moved = asyncio.Event()  # set and replaced when the position has moved
        self._failure = ""  # why the last fetch failed
        self._following: asyncio.Task[None] | None = None
        self._asking: asyncio.Task[bool] | None = None

    def identifiers(self, subject: str | None) -> Container[bytes]:
        return self.known.identifiers(subject)

    async def catch_up(self) -> None:
        """Raises KafkaError (LEADER_NOT_AVAILABLE) when the topic cannot be read to its end in time."""
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                earlier = self._asking
                if earlier is not None:
                    await asyncio.wait([earlier])
                if self._asking is earlier or self._asking is None:
                    self._asking = asyncio.ensure_future(self._catch_up())
                asking = self._asking
                await asyncio.wait([asking])
        except TimeoutError:
            raise self._not_read() from None
        if asking.cancelled() or not asking.result():
            raise self._not_read()

    def close(self) -> None:
        for task in (self._following, self._asking):
            if task is not None:
                task.cancel()

    def _not_read(self) -> KafkaError:
        why = self._failure or "it is not read to its end yet"
        return KafkaError(
            ErrorCode.LEADER_NOT_AVAILABLE, f"schema ids cannot be checked: {SCHEMAS_TOPIC} on this node: {why}"
        )

    # --- the end ----------------------------------------------------------------------------------------------------

    async def _catch_up(self) -> bool:
        """False when it could not be read to its end in time. Whoever waits may have gone meanwhile."""
        if self._following is None or self._following.done():
            self._following = asyncio.ensure_future(self._follow())
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._reach_end()
        except TimeoutError:
            return False
        return True

    async def _reach_end(self) -> None:
        while True:
            place = self._place()
            if place is None:
                self._begin_anew(b"")
                return
            try:
                end = await self._end(place)
                break
            except (LinkDown, KafkaError) as error:
                self._failure = str(error)
                await asyncio.sleep(_RETRY_SECONDS)
        while self._topic_id != place.topic_id or self._position < end:
            await self._moved.wait()

    async def _end(self, place: _Place) -> int:
        partition = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": _LATEST}
        body = {
            "replica_id": -1,
            "isolation_level": _READ_COMMITTED,
            "topics": [{"name": SCHEMAS_TOPIC, "partitions": [partition]}],
        }
        answer: ListOffsetsResponse = await self._peers.ask(
            place.leader, LIST_OFFSETS, _LIST_OFFSETS_VERSION, body, _ANSWER_MS
        )
        told = answer.topics[0].partitions[0] if answer.topics and answer.topics[0].partitions else None
        if told is None or told.error_code:
            raise _refusal(place, ErrorCode.UNKNOWN_SERVER_ERROR if told is None else told.error_code)
        return int(told.offset)

    # --- following --------------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        look_at = clock.source.monotonic() + _LOOK_SECONDS
        try:
            while True:
                if clock.source.monotonic() >= look_at:
                    look_at = clock.source.monotonic() + _LOOK_SECONDS
                    if not self._is_wanted():
                        return
                place = self._place()
                try:
                    if place is not None:
                        await self._read(place)
                        continue
                    self._begin_anew(b"")
                except (LinkDown, KafkaError, ProtocolError) as error:
                    self._failure = str(error)
                    log.info("%s cannot be read: %s", SCHEMAS_TOPIC, error)
                await asyncio.sleep(_RETRY_SECONDS)
        finally:
            self._begin_anew(b"")

    def _place(self) -> _Place | None:
        """None: there is no such topic. A leader of -1 is told as an error by whoever asks it."""
        topic = self._cluster.image.topics.get(SCHEMAS_TOPIC)
        if topic is None or not topic.partitions:
            return None
        return _Place(topic.id, topic.partitions[0].leader, topic.partitions[0].leader_epoch)

    def _begin_anew(self, topic_id: bytes) -> None:
        self.known.clear()
        self._topic_id, self._position = topic_id, 0

    async def _read(self, place: _Place) -> None:
        """One Fetch and what it brings."""
        if self._topic_id != place.topic_id:
            self._begin_anew(place.topic_id)
        connection = await self._peers.connection(place.leader, _PURPOSE)
        body = _fetch_body(place, self._position)
        answer: FetchResponse = await connection.ask(FETCH, _FETCH_VERSION, body, _FETCH_WAIT_MS + _ANSWER_MS)
        if self._topic_id != place.topic_id:
            return  # the topic was deleted meanwhile
        told = answer.responses[0].partitions[0] if answer.responses and answer.responses[0].partitions else None
        if told is None or answer.error_code:
            raise _refusal(place, answer.error_code or ErrorCode.UNKNOWN_SERVER_ERROR)
        if told.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            # Records before `log_start_offset` are gone, or the log was cut: only the whole is sure to be right.
            log.warning("%s has no offset %d any more: it is read again", SCHEMAS_TOPIC, self._position)
            self._begin_anew(place.topic_id)
            self._position = max(told.log_start_offset, 0)
            return
        if told.error_code:
            raise _refusal(place, told.error_code)
        if told.records:
            aborted = [(each.producer_id, each.first_offset) for each in told.aborted_transactions or ()]
            await self._apply(told.records, aborted, told.last_stable_offset)
        self._failure = ""
        self._moved.set()
        self._moved = asyncio.Event()

    async def _apply(self, records: memoryview, aborted: list[tuple[int, int]], end: int) -> None:
        begin, budget = self._position, LoopBudget()
        was_full = self.known.is_full
        for at, header in visible_batches(records, aborted, begin, end):
            with contextlib.suppress(ProtocolError):  # what a client wrote there in place of records
                await self._apply_batch(records[at : at + header.size], header, begin, budget)
        self._position = next_offset(records, begin)
        if self.known.is_full and not was_full:
            log.warning("%s has more schemas than this node keeps: ids of the newest are refused", SCHEMAS_TOPIC)

    async def _apply_batch(self, batch: memoryview, header: BatchHeader, begin: int, budget: LoopBudget) -> None:
        if header.codec is Codec.NONE:
            payload = open_payload(batch, header)
        else:
            loop = asyncio.get_running_loop()
            payload = await loop.run_in_executor(self._threads, open_payload, batch, header)
        for record in iter_opened(payload, header.record_count, header):
            if record.offset >= begin:
                self.known.apply(record.key, record.value)
            await budget.pause()


def _refusal(place: _Place, code: int) -> KafkaError:
    known = code if code in ErrorCode._value2member_map_ else ErrorCode.UNKNOWN_SERVER_ERROR
    return KafkaError(ErrorCode(known), f"its leader, node {place.leader}, answers {ErrorCode(known).name}")


def _fetch_body(place: _Place, position: int) -> Mapping[str, object]:
    partition = {
        "partition": 0,
        "current_leader_epoch": -1,
        "fetch_offset": position,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": _FETCH_MAX_BYTES,
    }
    return {
        "replica_id": -1,
        "max_wait_ms": _FETCH_WAIT_MS,
        "min_bytes": 1,
        "max_bytes": _FETCH_MAX_BYTES,
        "isolation_level": _READ_COMMITTED,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": SCHEMAS_TOPIC, "topic_id": place.topic_id, "partitions": [partition]}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
