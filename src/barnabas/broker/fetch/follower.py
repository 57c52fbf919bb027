"""Fetch from a follower: it is sent bytes up to the end of the log, and its fetch offset says what it holds.

Only a replica of the partition is served, in the leader's own epoch, with the epoch of its broker (CVE-2018-1288: who
poses as a follower could otherwise move the high watermark). When there is nothing to send, the fetch is parked until
bytes are appended to one of its partitions. The first fetch of a session is answered at once: until the follower knows
its session it could not say anything else. Partitions that are in sync are read first; of the others an answer has no
more than their pace allows (refill.py). Fetches that continue wait behind each other (follower_sessions.py); only the
oldest reads, so that answers leave in the order of the log.
"""

import asyncio
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Protocol

from barnabas.broker import clock
from barnabas.broker.fetch.answer import pack
from barnabas.broker.fetch.cold_reads import make_ready, not_ready
from barnabas.broker.fetch.follower_reader import LeadingNode, read_slot
from barnabas.broker.fetch.follower_sessions import NO_SESSION, NOTHING_AHEAD, FollowerSession, Slot
from barnabas.broker.fetch.reader import PartitionRead
from barnabas.broker.fetch.sessions import Wanted
from barnabas.broker.network.connection import Reply
from barnabas.model.errors import KafkaError
from barnabas.wire.fetch.answer import fetch_response_pieces

if TYPE_CHECKING:
    from barnabas.wire.messages import FetchRequest

_BY_ID_SINCE = 13
_INITIAL_EPOCH = 0
_READ_SECONDS = 0.01


class FollowedNode(LeadingNode, Protocol):
    @property
    def clock(self) -> clock.Clock: ...
    @property
    def read_threads(self) -> Executor: ...


def follower_of(request: "FetchRequest") -> tuple[int, int]:
    """(replica id, broker epoch) of a fetch; -1 for a consumer's. Since version 15 they stand in a tag (KIP-903)."""
    state = request.replica_state
    if state.replica_id >= 0:
        return state.replica_id, state.replica_epoch
    return request.replica_id, -1


def handle(
    node: FollowedNode, request: "FetchRequest", version: int, correlation_id: int, replica_id: int, broker_epoch: int
) -> "Reply | asyncio.Future[Reply]":
    sessions = node.replication.sessions
    now_ms = node.clock.steady_ms()
    try:
        registered = replica_id in node.image.brokers  # for any other number a client makes up nothing is kept
        session = sessions.session_for(
            request, version >= _BY_ID_SINCE, replica_id, broker_epoch, now_ms, may_keep=registered
        )
    except KafkaError as error:
        return fetch_response_pieces(version, correlation_id, (), error_code=int(error.code))[0]
    if session.came_back:
        node.replication.refill.fetched(session.delay)
    fetch = _FollowerFetch(node, session, request, version, correlation_id)
    if session.waiting:
        waiting = fetch.wait(request.max_wait_ms)
        session.serve()
        return waiting
    found = fetch.read()
    if found >= request.min_bytes or fetch.urgent or request.max_wait_ms <= 0:
        reply = fetch.answer()
        if session.id == NO_SESSION:
            session.close()  # its partitions would remember it
        return reply
    return fetch.park(request.max_wait_ms)


class _FollowerFetch:
    __slots__ = (
        "_correlation_id",
        "_future",
        "_held_back",
        "_incremental",
        "_loop",
        "_max_bytes",
        "_min_bytes",
        "_node",
        "_reads",
        "_session",
        "_timer",
        "_version",
        "_woken",
        "urgent",
    )

    def __init__(
        self, node: FollowedNode, session: FollowerSession, request: "FetchRequest", version: int, correlation_id: int
    ) -> None:
        self._node = node
        self._session = session
        self._version = version
        self._correlation_id = correlation_id
        self._incremental = request.session_epoch > _INITIAL_EPOCH
        self._max_bytes: int = request.max_bytes
        self._min_bytes: int = request.min_bytes
        self._reads: list[PartitionRead] = []
        self._future: asyncio.Future[Reply] | None = None
        self._woken = False
        self._held_back = False  # is there more for a replica that is not in sync than its pace allows?
        self.urgent = not self._incremental  # must the answer leave at once?

    # --- reading ------------------------------------------------------------------------------------------------------

    def read(self) -> int:
        """Read what is ready; gives how many bytes. What exceeds the maximum stays ready, and so does what would hold
        the loop for too long: the follower is answered, and fetches again."""
        session, room, found = self._session, self._max_bytes, 0
        left: dict[Slot, None] = {}
        ready, session.ready, session.unread = _in_sync_first(session.ready), {}, False
        slots, until = iter(ready), clock.source.monotonic() + _READ_SECONDS
        pace, filled = self._node.replication.refill, 0
        self._held_back = False
        for slot in slots:
            if slot.awaiting:
                continue
            read = PartitionRead(slot)
            if slot.is_filling:
                allowed = pace.room() - filled
                here = min(room - found, allowed)
                full = read_slot(self._node, session, slot, read, here, min_one_batch=not found and allowed > 0)
                filled += min(slot.max_bytes, here) if read.is_cold else read.size
                self._held_back |= full and allowed < room - found
            else:
                full = read_slot(self._node, session, slot, read, room - found, min_one_batch=not found)
            being_opened = read.partition is None and not read.error_code
            if read.error_code or read.diverging_epoch is not None:
                self.urgent = slot.awaiting = True
                slot.sent_to = NOTHING_AHEAD
            elif read.slice is not None or read.is_cold:
                if session.continues and not slot.is_filling and (end := _sent_to_the_end(read)) is not None:
                    slot.sent_to = end
                elif slot.sent_to == NOTHING_AHEAD:
                    slot.awaiting = True
                    self.urgent = self.urgent or read.is_cold
                else:
                    read.leave_out()  # not before the follower has named what it was sent
                    left[slot] = None
            elif full:
                left[slot] = None
            found += read.size
            if not being_opened:
                self._reads.append(read)
            if clock.source.monotonic() >= until:
                rest = dict.fromkeys(slots)
                left = rest | left  # first in turn the next time
                self.urgent = self.urgent or any(slot.named for slot in rest)
                throttled = bool(self._node.replication.leader_throttle.rate)
                session.unread = session.unread or (bool(rest) and not throttled)
        session.ready = left | session.ready  # reading may have moved a high watermark, and made others ready
        return found

    # --- answering ----------------------------------------------------------------------------------------------------

    def answer(self) -> "Reply | asyncio.Future[Reply]":
        for read in self._reads:
            if read.is_cold or (read.slice is not None and not_ready(read.slice)):
                return asyncio.ensure_future(self._answer_when_ready())
        return self._pack()

    async def _answer_when_ready(self) -> Reply:
        late = [read for read in self._reads if read.is_cold or (read.slice is not None and not_ready(read.slice))]
        await make_ready(self._node.read_threads, self._reads)
        for read in late:
            slot = read.wanted
            if not isinstance(slot, Slot) or slot.partition is None:
                continue  # it was forgotten meanwhile
            if slot.awaiting and read.slice is None and not read.error_code:
                slot.awaiting = False  # nothing was sent after all
                self._session.ready[slot] = None
        return self._pack()

    def _pack(self) -> Reply:
        session, throttle = self._session, self._node.replication.leader_throttle
        for read in self._reads if throttle.rate else ():
            if read.size and read.partition is not None and throttle.holds_for(read.partition, session.replica_id):
                throttle.count(read.size, self._node.replication.loop_time())
        for read in self._reads:
            if read.size and isinstance(read.wanted, Slot) and read.wanted.is_filling:
                self._node.replication.refill.sent(read.size, session.delay)
        return pack(
            self._version,
            self._correlation_id,
            self._reads,
            session.id,
            incremental=self._incremental,
            served=_nothing,
            to_follower=True,
        )

    # --- waiting ------------------------------------------------------------------------------------------------------

    def wait(self, wait_ms: int) -> "asyncio.Future[Reply]":
        self._loop = asyncio.get_running_loop()
        self._future = self._loop.create_future()
        self._future.add_done_callback(self._leave)
        self._timer = self._loop.call_later(wait_ms / 1000, self._time_is_up)
        self._session.waiting.append(self)
        return self._future

    def park(self, wait_ms: int) -> "asyncio.Future[Reply]":
        future = self.wait(wait_ms)
        self._found_nothing()
        return future

    def _found_nothing(self) -> None:
        for read in self._reads:  # a changed watermark alone is worth no answer: it is sent with the next
            if read.wanted.has_changed(read.high_watermark, read.log_start_offset) and isinstance(read.wanted, Slot):
                self._session.ready.setdefault(read.wanted)
        self._reads = []
        if self._held_back:
            self._loop.call_later(self._node.replication.refill.wait_seconds(), self.wake)
        if self._session.unread:  # the offset of this fetch has released a reply, and that caused another append
            self.wake()

    def look(self) -> None:
        """Something was named by a fetch behind this one: answer if there is anything to send now."""
        self._end(with_nothing=False)

    def _time_is_up(self) -> None:
        """Those before it first: answers leave in the order of the fetches."""
        while self in self._session.waiting:
            self._session.waiting[0].finish()

    def wake(self) -> None:
        """Bytes have come. In the next turn of the loop: appends that arrive together share an answer."""
        if not self._woken:
            self._woken = True
            self._loop.call_soon(self.finish)

    def finish(self) -> None:
        self._end(with_nothing=True)

    def finish_with_nothing(self) -> None:
        self._leave()
        if self._future is not None and not self._future.done():
            self._future.set_result(self._pack())

    def _end(self, *, with_nothing: bool) -> None:
        future = self._future
        if future is None or future.done():
            self._leave()
            return
        try:
            if self.read() < self._min_bytes and not self.urgent and not with_nothing:
                self._found_nothing()
                return
            self._leave()
            reply = self.answer()
        except Exception as error:  # whatever it is, the request that waits must get it
            self._leave()
            future.set_exception(error)
            return
        if isinstance(reply, asyncio.Future):
            reply.add_done_callback(self._pass_on)
        else:
            future.set_result(reply)
        if self._session.unread and self._session.waiting:  # as in _found_nothing
            self._session.waiting[0].wake()

    def _pass_on(self, inner: "asyncio.Future[Reply]") -> None:
        future = self._future
        if future is None or future.done() or inner.cancelled():
            return
        if error := inner.exception():
            future.set_exception(error)
        else:
            future.set_result(inner.result())

    def _leave(self, _: object = None) -> None:
        self._timer.cancel()
        if self in self._session.waiting:
            self._session.waiting.remove(self)


def _sent_to_the_end(read: PartitionRead) -> int | None:
    """The end of the log, if all up to it is in the answer and nothing has to be waited for."""
    piece, opened = read.slice, read.opened
    if piece is None or opened is None or piece.segment is not opened.log.segments[-1] or not_ready(piece):
        return None
    return opened.log.log_end_offset if piece.position + piece.length == piece.segment.size else None


def _in_sync_first(ready: dict[Slot, None]) -> dict[Slot, None]:
    """As they are, where all are in sync or none is."""
    filling = [slot for slot in ready if slot.is_filling]
    if not filling or len(filling) == len(ready):
        return ready
    return dict.fromkeys([*(slot for slot in ready if not slot.is_filling), *filling])


def _nothing(_: Wanted) -> None:
    pass
