"""Fetching many partitions from one broker, of this cluster or of another: the connection, the session, the back-off.

One connection and one incremental fetch session (KIP-227) for all of them. A partition is named in a request only when
its fetch state has changed: it is new here, its log has grown or was truncated. Usually one fetch is under way, and is
parked at the leader while nothing is written; when partitions have to be named meanwhile (a new leader, a flush that
is done), a second one is sent behind it, and the leader answers the first at once.

From a leader that is far away several are under way while records come, so that a record finds one that waits for it
(fetch/follower_sessions.py). They continue each other: each names only partitions whose answers were all appended. One
whose were not is named anew in a fetch that does not continue, and passed over in answers to earlier ones.

What is asked for and what becomes of an answer is said by who uses it: fetcher.py for the followers of this cluster,
cluster_links/fetcher.py for the leaders of partitions that a link fills.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from barnabas.broker import clock
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.slow_openings import BeingOpened
from barnabas.broker.replication.environment import FetcherHost, ReplicaIO
from barnabas.broker.replication.fetch_settings import FetchLimits
from barnabas.broker.replication.fetches_ahead import AHEAD_MAX, FetchesAhead
from barnabas.broker.replication.followed import NOT_YET, SESSION_ERRORS, Answered, Followed, Key
from barnabas.link.asyncio_driver import AsyncLink
from barnabas.link.errors import LinkDown
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.codec import decode_response
from barnabas.wire.errors import ProtocolError
from barnabas.wire.fetch.request import VERSION, Wanted

log = logging.getLogger(__name__)

_FETCH = 1
_NAMED_AT_ONCE = 500  # partitions of one request
_FORGOTTEN_AT_ONCE = 5_000  # the same; a request has a limit for all that it names
_MANY = 100  # partitions: the leader takes milliseconds to look at them, and reads all that has come in one go
_STEP_SECONDS = 0.01  # naming or taking partitions before others have their turn
_PIPELINED = 2
_BACKOFF_SECONDS = 0.02  # at first; doubled each time up to replica.fetch.backoff.ms
_PAUSE_SECONDS = 0.5  # between two looks at a disk that is full


class PartitionFetcher(ABC):
    """`source` names the broker in log lines."""

    def __init__(self, source: str, io: ReplicaIO, host: FetcherHost) -> None:
        self._source_name = source
        self._io, self._host = io, host
        self._loop = asyncio.get_running_loop()
        self._version = VERSION  # of Fetch
        self._pipelined = _PIPELINED
        self._ahead = FetchesAhead(allowed=False)
        self._followed: dict[Key, Followed] = {}
        self._due: dict[Key, None] = {}  # to be named in the next fetch
        self._named: dict[Key, None] = {}  # in the session
        self._forgotten: dict[Key, None] = {}
        self._held: dict[Key, None] = {}
        self._answers: deque[tuple[AsyncLink, int, Iterator[tuple[bytes, Answered]]]] = deque()  # not yet processed
        self._connection: AsyncLink | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._backoff = 0.0
        self._session = (0, 0)
        self._requests = self._under_way = 0
        self._large: set[int] = set()  # those under way that name many
        self.answered_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0
        self._woken = self.closed = False

    def __len__(self) -> int:
        return len(self._followed)

    # --- of this kind of fetcher --------------------------------------------------------------------------------------

    @property
    def _limits(self) -> FetchLimits:
        """Of the next fetch."""
        return self._host.limits

    @abstractmethod
    async def _open_connection(self) -> AsyncLink:
        """To the source; LinkDown where it cannot be had."""

    @abstractmethod
    def _request(
        self,
        topics: Mapping[bytes, Sequence[Wanted]],
        forgotten: Mapping[bytes, Sequence[int]],
        limits: FetchLimits,
        *,
        continues: bool,
    ) -> bytes:
        """The body of the next fetch of the session."""

    @abstractmethod
    def _wanted(self, key: Key, followed: Followed) -> Wanted | None:
        """The partition as the fetch names it; None when it cannot be named yet."""

    @abstractmethod
    def _process(self, key: Key, followed: Followed, part: Answered) -> None:
        """What came for a partition."""

    # --- followed partitions ------------------------------------------------------------------------------------------

    def add(self, key: Key, followed: Followed) -> None:
        self._followed[key] = followed
        self._held.pop(key, None)
        self._forgotten.pop(key, None)
        self._fetch_soon(key)

    def remove(self, key: Key) -> None:
        if self._followed.pop(key, None) is not None:
            self._due.pop(key, None)
            self._held.pop(key, None)
            if key in self._named:
                self._forgotten[key] = None
            self._wake()

    def _fetch_soon(self, key: Key) -> None:
        self._due[key] = None
        self._wake()

    def _wake(self) -> None:
        """In the next turn of the loop: thousands of partitions may change their leader at once."""
        if not self._woken and not self.closed:
            self._woken = True
            self._loop.call_soon(self._pump)

    # --- requests -----------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        self._woken = False
        if self.closed or self._answers or not (self._followed or self._forgotten):
            return
        if self._io.disk_space.is_lacking:
            self._pause()
            return
        if self._connection is None or self._connection.closed:
            self._connect()
            return
        while self._may_send():
            self._send(self._connection)

    def _may_send(self) -> bool:
        if self._under_way == 0:
            return True
        if self._session[0] == 0:
            return False  # the first of a session
        if len(self._due) > _MANY:
            return len(self._large) < _PIPELINED
        if self._due or self._forgotten:
            return self._under_way < (AHEAD_MAX + _PIPELINED if self._ahead.continue_each_other else self._pipelined)
        return self._under_way < self._ahead.count(self._loop.time(), self._limits.wait_ms)

    def _pause(self) -> None:
        """The disk is full. A follower that fetches counts as one that keeps up, so it does not fetch either."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._under_way = 0
        self._woken = True
        self._loop.call_later(_PAUSE_SECONDS, self._pump)

    def _send(self, connection: AsyncLink) -> None:
        limits = self._limits
        self._requests += 1
        topics: dict[bytes, list[Wanted]] = {}
        until = clock.source.monotonic() + _STEP_SECONDS
        keys, continues = self._next_named()
        for key in keys:
            del self._due[key]
            followed = self._followed[key]
            wanted = self._wanted(key, followed)
            anew = followed.named_in == NOT_YET or (wanted is not None and wanted.fetch_offset < followed.named_offset)
            if wanted is not None and continues and anew:
                followed.named_in = NOT_YET  # its log begins anew
                self._due[key] = None
            elif wanted is not None:
                followed.named_offset = wanted.fetch_offset
                topics.setdefault(key[0], []).append(wanted)
                self._named[key] = None
                self._forgotten.pop(key, None)
                followed.named_in = min(followed.named_in, self._requests)
            if clock.source.monotonic() >= until:
                break  # the others with the next one
        forgotten: dict[bytes, list[int]] = {}
        for topic_id, index in list(islice(self._forgotten, _FORGOTTEN_AT_ONCE)):
            forgotten.setdefault(topic_id, []).append(index)
            self._named.pop((topic_id, index), None)
            del self._forgotten[topic_id, index]
        if self._due and continues:
            limits = limits._replace(wait_ms=0)  # answered at once, so that the others can be named
        self._large |= {self._requests} if len(keys) > _MANY else set()
        body = self._request(topics, forgotten, limits, continues=continues)
        session_id, epoch = self._session
        self._session = (session_id, 1 if epoch == 0x7FFFFFFF else epoch + 1)
        self._under_way += 1
        answer = connection.ask_raw(_FETCH, self._version, body, limits.wait_ms + limits.timeout_ms)
        answer.add_done_callback(partial(self._answered, connection, self._requests, clock.source.monotonic()))

    def _next_named(self) -> tuple[list[Key], bool]:
        """The partitions to name, and whether the fetch continues those before it."""
        if not self._ahead.continue_each_other:
            return list(islice(self._due, _NAMED_AT_ONCE)), False
        anew = list(islice((k for k in self._due if self._followed[k].named_in == NOT_YET), _NAMED_AT_ONCE))
        if anew or self._forgotten:
            return anew, False
        return list(islice(self._due, _NAMED_AT_ONCE)), True

    def _opened(self, key: Key, followed: Followed) -> OpenPartition | None:
        """The partition, if its log can be fetched for now; else it is named when that has changed."""
        partition = followed.partition
        if self._host.open_soon(partition, partial(self._fetch_again, key, followed)):
            return None
        try:
            opened = partition.open()
        except BeingOpened:
            partition.when_opened(partial(self._fetch_again, key, followed))
            return None
        except KafkaError as error:
            log.error("%s cannot be followed: %s", partition.id, error.message)
            self._hold(key, followed)
            return None
        if self._waits_for_producers(opened):
            opened.follower.when_rebuilt = partial(self._fetch_again, key, followed)
            return None
        return opened

    def _waits_for_producers(self, opened: OpenPartition) -> bool:
        """Are they being read again from the log, so that nothing can be appended yet?"""
        return opened.rebuild is not None

    # --- answers ------------------------------------------------------------------------------------------------------

    def _answered(self, link: AsyncLink, number: int, begun: float, answer: "asyncio.Future[memoryview]") -> None:
        if self.closed or link is not self._connection:
            return
        self._under_way -= 1
        self._large.discard(number)
        taken = clock.source.monotonic() - begun
        self._host.fetch_times.add(taken)
        self._ahead.answered(taken, self._loop.time(), in_session=self._session[0] != 0)
        try:
            response = decode_response(_FETCH, self._version, answer.result())
        except (LinkDown, ProtocolError, asyncio.CancelledError) as error:
            self._connection_lost(link, str(error))
            return
        self._backoff = 0.0
        self.answered_at = self._loop.time()
        if response.error_code:
            self._refused(ErrorCode(response.error_code))
            return
        if self._session[0] == 0:
            self._session = (response.session_id, 1 if response.session_id else 0)
            if not response.session_id:  # the source has too many sessions: every fetch names all partitions
                self._due |= dict.fromkeys(key for key in self._followed if key not in self._held)
        parts = ((topic.topic_id, part) for topic in response.responses for part in topic.partitions)
        self._answers.append((link, number, parts))
        if len(self._answers) == 1:
            self._process_answers()

    def _process_answers(self) -> None:
        """In several turns: the first records of a thousand partitions create as many folders."""
        until = clock.source.monotonic() + _STEP_SECONDS
        while self._answers:
            connection, number, parts = self._answers[0]
            for topic_id, part in parts:
                if self.closed or connection is not self._connection:
                    break  # the next session names all of them anew
                key = (topic_id, part.partition_index)
                followed = self._followed.get(key)
                if followed is not None and followed.named_in <= number:
                    if part.records:
                        self._ahead.received(self._loop.time())
                    self._process(key, followed, part)
                if clock.source.monotonic() >= until:
                    self._loop.call_soon(self._process_answers)
                    return
            self._answers.popleft()
        self._pump()

    def _truncated(self, key: Key, followed: Followed) -> None:
        """Named again when the recovery point of the truncated log is written."""
        followed.named_in = NOT_YET
        self._due.pop(key, None)
        self._host.write_recovery_points(partial(self._fetch_again, key, followed))

    def _fetch_again(self, key: Key, followed: Followed) -> None:
        if self._followed.get(key) is followed and not self.closed:
            self._fetch_soon(key)

    # --- failures -----------------------------------------------------------------------------------------------------

    def _refused(self, code: ErrorCode) -> None:
        if code not in SESSION_ERRORS:
            log.warning("%s refuses to be followed: %s", self._source_name, code.name)
        if self._session[0] or code not in SESSION_ERRORS:
            self._begin_session()
        if self._under_way == 0:
            self._wake()

    def _begin_session(self) -> None:
        self._session = (0, 0)
        self._ahead.continue_each_other = False
        self._named.clear()
        self._forgotten.clear()
        for key, followed in self._followed.items():
            followed.named_in = NOT_YET
            if key not in self._held:
                self._due[key] = None

    def _hold(self, key: Key, followed: Followed, code: ErrorCode | None = None) -> None:
        """Back off: the image of one of the brokers is behind, or the disk of the leader fails."""
        followed.named_in = NOT_YET
        self._due.pop(key, None)
        followed.backoff = self._doubled(followed.backoff)
        if code is not None:
            log.debug("%s: %s says %s", followed.partition.id, self._source_name, code.name)
        self._hold_until(key, followed, self._loop.time() + followed.backoff)

    def _hold_until(self, key: Key, followed: Followed, due: float) -> None:
        followed.held_until = due
        self._held[key] = None
        if self._timer is None or due < self._timer_due:
            if self._timer is not None:
                self._timer.cancel()
            self._call_release_at(due)

    def _call_release_at(self, due: float) -> None:
        """The due time is kept here: for a moment that is less than half a millisecond away, uvloop's call_at gives a
        Handle that has no when()."""
        self._timer_due = due
        self._timer = self._loop.call_at(due, self._release)

    def _release(self) -> None:
        self._timer = None
        now = self._loop.time()
        next_due: float | None = None
        for key in list(self._held):
            due = self._followed[key].held_until
            if due <= now:
                self._followed[key].throttled = False
                del self._held[key]
                self._due[key] = None
            else:
                next_due = due if next_due is None else min(next_due, due)
        if next_due is not None:
            self._call_release_at(next_due)
        self._wake()

    def _connect(self) -> None:
        if self._connecting is None:
            self._connecting = asyncio.ensure_future(self._reach())

    async def _reach(self) -> None:
        """A connection to the source, however often it has to be tried."""
        try:
            while not self.closed:
                if self._backoff:
                    await asyncio.sleep(self._backoff)
                try:
                    self._connection = await self._open_connection()
                    break
                except LinkDown as error:
                    log.debug("%s cannot be reached: %s", self._source_name, error)
                    self._backoff = self._doubled(self._backoff)
        finally:
            self._connecting = None
        self._under_way = 0
        self._large.clear()
        self._ahead.connected()
        self._begin_session()
        self._wake()

    def _doubled(self, backoff: float) -> float:
        return min(max(backoff * 2, _BACKOFF_SECONDS), self._host.limits.backoff_seconds)

    def _connection_lost(self, connection: AsyncLink, why: str) -> None:
        log.info("the connection to %s, which this node follows, is gone: %s", self._source_name, why)
        connection.close()
        self._connection = None
        self._under_way = 0
        self._backoff = self._doubled(self._backoff)
        self._wake()

    def close(self) -> None:
        self.closed = True
        for waiting in (self._timer, self._connecting):
            if waiting is not None:
                waiting.cancel()
        if self._connection is not None:
            self._connection.close()
