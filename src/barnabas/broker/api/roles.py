"""What each family of handlers uses of the node: the type of the first argument of `handle`.

A role has at most six members. A handler that needs more takes a role that only unites smaller ones, and its functions
take those. Only types: nothing here is imported when a node runs. The dispatcher hands every handler the same node.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from pathlib import Path
from typing import Protocol

from barnabas.broker.api.permissions import GuardedNode
from barnabas.broker.audit.trail import AuditTrail
from barnabas.broker.clock import Clock
from barnabas.broker.cluster_links.driver import ClusterLinks
from barnabas.broker.controller.driver import ControllerDriver
from barnabas.broker.controller.lifecycle import Lifecycle
from barnabas.broker.controller.requests import ControllerRequests
from barnabas.broker.coordinator.groups import GroupDriver
from barnabas.broker.coordinator.producer_ids import ProducerIds
from barnabas.broker.coordinator.transactions import TxnDriver
from barnabas.broker.fetch.follower import FollowedNode
from barnabas.broker.fetch.parked import ParkedPartitions
from barnabas.broker.fetch.reader import ReadingNode
from barnabas.broker.fetch.sessions import FetchSessions
from barnabas.broker.metrics.health import Health
from barnabas.broker.network.addresses import ListeningNode
from barnabas.broker.network.dispatch import Dispatcher
from barnabas.broker.network.faults import Faults
from barnabas.broker.partition.batch_preparation import BatchPreparation
from barnabas.broker.partition.table import PartitionTable
from barnabas.broker.peers.recently_departed import RecentlyDeparted
from barnabas.broker.peers.suspected_brokers import SuspectedBrokers
from barnabas.broker.quorum.answering import QuorumMember
from barnabas.broker.roles import ConfiguredView, CurrentSettings, HostedPartitions
from barnabas.broker.upkeep.disk_space import DiskSpace
from barnabas.broker.upkeep.timers import Upkeep
from barnabas.core.cluster.image import MetadataImage
from barnabas.model.settings import Settings
from barnabas.storage.directory import DataDirectory


class AuditedNode(Protocol):
    """What clients do is told, or None."""

    @property
    def audit(self) -> AuditTrail | None: ...


# --- the controller --------------------------------------------------------------------------------------------------


class ControllerNode(GuardedNode, Protocol):
    """A request that the active controller decides."""

    @property
    def controller(self) -> ControllerDriver: ...


class AdminNode(ConfiguredView, ControllerNode, Protocol):
    """The same, checked against the image and the settings first."""


class AclsNode(ControllerNode, Protocol):
    """Rules, from the image; the controller changes them."""

    @property
    def image(self) -> MetadataImage: ...


class TokensNode(AclsNode, CurrentSettings, Protocol):
    """Delegation tokens, from the image and by the secret key of the settings."""


class RegistrationNode(ControllerNode, Protocol):
    """Brokers register here and send their heartbeats."""

    @property
    def clock(self) -> Clock: ...
    @property
    def cluster_id(self) -> str: ...


class QuorumNode(QuorumMember, ControllerNode, Protocol):
    """The quorum, described by its leader."""


class EnvelopeNode(ControllerNode, Protocol):
    """Requests that another broker forwards."""

    @property
    def dispatcher(self) -> Dispatcher: ...


class LinksNode(Protocol):
    """The links from other clusters, as far as this node fills them."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def cluster_links(self) -> ClusterLinks: ...


class UserKeysNode(GuardedNode, Protocol):
    """What is kept of users' passwords; sorted in a thread."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def read_threads(self) -> Executor: ...


# --- groups and transactions -----------------------------------------------------------------------------------------


class GroupsNode(ConfiguredView, GuardedNode, Protocol):
    @property
    def groups(self) -> GroupDriver: ...


class TransactionsNode(GuardedNode, Protocol):
    @property
    def transactions(self) -> TxnDriver: ...
    @property
    def image(self) -> MetadataImage: ...
    @property
    def controller_requests(self) -> ControllerRequests: ...
    @property
    def producer_ids(self) -> ProducerIds: ...


class CoordinatorsNode(GuardedNode, Protocol):
    @property
    def groups(self) -> GroupDriver: ...
    @property
    def transactions(self) -> TxnDriver: ...


class TxnOffsetsNode(CoordinatorsNode, Protocol):
    """Offsets of a group that are part of a transaction."""

    @property
    def partitions(self) -> PartitionTable: ...


class CoordinatorFinder(ListeningNode, CoordinatorsNode, Protocol):
    @property
    def controller_requests(self) -> ControllerRequests: ...


# --- the cluster -----------------------------------------------------------------------------------------------------


class ImageNode(Protocol):
    """What the metadata says is all that is needed."""

    @property
    def image(self) -> MetadataImage: ...


class ListenersNode(Protocol):
    """Who is served on which listener."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def has_broker(self) -> bool: ...
    @property
    def quorum_ports(self) -> frozenset[int] | None: ...
    @property
    def lifecycle(self) -> Lifecycle: ...


class VotersNode(QuorumMember, GuardedNode, Protocol):
    """The voters of the quorum, and on which listeners they are told."""

    @property
    def is_controller(self) -> bool: ...
    @property
    def quorum_ports(self) -> frozenset[int] | None: ...


class DescribeClusterNode(ListeningNode, VotersNode, Protocol):
    """The brokers or the controllers."""


class DescribeTopicsNode(ConfiguredView, GuardedNode, Protocol):
    """Topics, as whoever asks may see them."""


class DescribeConfigsNode(ConfiguredView, GuardedNode, Protocol):
    @property
    def read_threads(self) -> Executor: ...


class BrokersNode(ListeningNode, GuardedNode, Protocol):
    """The brokers of the cluster, as a client is to reach them."""

    @property
    def cluster_id(self) -> str: ...
    @property
    def recently_departed(self) -> RecentlyDeparted: ...


class TopicCreator(ConfiguredView, AuditedNode, Protocol):
    """Creates topics on demand."""

    @property
    def controller_requests(self) -> ControllerRequests: ...


class ReadThreads(Protocol):
    """What takes long is encoded or read there."""

    @property
    def read_threads(self) -> Executor: ...


class MetadataEncoder(BrokersNode, ReadThreads, Protocol):
    """Metadata of the image, perhaps of thousands of topics."""

    @property
    def lifecycle(self) -> Lifecycle: ...


class MetadataNode(MetadataEncoder, TopicCreator, Protocol):
    @property
    def suspected_brokers(self) -> SuspectedBrokers: ...


# --- partitions ------------------------------------------------------------------------------------------------------


class PartitionsNode(HostedPartitions, GuardedNode, Protocol):
    @property
    def read_threads(self) -> Executor: ...
    @property
    def upkeep(self) -> Upkeep: ...


class LogDirsNode(Protocol):
    @property
    def data(self) -> DataDirectory: ...
    @property
    def data_dir(self) -> Path: ...
    @property
    def disk_space(self) -> DiskSpace: ...
    @property
    def partitions(self) -> PartitionTable: ...
    @property
    def read_threads(self) -> Executor: ...


class AppendingNode(HostedPartitions, Protocol):
    """What an append and the wait for its commit need."""

    @property
    def batch_preparation(self) -> BatchPreparation: ...
    @property
    def lifecycle(self) -> Lifecycle: ...
    @property
    def disk_space(self) -> DiskSpace: ...
    @property
    def read_threads(self) -> Executor: ...


class ProduceNode(AppendingNode, GuardedNode, Protocol):
    @property
    def transactions(self) -> TxnDriver: ...


class ParkingNode(ReadingNode, GuardedNode, Protocol):
    """Reads for a consumer, and keeps its fetch until there is something to read."""

    @property
    def read_threads(self) -> Executor: ...
    @property
    def parked_partitions(self) -> ParkedPartitions: ...


class FetchSessionsNode(Protocol):
    """What a consumer's fetch asks for: its session, and how much of it is served."""

    @property
    def clock(self) -> Clock: ...
    @property
    def fetch_sessions(self) -> FetchSessions: ...
    @property
    def fetch_max_bytes(self) -> int: ...


class ConsumerFetchNode(ParkingNode, FetchSessionsNode, Protocol):
    """A consumer's Fetch."""


class FetchNode(ConsumerFetchNode, FollowedNode, QuorumMember, Protocol):
    """A Fetch is a consumer's, a follower's, or the quorum's."""


# --- all of them ------------------------------------------------------------------------------------------------------


class AdmissionNode(Protocol):
    """Whether a request is served now, and on this listener."""

    @property
    def is_open(self) -> bool: ...
    @property
    def opened(self) -> asyncio.Event: ...
    @property
    def faults(self) -> Faults | None: ...
    @property
    def quorum_ports(self) -> frozenset[int] | None: ...


class MeasuredNode(Protocol):
    """What clients use of it is measured, where they have quotas."""

    @property
    def settings(self) -> Settings: ...
    @property
    def health(self) -> Health: ...


class ServingNode(
    AdmissionNode,
    AuditedNode,
    CoordinatorsNode,
    ControllerNode,
    ProduceNode,
    FetchNode,
    ListenersNode,
    MeasuredNode,
    Protocol,
):
    """What the dispatcher decides by, and the roles of those that it calls itself."""
