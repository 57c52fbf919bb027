"""What several parts of a node need of it, as protocols of a few members: a module asks for the role it uses.

The node (node.py) plays them all. Whatever only one module needs is an argument of that module instead.
"""

from typing import TYPE_CHECKING, Protocol

from barnabas.core.cluster.image import MetadataImage
from barnabas.model.settings import Settings

if TYPE_CHECKING:
    from barnabas.broker.partition.table import PartitionTable


class ClusterView(Protocol):
    """The cluster as this node sees it: the newest image that is committed here."""

    @property
    def node_id(self) -> int: ...
    @property
    def image(self) -> MetadataImage: ...


class CurrentSettings(Protocol):
    """The settings of this node as they are now: the dynamic ones change with the image."""

    @property
    def settings(self) -> Settings: ...


class ConfiguredView(ClusterView, CurrentSettings, Protocol):
    """The cluster and the settings of this node in it."""


class RegisteredBroker(ClusterView, Protocol):
    """This node as the controller knows it."""

    @property
    def broker_epoch(self) -> int: ...


class ConfiguredBroker(RegisteredBroker, CurrentSettings, Protocol):
    """The same with its settings."""


class HostedPartitions(Protocol):
    """The partitions of this node, and the image that says which others there are."""

    @property
    def partitions(self) -> "PartitionTable": ...
    @property
    def image(self) -> MetadataImage: ...
