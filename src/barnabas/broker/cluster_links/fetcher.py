"""Fills the partitions of one link whose leaders at the source are on one broker (replication/fetching.py).

To the source it is a consumer: it is given what is committed there, so nothing that is fetched is taken back but by an
unclean election.

| what comes for a partition                | what is done                                                            |
|-------------------------------------------|-------------------------------------------------------------------------|
| records                                   | appended as they are, and named again                                   |
| a diverging epoch                         | what the source does not have is kept in a file and cut off             |
| OFFSET_OUT_OF_RANGE                       | the source is asked where its log begins; we go on there, and count     |
| an error about who leads                  | the link looks for the leader                                           |
| any other error, or a wrong CRC           | fetched again later, with a backoff; `link status` shows it             |
| only a high watermark or start offset     | noted; our log begins where the source's does                           |
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Protocol

from barnabas.broker.cluster_links import linked_log
from barnabas.broker.cluster_links.linked import Linked
from barnabas.broker.cluster_links.source import log_range
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.replication.environment import FetcherHost, ReplicaIO
from barnabas.broker.replication.fetch_settings import FetchLimits
from barnabas.broker.replication.fetching import PartitionFetcher
from barnabas.broker.replication.followed import Answered, Followed, Key
from barnabas.broker.replication.throttle import ByteRate
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.asyncio_driver import AsyncLink
from barnabas.link.codes import Remedy, name_of, remedy
from barnabas.link.errors import LinkDown, LoginFailed, UnknownApi
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.apis import FETCH
from barnabas.wire.fetch.request import FIRST_VERSION, VERSION, Wanted, fetch_body

log = logging.getLogger(__name__)

_IDLE_AFTER_SECONDS, _IDLE_WAIT_MS = 30.0, 30_000
_IDLE_PATIENCE_MS = 10_000  # beyond that wait: a connection that is gone without a word is noticed after 40 s
_START_AGAIN_S = 0.5


class LinkOfFetcher(Protocol):
    """The link as its fetchers see it."""

    nodes: AsyncNodes
    rate: ByteRate

    def leader_unknown(self, linked: Linked) -> None:
        """The broker that was asked does not lead the partition."""

    def look_again(self, broker_id: int) -> None:
        """This broker of the source is gone: others may lead what it led."""

    def source_failed(self, why: str) -> None: ...

    def source_reached(self) -> None: ...


class LinkFetcher(PartitionFetcher):
    def __init__(self, broker_id: int, name: str, link: LinkOfFetcher, io: ReplicaIO, host: FetcherHost) -> None:
        super().__init__(f"broker {broker_id} of link {name!r}", io, host)
        self._broker_id, self._link = broker_id, link
        self._pipelined = 1  # a consumer's second fetch waits at the source until the first one is answered
        self._linked: dict[Key, Linked] = {}
        self._busy: set[Key] = set()
        self._last_event = self._loop.time()  # records came, or a partition had to be named
        self._waits_long = False  # the fetch that is under way
        self._tasks: set[asyncio.Task[None]] = set()
        self._starts: dict[Key, int] = {}  # where logs of ours are to begin as soon as that much is committed here

    def follow(self, linked: Linked, leader_epoch: int) -> None:
        key = _key(linked)
        self._linked[key] = linked
        self.add(key, Followed(linked.partition, leader_epoch))

    def unfollow(self, linked: Linked) -> None:
        key = _key(linked)
        self._linked.pop(key, None)
        self.remove(key)

    # --- requests -----------------------------------------------------------------------------------------------------

    async def _open_connection(self) -> AsyncLink:
        try:
            connection, versions = await self._link.nodes.open_to(self._broker_id)
            self._version = versions.must(FETCH, VERSION)
        except (LoginFailed, UnknownApi) as error:
            self._link.source_failed(str(error))
            raise LinkDown(str(error)) from None
        except LinkDown as error:
            self._link.source_failed(str(error))
            self._link.look_again(self._broker_id)
            raise
        if self._version < FIRST_VERSION:
            connection.close()
            problem = "the source does not know topics by id: it must be Apache Kafka 3.1 or later, or Barnabas"
            self._link.source_failed(problem)
            raise LinkDown(problem)
        self._link.source_reached()
        return connection

    @property
    def _limits(self) -> FetchLimits:
        """A fetch of many partitions costs the source milliseconds even when nothing comes of it, so it waits longer
        where nothing has happened for a while."""
        limits = self._host.limits
        self._waits_long = not self._held and self._loop.time() - self._last_event >= _IDLE_AFTER_SECONDS
        if not self._waits_long:
            return limits
        return limits._replace(
            wait_ms=max(_IDLE_WAIT_MS, limits.wait_ms), timeout_ms=min(_IDLE_PATIENCE_MS, limits.timeout_ms)
        )

    def _fetch_soon(self, key: Key) -> None:
        self._last_event = self._loop.time()
        if self._waits_long and self._under_way and self._connection is not None:
            self._waits_long = False  # a new session names it at once; the fetch that waits would be answered later
            self._connection.close()
            self._connection, self._under_way = None, 0
        super()._fetch_soon(key)

    def _request(
        self,
        topics: Mapping[bytes, Sequence[Wanted]],
        forgotten: Mapping[bytes, Sequence[int]],
        limits: FetchLimits,
        *,
        continues: bool,
    ) -> bytes:
        """It never continues: a source may be Apache Kafka."""
        return fetch_body(self._session, topics, forgotten, limits, None, self._version)

    def _wanted(self, key: Key, followed: Followed) -> Wanted | None:
        max_bytes = self._host.limits.partition_max_bytes
        if followed.partition.untouched:
            return Wanted(key[1], followed.epoch, 0, -1, -1, max_bytes)
        opened = self._opened(key, followed)
        if opened is None:
            return None
        own = opened.log
        return Wanted(key[1], followed.epoch, own.log_end_offset, own.epochs.latest, -1, max_bytes)

    # --- answers ------------------------------------------------------------------------------------------------------

    def _process(self, key: Key, followed: Followed, part: Answered) -> None:
        linked, partition, code = self._linked[key], followed.partition, part.error_code
        if key in self._busy:
            return
        if partition.opened is not None and partition.opened.rebuild is not None:
            self._due[key] = None  # it is not named before its producers are known
            return
        try:
            if code:
                self._failed(key, followed, linked, code)
                return
            if part.diverging_epoch.epoch >= 0:
                own, diverging = partition.open(), part.diverging_epoch
                offset = own.follower.truncation_point(diverging.epoch, diverging.end_offset)
                self._begin(key, followed, self._cut(key, followed, own, offset))
                return
            if part.records:
                self._last_event = self._loop.time()
                linked.bytes_in += linked_log.append(partition.open(), part.records)
                self._fetch_more(key, followed, len(part.records))
            followed.backoff = 0.0
            linked.heard(part.high_watermark)
            if not partition.untouched or part.log_start_offset > 0:
                self._follow_start(key, followed, partition.open(), part.log_start_offset)
        except KafkaError as error:
            self._hold_for(key, followed, error.message or error.code.name)

    def _follow_start(self, key: Key, followed: Followed, opened: OpenPartition, source_start: int) -> None:
        if source_start > opened.log.log_end_offset:  # nothing of ours is left there, and nothing was fetched
            self._skip_to(key, followed, opened, source_start)
        else:
            linked_log.follow_start(opened, source_start)
            if opened.log.log_start_offset < source_start:
                self._follow_start_later(key, source_start)

    def _follow_start_later(self, key: Key, source_start: int) -> None:
        """The source does not say it again."""
        if key not in self._starts:
            self._loop.call_later(_START_AGAIN_S, self._follow_start_again, key)
        self._starts[key] = source_start

    def _follow_start_again(self, key: Key) -> None:
        """Once followers, or the disk, have what was fetched with it."""
        source_start, followed = self._starts.pop(key), self._followed.get(key)
        if followed is None or not self._is_current(key, followed) or followed.partition.opened is None:
            return
        try:
            if key not in self._busy:
                self._follow_start(key, followed, followed.partition.opened, source_start)
                return
        except KafkaError as error:
            log.debug("%s: its log begins at the source's %d later: %s", followed.partition.id, source_start, error)
        self._follow_start_later(key, source_start)

    def _fetch_more(self, key: Key, followed: Followed, size: int) -> None:
        rate, now = self._link.rate, self._loop.time()
        rate.count(size, now)
        wait = rate.wait_seconds(now)
        if wait:
            self._hold_until(key, followed, now + wait)
        else:
            self._due[key] = None

    def _failed(self, key: Key, followed: Followed, linked: Linked, code: int) -> None:
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._begin(key, followed, self._find_range(key, followed, linked))
            return
        if remedy(code) is Remedy.LEADER or code == ErrorCode.UNKNOWN_LEADER_EPOCH:
            linked.error = f"the source: {name_of(code)}"
            self._hold(key, followed, ErrorCode(code))
            self._link.leader_unknown(linked)
            return
        self._hold_for(key, followed, f"the source: {name_of(code)}")

    def _hold_for(self, key: Key, followed: Followed, why: str) -> None:
        linked = self._linked[key]
        if linked.error != why:
            log.warning("%s from %s: %s", followed.partition.id, self._source_name, why)
        linked.error = why
        self._hold(key, followed)

    # --- what takes longer --------------------------------------------------------------------------------------------

    def _begin(self, key: Key, followed: Followed, work: Coroutine[None, None, None]) -> None:
        """The partition is not fetched meanwhile; whatever comes of it names it again."""
        self._busy.add(key)
        self._forget(key)
        task = asyncio.ensure_future(self._guarded(key, followed, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, key: Key, followed: Followed, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except (KafkaError, LinkDown, LoginFailed, UnknownApi, OSError) as error:
            if self._is_current(key, followed):
                self._hold_for(key, followed, str(error))
        finally:
            self._busy.discard(key)

    def _forget(self, key: Key) -> None:
        """The source sends what the session names, again and again, until the next offset is named."""
        if key in self._named:
            self._forgotten[key] = None

    def _hold_until(self, key: Key, followed: Followed, due: float) -> None:
        self._forget(key)
        super()._hold_until(key, followed, due)

    def _is_current(self, key: Key, followed: Followed) -> bool:
        return self._followed.get(key) is followed and not self.closed and not followed.partition.deleted

    async def _cut(self, key: Key, followed: Followed, opened: OpenPartition, offset: int) -> None:
        save = partial(linked_log.save_cut, opened.log, str(opened.id), offset)
        await self._loop.run_in_executor(self._io.threads, save)
        if self._is_current(key, followed):
            self._when_cut(key, followed, lambda: linked_log.truncate(opened, offset))

    def _when_cut(self, key: Key, followed: Followed, cut: Callable[[], bool]) -> None:
        if cut():
            self._truncated(key, followed)
        else:
            self._fetch_soon(key)

    async def _find_range(self, key: Key, followed: Followed, linked: Linked) -> None:
        topic, index = followed.partition.id
        start, end = await log_range(self._link.nodes, self._broker_id, topic, index)
        if not self._is_current(key, followed):
            return
        opened = followed.partition.open()
        own_end = opened.log.log_end_offset
        if own_end < start:
            self._skip_to(key, followed, opened, start)
        elif own_end > end:
            await self._cut(key, followed, opened, end)
        else:
            self._hold(key, followed, ErrorCode.OFFSET_OUT_OF_RANGE)  # it was so for a moment

    def _skip_to(self, key: Key, followed: Followed, opened: OpenPartition, start: int) -> None:
        linked, own_end = self._linked[key], opened.log.log_end_offset
        linked.skipped += start - own_end
        if own_end:
            log.warning(
                "%s: records %d to %d were deleted at the source before they were fetched; it goes on at %d",
                opened.id,
                own_end,
                start - 1,
                start,
            )
        linked_log.start_anew(opened, start)
        self._truncated(key, followed)

    def close(self) -> None:
        super().close()
        for task in self._tasks:
            task.cancel()


def _key(linked: Linked) -> Key:
    return linked.source_topic_id, linked.partition.id.partition
