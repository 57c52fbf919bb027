"""The composition root: makes the parts of a node, gives each what it uses, starts and stops them.

Start: lock the data directory, bind the addresses, load the metadata, serve the other nodes, find the quorum's leader,
register, host the partitions (recover them after an unclean stop), serve clients, and only then report that it is
ready. A cluster of one does the same, and is its own leader. Stop: hand over leaderships, close the parts in the
opposite order, and write the clean-shutdown marker at the very end.

Parts that are made later are given to earlier ones as callbacks (`lambda: self.partitions`). The node itself is the
ClusterView of its parts (roles.py): it holds the newest image, and the settings that follow from it.
"""

import asyncio
import logging
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from barnabas.broker import identity
from barnabas.broker.access import Access, access_of, audit_of
from barnabas.broker.clock import Clock
from barnabas.broker.cluster_links.driver import ClusterLinks
from barnabas.broker.controller.driver import ControllerDriver
from barnabas.broker.controller.last_stop import last_stop
from barnabas.broker.controller.leader_connection import LeaderConnection
from barnabas.broker.controller.lifecycle import BrokerFacts, Lifecycle, LifecycleHooks
from barnabas.broker.controller.link import ControllerLink
from barnabas.broker.controller.requests import ControllerRequests
from barnabas.broker.coordinator.environment import CoordinatorEnvironment
from barnabas.broker.coordinator.groups import GroupDriver
from barnabas.broker.coordinator.producer_ids import ProducerIds
from barnabas.broker.coordinator.transactions import TxnDriver
from barnabas.broker.fetch.parked import ParkedPartitions
from barnabas.broker.fetch.sessions import FetchSessions
from barnabas.broker.image_bus import ImageBus, ImageChange, image_change
from barnabas.broker.metrics.health import STATUS_FILE, Health
from barnabas.broker.metrics.loop_health import LoopHealth
from barnabas.broker.metrics.serving import serve_metrics
from barnabas.broker.network.dispatch import Dispatcher
from barnabas.broker.network.faults import Faults
from barnabas.broker.network.listener import Listener
from barnabas.broker.network.memory_budget import memory_budget
from barnabas.broker.partition.batch_preparation import BatchPreparation
from barnabas.broker.partition.folders import PartitionFolders
from barnabas.broker.partition.table import PartitionTable
from barnabas.broker.peers.recently_departed import RecentlyDeparted
from barnabas.broker.peers.security import brokers_security, quorum_security
from barnabas.broker.peers.suspected_brokers import SuspectedBrokers
from barnabas.broker.peers.table import PeerConnector, Peers
from barnabas.broker.platform import REAL_PLATFORM, Platform
from barnabas.broker.quorum import membership
from barnabas.broker.quorum.driver import QuorumDriver
from barnabas.broker.quorum.environment import QuorumCallbacks, QuorumIO
from barnabas.broker.quorum.loading import load
from barnabas.broker.quorum.metadata_log import MetadataLog
from barnabas.broker.replication.driver import Replication
from barnabas.broker.replication.environment import ReplicaIO, ReplicationHooks
from barnabas.broker.upkeep.disk_space import DiskSpace
from barnabas.broker.upkeep.flusher import THREADS as FLUSH_THREADS
from barnabas.broker.upkeep.flusher import Flusher
from barnabas.broker.upkeep.producer_expiry import ProducerExpiry
from barnabas.broker.upkeep.stray_folders import clear_stray_folders
from barnabas.broker.upkeep.timers import Upkeep
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.raft.effects import RoleChange
from barnabas.model.limits import OPENED_AT_ONCE_MAX
from barnabas.model.settings import ResourceType, Settings
from barnabas.storage.directory import DataDirectory

if TYPE_CHECKING:
    from barnabas.broker.audit.trail import AuditTrail

log = logging.getLogger(__name__)

_READ_THREADS = 4
_LOG_EVERY_SECONDS = 5.0

Loaded = TypeVar("Loaded")


class Node:
    """Its parts are there once `start` has made them."""

    listener: Listener
    partitions: PartitionTable
    replication: Replication
    quorum: QuorumDriver
    controller: ControllerDriver
    lifecycle: Lifecycle
    groups: GroupDriver
    transactions: TxnDriver

    def __init__(self, settings: Settings, data_dir: Path, platform: Platform = REAL_PLATFORM) -> None:
        self.static_settings = self.settings = settings
        self.data_dir = data_dir
        self.platform = platform
        self.clock = Clock()
        self.health = Health()
        self.loop_health: LoopHealth | None = None
        self.faults: Faults | None = None
        self.access: Access | None = None  # None: everybody may do everything
        self.audit: AuditTrail | None = None
        self.failure: BaseException | None = None
        self.stopped = asyncio.Event()
        self.opened = asyncio.Event()  # clients are served
        self.is_open = False
        self.bootstrap = ""
        self._starting: asyncio.Task[object] | None = None
        self.image = MetadataImage()

    # --- start ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Ready when this returns; raises DirectoryError, CannotListen, KafkaError or OSError with one line to show."""
        self.settings.client_listeners()  # a wrong one is found now, not by every client
        self.settings.advertised_listeners()
        self.access = access_of(self, self.settings)
        self.data = DataDirectory.open(self.data_dir, disk=self.platform.disk, new_id=self.platform.new_uuid)
        self._closers: list[Callable[[], None]] = []
        self._starting = asyncio.current_task()
        try:
            await self._start()
        except BaseException as error:
            for close in reversed(self._closers):
                close()
            self.data.close(clean=False)
            if isinstance(error, asyncio.CancelledError) and self.failure is not None:
                raise self.failure from None
            raise
        finally:
            self._starting = None

    async def _start(self) -> None:
        self.node_id = identity.node_id(self.settings, self.data)
        self.quorum_connector = PeerConnector(self.node_id, self.platform.connect, quorum_security(self.settings))
        plan = membership.plan(self.settings, self.node_id, self.platform.hostname())
        self.has_broker, self.is_controller = membership.BROKER in plan.roles, membership.CONTROLLER in plan.roles
        self.cluster_id = await identity.cluster_id(
            self.settings, self.data, plan, self.node_id, self.quorum_connector, self.platform.new_uuid
        )
        self._make_listener(plan)
        self.data.claim(self.cluster_id, self.node_id)
        await self._make_partitions()
        await self._make_quorum(plan)
        await self.listener.serve()
        self.metrics = serve_metrics(self, self._closers)
        self.quorum.start()
        await self.controller.wait_for_leader()
        if self.has_broker:
            await self._join()
        clean, health = self.data.clean, self.health
        self.upkeep = Upkeep(self.partitions, self.read_threads, self.flusher, health, self, stopped_cleanly=clean)
        self.upkeep.start()
        self._publish_health()
        total, clock = self.replication.producer_total, self.clock
        self.producer_expiry = ProducerExpiry(self.partitions, total, clock, lambda name: self.settings.int(name))
        self.producer_expiry.start()
        await self.upkeep.flush_before_serving()
        self.is_open = True
        self.opened.set()
        if self.audit is not None:
            self.audit.start()
        self.upkeep.flush_recovered()
        self.transactions.wake()
        self.groups.wake()

    def _publish_health(self) -> None:
        self.loop_health = LoopHealth(self.health, watched=self.platform.watches_loop)
        if self.platform.writes_status:
            facts = {"pid": os.getpid(), "node_id": self.node_id, "bootstrap": self.bootstrap}
            path = str(self.data_dir / STATUS_FILE)
            self.health.publish(facts, self.read_threads, partial(self.platform.disk.write_whole, path, sync=False))

    def _make_listener(self, plan: membership.Plan) -> None:
        self.memory = memory_budget(self.settings, self.platform.memory_bytes())
        log.info("%s", self.memory.summary())
        self.dispatcher = Dispatcher(self, self.memory.decoded_bytes)
        self.listener = Listener(
            self.dispatcher,
            self.settings,
            lambda: self.image.quotas,
            request_memory_bytes=self.memory.requests_bytes,
            listen=self.platform.listen,
        )
        self.audit = audit_of(self, self.settings, self.clock, self.access, self.listener)
        self._closers.append(self.listener.abandon)
        self._addresses = identity.bind_addresses(
            self.settings, plan, self.node_id, self.listener.bind, self.platform.hostname()
        )
        self.endpoints = self._addresses.bound
        self.listener.names = self._addresses.names
        self.listener.secure(self.settings, self._addresses.all_bound, lambda: self.image, self.opened)
        self.quorum_ports = self._addresses.quorum_ports
        self.bootstrap = identity.shown(self.endpoints[0] if self.endpoints else self._addresses.quorum)

    async def _make_partitions(self) -> None:
        platform = self.platform
        self.images = ImageBus()
        self.read_threads = platform.threads(_READ_THREADS, "read")
        self.disk_space = DiskSpace(self.data_dir, platform.disk, self.read_threads, self)
        self.batch_preparation = BatchPreparation(platform.threads(OPENED_AT_ONCE_MAX, "records"))
        self.flusher = Flusher(self.fail, platform.threads(FLUSH_THREADS, "flush"))
        connector = PeerConnector(self.node_id, platform.connect, brokers_security(self.settings))
        self.peers = Peers(self, connector, self.settings.inter_broker_listener())
        replica_io = ReplicaIO(self.read_threads, self.flusher.request, self.disk_space, self.peers)
        hooks = ReplicationHooks(
            lambda: self.partitions,
            lambda *request: self.controller.ask(*request),
            lambda: self.last_stop.in_order,
            self.fail,
            lambda partition: self.cluster_links.leadership_changed(partition),
        )
        self.replication = Replication(self, replica_io, hooks, self.health, self.clock.steady_ms, platform.random())
        self.cluster_links = ClusterLinks(self, replica_io, self.replication, hooks.ask_controller, self.audit)
        folders = PartitionFolders(
            self.data, self.read_threads, lambda topic_id: self.quorum.replay.at_start.knew(topic_id)
        )
        await self._load(folders.load)
        self.partitions = PartitionTable(
            folders, lambda: self.settings, self.flusher.request, self.read_threads, platform.threads, self.replication
        )
        self.suspected_brokers = SuspectedBrokers(lambda broker_id: self.image.is_alive(broker_id))
        self.recently_departed = RecentlyDeparted()
        self.peers.on_lost(self.suspected_brokers.lost)
        self._closers += [self.suspected_brokers.close, self.recently_departed.close]
        self._closers += [self.peers.close, self.replication.stop, self.cluster_links.stop]
        self._make_fetch_state()

    async def _load(self, read: Callable[[], Loaded]) -> Loaded:
        """What is read before the node serves anybody; in a thread, for with 10,000 partitions it takes 0.1 s."""
        with self.platform.threads(1, "start") as thread:
            return await asyncio.get_running_loop().run_in_executor(thread, read)

    def _make_fetch_state(self) -> None:
        slots = self.settings.int("max.incremental.fetch.session.cache.slots")
        self.fetch_sessions = FetchSessions(slots, 120_000, self.platform.random(), self.memory.session_partitions)
        self.parked_partitions = ParkedPartitions(self.memory.parked_partitions)
        self.fetch_max_bytes = self.settings.int("fetch.max.bytes")

    async def _make_quorum(self, plan: membership.Plan) -> None:
        directory_id = self.data.directory_id
        assert directory_id is not None
        own = self._addresses.quorum
        config = membership.raft_config(self.settings, plan, self.node_id, directory_id, self.cluster_id, own)
        self.quorum_thread = self.platform.threads(1, "flush")
        self.metadata_log = MetadataLog(self.data_dir, self.platform.disk)
        voters = membership.initial_voters(plan, self.node_id, directory_id, own)
        io = QuorumIO(self.platform.disk, self.disk_space, self.quorum_thread, self.read_threads, self.quorum_connector)
        callbacks = QuorumCallbacks(self._publish, self._role_changed, self.fail)
        clock, random = self.clock.steady_ms, self.platform.random()
        loaded = await self._load(partial(load, self.metadata_log, voters, self.platform.disk))
        self.quorum = QuorumDriver(config, self.metadata_log, loaded, io, callbacks, clock, random)
        self._make_controller(directory_id)
        self._make_coordinators()
        self._subscribe_to_images()
        self._closers += [self.quorum.close, self.controller.close, self.lifecycle.close]

    def _make_controller(self, directory_id: bytes) -> None:
        quorum, clock = self.quorum, self.clock.steady_ms
        link = ControllerLink(
            self.node_id,
            LeaderConnection(self.node_id, quorum, self.quorum_connector),
            lambda: self.controller.is_active,
            self.dispatcher.handle_enveloped,
            self.dispatcher.answer_as_controller,
            quorum.applied,
        )
        own_broker = self.node_id if self.has_broker else None
        self.controller = ControllerDriver(
            quorum, link, self.settings, self.platform, clock, own_broker, self.peers.probe
        )
        self.controller_requests = ControllerRequests(self, self.controller.ask)
        self.producer_ids = ProducerIds(self.controller_requests.producer_id_block)
        incarnation_id, endpoints = self.platform.new_uuid(), self._addresses.advertised
        broker = BrokerFacts(self.node_id, self.cluster_id, incarnation_id, endpoints, self.rack, directory_id)
        better_fenced = partial(self.disk_space.is_better_fenced, self.partitions)
        hooks = LifecycleHooks(self.dispatcher.answer_here, better_fenced, self.replication.silent_brokers, self.fail)
        # A connection of its own: the controller fences a broker whose connection closes.
        leader = LeaderConnection(self.node_id, quorum, self.quorum_connector)
        self.lifecycle = Lifecycle(broker, self, self.controller, leader, hooks, clock)

    def _make_coordinators(self) -> None:
        import_threads = self.read_threads if self.platform.imports_ahead else None
        environment = CoordinatorEnvironment(self, self.partitions, self.clock, import_threads, lambda: self.is_open)
        threads = self.platform.threads(self.settings.int("group.coordinator.background.threads"), "groups")
        self.groups = GroupDriver(environment, self.platform.random, threads)
        self.transactions = TxnDriver(environment, self.groups, self.producer_ids, self.peers)

    async def _join(self) -> None:
        """Register, catch up with the metadata, put the logs in order, and be unfenced."""
        boot_id = self.platform.boot_id()
        self.last_stop = last_stop(self.data, boot_id)
        self.broker_epoch: int = await self.lifecycle.register(self.last_stop)
        self.data.write_last_life(boot_id, self.broker_epoch)
        while not await self.quorum.applied(self.broker_epoch, _LOG_EVERY_SECONDS):
            log.warning("node %d waits for the metadata log to reach %d", self.node_id, self.broker_epoch)
        await self.partitions.image_applied()
        await clear_stray_folders(self.partitions, self.data, self.image, self.read_threads)
        if not self.data.clean:
            await asyncio.get_running_loop().run_in_executor(self.read_threads, self.partitions.recover)
        await self.replication.lost.report_missing()
        await self.replication.start()
        self.cluster_links.start()
        self.lifecycle.start_beating()
        await self.lifecycle.wait_unfenced()

    @property
    def rack(self) -> str | None:
        return str(self.settings["broker.rack"]) if self.settings["broker.rack"] else None

    # --- metadata ---------------------------------------------------------------------------------------------------

    def _subscribe_to_images(self) -> None:
        """In the order in which they follow a new image (image_bus.py)."""
        self.images.subscribe(
            self._apply_settings,
            self.dispatcher.image_changed,
            lambda change: self.partitions.apply(change.old, change.new, settings_changed=change.settings_changed),
            self.replication.image_changed,
            self.cluster_links.image_changed,
            self.groups.image_changed,
            self.transactions.image_changed,
            lambda change: self.controller.caught_up(),
            lambda change: self.suspected_brokers.image_changed(),
            lambda change: self.recently_departed.image_changed(change.old, change.new),
        )

    def _publish(self, image: MetadataImage) -> None:
        """A new image is committed: serve from it."""
        old, self.image = self.image, image
        self.images.publish(image_change(old, image, self.node_id))

    def _apply_settings(self, change: ImageChange) -> None:
        if change.settings_changed:
            cluster, node = (change.new.config(ResourceType.BROKER, name) for name in ("", str(self.node_id)))
            self.settings = self.static_settings.with_dynamic(cluster=cluster, node=node)
            self.controller.settings_changed(self.settings)
            self.listener.apply_limits(self.settings)

    def _role_changed(self, role: RoleChange) -> None:
        self.controller.role_changed(role)
        self.lifecycle.leader_changed()

    # --- stop -------------------------------------------------------------------------------------------------------

    def fail(self, error: BaseException) -> None:
        """Something that cannot be carried on from (a failed fsync): stop without the clean marker."""
        if self.failure is None:
            log.critical("the node stops: %s", error)
            self.failure = error
            self.stopped.set()
            if self._starting is not None:
                self._starting.cancel()

    async def stop(self) -> None:
        clean = self.failure is None
        self.metrics.stopping()
        if self.audit is not None:
            await self.audit.close()
        if clean and self.is_open:
            await self._hand_over()
        self.lifecycle.close()
        await self.listener.close()
        self.metrics.close()
        self.upkeep.stop()
        self.health.close()
        self.producer_expiry.stop()
        if self.loop_health is not None:
            self.loop_health.stop()
        if clean:
            self.transactions.write_held()
        self.transactions.close()
        self.groups.close()
        self.cluster_links.stop()
        self.replication.stop()
        self.peers.close()
        self.controller.close()
        self.quorum.close()
        self.flusher.close()
        self.quorum_thread.shutdown(wait=True)
        self.read_threads.shutdown(wait=True)
        self.batch_preparation.close()
        clean = clean and self.failure is None
        epoch = self.broker_epoch if self.has_broker else -1
        if clean:
            if self.platform.writes_status:
                self.platform.disk.unlink(str(self.data_dir / STATUS_FILE))
            self.partitions.close(epoch)
            self.metadata_log.close()
        self.data.close(clean=clean, broker_epoch=epoch)
        self.stopped.set()

    async def _hand_over(self) -> None:
        """Let others lead what this node leads, before its clients notice that it is gone."""
        has_successor = self.has_broker and self.image.has_successor(self.node_id)
        if has_successor and self.settings.bool("controlled.shutdown.enable"):
            await self.lifecycle.hand_over()
        if self.controller.is_active and not self.quorum.is_alone:
            await self.quorum.resign()
