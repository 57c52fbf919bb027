"""Replication on this node: fetches for the replicas that follow, serves the followers on other brokers, and reports
in-sync and lost replicas to the controller.

It is the host of the replicas (partition/host.py): which brokers may be in sync, when each last fetched, and where
damage is reported. It has a fetcher for each broker that leads something this node follows, and a fetch session for
each broker that follows this one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from barnabas.broker.fetch.follower_sessions import FollowerSessions
from barnabas.broker.fetch.refill import RefillPace
from barnabas.broker.image_bus import ImageChange
from barnabas.broker.metrics.counts import Times
from barnabas.broker.metrics.health import Health
from barnabas.broker.network.loop_budget import in_turns
from barnabas.broker.partition.host import SchemaSource
from barnabas.broker.partition.image_turns import CheckTurns
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.opening_turns import OpeningTurns
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.partition.producer_rebuilds import ProducerRebuilds
from barnabas.broker.partition.slow_openings import Reading, SlowOpenings
from barnabas.broker.replication.environment import ReplicaIO, ReplicationHooks
from barnabas.broker.replication.fetch_settings import FetchLimits
from barnabas.broker.replication.fetcher import ReplicaFetcher
from barnabas.broker.replication.isr_keeper import IsrKeeper
from barnabas.broker.replication.lost_replicas import LostReplicas
from barnabas.broker.replication.throttle import Throttle
from barnabas.broker.roles import ConfiguredBroker
from barnabas.broker.upkeep.index_files import IndexFiles
from barnabas.core.partition.producers import ProducerTotal

if TYPE_CHECKING:
    from barnabas.broker.schemas.followed import FollowedSchemas

log = logging.getLogger(__name__)


class Replication:
    def __init__(
        self,
        broker: ConfiguredBroker,
        io: ReplicaIO,
        hooks: ReplicationHooks,
        health: Health,
        steady_ms: Callable[[], int],
        random: Random,
    ) -> None:
        self._broker = broker
        self._io = io
        self._hooks = hooks
        self.node_id = broker.node_id
        self.steady_ms = steady_ms
        self.max_lag_ms = broker.settings.int("replica.lag.time.max.ms")
        self.producer_total = ProducerTotal()
        self.limits = FetchLimits.of(broker.settings)
        self.sessions = FollowerSessions(random)
        self.last_fetches = self.sessions.last_fetches
        self.isr = IsrKeeper(broker, self, hooks)
        self.lost = LostReplicas(broker, hooks, health, self.assignment_changed)
        self._rebuilds = ProducerRebuilds(
            io.threads, health, lambda partition: hooks.partitions().recheck_leadership(partition)
        )
        self.opening = OpeningTurns(lambda partition: hooks.partitions().try_open(partition), hooks.failed)
        self._slow_openings = SlowOpenings(io.threads)
        self._schemas: FollowedSchemas | None = None
        self._index_files = IndexFiles(io.threads)
        self.segment_created = self._index_files.segment_created
        self.throttle = Throttle(broker, "follower")
        self.leader_throttle = Throttle(broker, "leader")
        self.fetch_times = Times()
        self.loop_time = asyncio.get_running_loop().time
        self.refill = RefillPace(asyncio.get_running_loop())
        self._fetchers: dict[int, ReplicaFetcher] = {}
        self._source: dict[HostedPartition, int] = {}  # of those that are followed
        self._running = False
        self._checks = CheckTurns(self._check_followers)
        self._writing: asyncio.Future[None] | None = None
        self._when_written: list[Callable[[], None]] = []

    async def start(self) -> None:
        """The logs are recovered: fetching may begin."""
        self._running = True
        self.isr.start()
        await in_turns(list(self._hooks.partitions()), self._begin_unless_deleted)

    def _begin_unless_deleted(self, partition: HostedPartition) -> None:
        if not partition.deleted:
            self.assignment_changed(partition)

    def stop(self) -> None:
        self._running = False
        self.isr.stop()
        self.refill.close()
        self._checks.clear()
        self.opening.stop()
        self.lost.stop()
        self._index_files.stop()
        self._rebuilds.stop()
        self._slow_openings.stop()
        if self._schemas is not None:
            self._schemas.close()
        for fetcher in self._fetchers.values():
            fetcher.close()
        self.sessions.close()

    @property
    def stopped_in_order(self) -> bool:
        return self._hooks.stopped_in_order()

    # --- for the partitions -------------------------------------------------------------------------------------------

    def eligible(self, broker_id: int, broker_epoch: int) -> bool:
        broker = self._broker.image.brokers.get(broker_id)
        return broker is not None and broker.eligible and broker_epoch in (-1, broker.broker_epoch)

    def zone_of(self, broker_id: int) -> str | None:
        broker = self._broker.image.brokers.get(broker_id)
        return None if broker is None else broker.rack

    def check_isr(self, partition: HostedPartition) -> None:
        self.isr.check(partition)

    def damaged(self, partition: HostedPartition, damage: str) -> None:
        self.lost.report(partition, damage)

    def failed(self, error: Exception) -> None:
        self._hooks.failed(error)

    def not_written(self, error: OSError) -> None:
        self._io.disk_space.failed(error)

    def read_in_thread(self, read: Callable[[], Reading], done: Callable[[Callable[[], Reading]], None]) -> None:
        self._slow_openings.start(read, done)

    def rebuild(self, partition: OpenPartition) -> None:
        self._rebuilds.start(partition)

    @property
    def schemas(self) -> SchemaSource:
        """Made for the first topic that asks for it."""
        if self._schemas is None:
            from barnabas.broker.schemas.followed import FollowedSchemas

            self._schemas = FollowedSchemas(self._broker, self._io.peers, self._io.threads, self._checks_schemas)
        return self._schemas

    def _checks_schemas(self) -> bool:
        """Does this node lead a partition whose records must have registered schemas?"""
        return any(partition.schemas is not None for partition in self._hooks.partitions().led())

    def silent_brokers(self, session_ms: int) -> frozenset[int]:
        """Those that follow this broker, or that it follows, and were not heard for so long."""
        since_ms = self.steady_ms() - session_ms
        followers = {broker for partition in self._hooks.partitions().led() for broker in partition.image.isr}
        silent = {broker for broker in followers if self.last_fetches.get(broker, since_ms) < since_ms}
        since = self.loop_time() - (session_ms + self.limits.wait_ms) / 1000
        return frozenset(silent | {broker for broker, each in self._fetchers.items() if each.answered_at < since})

    # --- the image ----------------------------------------------------------------------------------------------------

    def assignment_changed(self, partition: HostedPartition) -> None:
        """It is new, has another leader or leader epoch, or is deleted."""
        source = self._source.pop(partition, None)
        if source is not None:
            fetcher = self._fetchers[source]
            fetcher.unfollow(partition)
        if self._running:
            self._hooks.leadership_changed(partition)
        leader = partition.image.leader
        follows = self._running and not partition.deleted and leader >= 0 and not partition.is_leader
        if follows:
            self._source[partition] = leader
            fetcher = self._fetchers.get(leader) or self._begin(leader)
            fetcher.follow(partition)
        elif self._running and partition.is_leader and len(partition.image.replicas) > 1:
            self.open_soon(partition)  # its followers will fetch it
        if source is not None and not self._fetchers[source]:
            self._fetchers.pop(source).close()

    def open_soon(self, partition: HostedPartition, then: Callable[[], None] | None = None) -> bool:
        """False when there is nothing to wait for: it is open, has no folder, or recovery could not open it. The latter
        is opened by the request that needs it, which gets the error."""
        if partition.is_open or partition.untouched or not self._hooks.partitions().may_open(partition):
            return False
        self.opening.request(partition, then)
        return True

    def _begin(self, source: int) -> ReplicaFetcher:
        fetcher = self._fetchers[source] = ReplicaFetcher(source, self._broker, self._io, self)
        return fetcher

    def image_changed(self, change: ImageChange) -> None:
        """After the image was applied to the partitions."""
        old, new = change.old, change.new
        if old.configs is not new.configs:
            now = self.loop_time()
            self.throttle.image_changed(now)
            self.leader_throttle.image_changed(now)
        for fetcher in self._fetchers.values():
            fetcher.throttle_changed()
        if change.settings_changed:
            self.max_lag_ms = self._broker.settings.int("replica.lag.time.max.ms")
            self.limits = FetchLimits.of(self._broker.settings)
        if old.brokers is not new.brokers:
            self.sessions.keep_only(new.brokers)
            fenced = [b for b, known in old.brokers.items() if known.eligible and not self.eligible(b, -1)]
            self.sessions.drop(fenced)
            led = list(self._hooks.partitions().led())
            for partition in led if fenced else ():
                if (state := partition.leadership.state) is not None:  # at once: who is back may fetch before its turn
                    state.fenced(fenced)
            self._checks.begin(led)

    def _check_followers(self, partition: HostedPartition) -> None:
        """Brokers were fenced or unfenced: followers may join the in-sync replicas, or have to leave."""
        state = partition.leadership.state
        if partition.deleted or not partition.is_leader:
            return
        if state is not None and len(state.maximal_isr) < len(state.replicas):
            partition.leadership.advance_high_watermark()
            self.isr.check(partition)
        elif state is None and len(partition.image.isr) < len(partition.image.replicas):
            partition.leadership.recheck_followers()

    # --- disk ---------------------------------------------------------------------------------------------------------

    def write_recovery_points(self, then: Callable[[], None]) -> None:
        """How far each log is on disk, written down before `then`; many that ask together are served by one."""
        self._when_written.append(then)
        if self._writing is None:
            self._write()

    def _write(self) -> None:
        waiting, self._when_written = self._when_written, []
        write = self._hooks.partitions().collect_checkpoint()
        self._writing = asyncio.get_running_loop().run_in_executor(self._io.threads, write)
        self._writing.add_done_callback(lambda done: self._written(done, waiting))

    def _written(self, done: asyncio.Future[None], waiting: list[Callable[[], None]]) -> None:
        self._writing = None
        if done.cancelled():
            return
        if (error := done.exception()) is not None:
            log.warning("recovery points not written: %s", error)
            self._when_written += waiting
            asyncio.get_running_loop().call_later(1.0, self._retry)
            return
        for then in waiting:
            then()
        self._retry()

    def _retry(self) -> None:
        if self._when_written and self._writing is None and self._running:
            self._write()
