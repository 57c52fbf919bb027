"""Fills the followers on this node whose leaders are on one other broker: fetch, append, fetch again (fetching.py).

| what comes for a partition               | what is done                                                              |
|------------------------------------------|---------------------------------------------------------------------------|
| records                                  | appended (partition/follower_log.py), and named again                     |
| a diverging epoch                        | the log is truncated there, and named again                               |
| OFFSET_OUT_OF_RANGE                      | our log ends before the leader's start offset: start anew there           |
| any other error, or a wrong CRC          | fetched again later, with a backoff                                       |
| only a high watermark or start offset    | ours follows it                                                           |
| anything, while its producers are read   | ignored: it is named again when they are known                            |

The fetch offset tells the leader what this replica holds. Where the topic asks for it (`flush.messages=1`) that must be
true after a power loss, so the flush is waited for before the partition is named. After a truncation the recovery point
is written first: otherwise a later start would take for flushed what replaced the records that were cut off.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import partial

from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.replication.environment import FetcherHost, ReplicaIO
from barnabas.broker.replication.fetch_settings import FetchLimits
from barnabas.broker.replication.fetches_ahead import FetchesAhead
from barnabas.broker.replication.fetching import PartitionFetcher
from barnabas.broker.replication.followed import NOT_YET, Answered, Followed, Key
from barnabas.broker.roles import RegisteredBroker
from barnabas.link.asyncio_driver import AsyncLink
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.fetch.request import Wanted, fetch_body

log = logging.getLogger(__name__)


class ReplicaFetcher(PartitionFetcher):
    def __init__(self, source_id: int, broker: RegisteredBroker, io: ReplicaIO, host: FetcherHost) -> None:
        super().__init__(f"broker {source_id}", io, host)
        self._source_id, self._broker = source_id, broker
        self._ahead = FetchesAhead(allowed=True)

    def follow(self, partition: HostedPartition) -> None:
        self.add(_key(partition), Followed(partition, partition.leader_epoch))

    def unfollow(self, partition: HostedPartition) -> None:
        self.remove(_key(partition))

    async def _open_connection(self) -> AsyncLink:
        return await self._io.peers.connection(self._source_id, "fetch")

    def _request(
        self,
        topics: Mapping[bytes, Sequence[Wanted]],
        forgotten: Mapping[bytes, Sequence[int]],
        limits: FetchLimits,
        *,
        continues: bool,
    ) -> bytes:
        replica = (self._broker.node_id, self._broker.broker_epoch)
        return fetch_body(self._session, topics, forgotten, limits, replica, continues=continues)

    def _wanted(self, key: Key, followed: Followed) -> Wanted | None:
        partition = followed.partition
        max_bytes = self._host.limits.partition_max_bytes
        if partition.untouched:
            return Wanted(key[1], followed.epoch, 0, -1, 0, max_bytes)
        opened = self._opened(key, followed)
        if opened is None:
            return None
        own = opened.log
        if own.damages:
            try:
                opened.follower.start_anew(0)  # damaged: fetched again from the first record on
                followed.named_in = NOT_YET
            except KafkaError as error:
                log.error("%s cannot be followed: %s", partition.id, error.message)
                self._hold(key, followed)
                return None
        if partition.config.flush_every_write and own.unflushed_records:
            opened.follower.when_flushed = partial(self._fetch_again, key, followed)
            self._io.flush(opened)
            return None
        return Wanted(key[1], followed.epoch, own.log_end_offset, own.epochs.latest, own.log_start_offset, max_bytes)

    def _waits_for_producers(self, opened: OpenPartition) -> bool:
        """From a damaged log they cannot be read: it begins anew (`_wanted`)."""
        return super()._waits_for_producers(opened) and not opened.log.damages

    def _process(self, key: Key, followed: Followed, part: Answered) -> None:
        partition, code = followed.partition, part.error_code
        if partition.opened is not None and partition.opened.rebuild is not None:
            followed.named_in = NOT_YET
            self._due[key] = None  # it is not named before they are known
            return
        try:
            if code == ErrorCode.OFFSET_OUT_OF_RANGE and part.log_start_offset >= 0:
                partition.open().follower.start_anew(part.log_start_offset)
                self._truncated(key, followed)
                return
            if code:
                self._hold(key, followed, ErrorCode(code))
                return
            if part.diverging_epoch.epoch >= 0:
                own, diverging = partition.open().follower, part.diverging_epoch
                if own.truncate(own.truncation_point(diverging.epoch, diverging.end_offset)):
                    self._truncated(key, followed)
                else:
                    followed.named_in = NOT_YET
                    self._fetch_soon(key)
                return
            if part.records:
                partition.open().follower.append(part.records)
                self._fetch_more(key, followed, len(part.records))
            if partition.untouched:
                return  # nothing here, nothing there
            followed.backoff = 0.0
            own = partition.open().follower
            own.leader_committed(part.high_watermark)
            if own.advance_log_start(part.log_start_offset):
                self._due[key] = None
        except KafkaError as error:
            log.warning("%s from %s: %s", partition.id, self._source_name, error.message)
            self._hold(key, followed, error.code)

    def _fetch_more(self, key: Key, followed: Followed, size: int) -> None:
        """Fetch more at once or, if the replica is throttled, when the rate allows it."""
        throttle, now = self._host.throttle, self._loop.time()
        wait = 0.0
        if throttle.holds_for(followed.partition, self._broker.node_id):
            throttle.count(size, now)
            wait = throttle.wait_seconds(now)
        if wait:
            followed.throttled = True
            self._hold_until(key, followed, now + wait)
        else:
            self._due[key] = None

    def throttle_changed(self) -> None:
        """The rate or the throttled replicas may have changed: those that wait for it wait by the new one."""
        throttle, now = self._host.throttle, self._loop.time()
        changed = False
        for key in self._held:
            followed = self._followed[key]
            if followed.throttled:
                slow = throttle.holds_for(followed.partition, self._broker.node_id)
                followed.held_until = now + (throttle.wait_seconds(now) if slow else 0.0)
                changed = True
        if changed:
            if self._timer is not None:
                self._timer.cancel()
            self._release()


def _key(partition: HostedPartition) -> Key:
    return partition.topic_id, partition.id.partition
