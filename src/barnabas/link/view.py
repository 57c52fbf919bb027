"""What a client knows of a cluster, without I/O: where the nodes are, who leads a partition, who coordinates a key.

Drivers ask Metadata, DescribeCluster and FindCoordinator and let the view learn from the answers; whoever finds that
something is no longer so has it forgotten and asks again. Of two answers about a partition the one with the higher
leader epoch counts (KIP-320): a node that has not heard of an election yet would send us back to the old leader. A
topic with another id is another topic, and its epochs begin anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        Coordinator,
        DescribeClusterResponse,
        FindCoordinatorResponse,
        MetadataResponse,
        MetadataResponseTopic,
    )

Address = tuple[str, int]
NO_EPOCH = -1  # of Metadata before version 7
GROUP_KEY, TRANSACTION_KEY = 0, 1  # FindCoordinator's kinds of keys


class Leader(NamedTuple):
    node_id: int
    epoch: int


@dataclass(slots=True)
class _Topic:
    topic_id: bytes
    partitions: int = 0
    leaders: dict[int, Leader] = field(default_factory=dict)
    newest_epochs: dict[int, int] = field(default_factory=dict)  # also of leaders that were forgotten


class ClientMetadata:
    def __init__(self) -> None:
        self.addresses: dict[int, Address] = {}
        self._topics: dict[str, _Topic] = {}
        self._coordinators: dict[tuple[int, str], int] = {}

    # --- nodes ------------------------------------------------------------------------------------------------------

    def learn_cluster(self, answer: "DescribeClusterResponse") -> None:
        """DescribeCluster: the nodes that are up. (Metadata names who has just died for some seconds more.)"""
        self.addresses = {each.broker_id: (each.host, each.port) for each in answer.brokers}

    # --- leaders ----------------------------------------------------------------------------------------------------

    def learn_metadata(self, answer: "MetadataResponse") -> None:
        """Metadata: the nodes, and of the topics named in it who leads what. A topic with an error is forgotten."""
        self.addresses = {each.node_id: (each.host, each.port) for each in answer.brokers}
        for each in answer.topics:
            if each.name is None:
                continue  # asked for by an id that nobody knows
            if each.error_code:
                self._topics.pop(each.name, None)
            else:
                self._learn_topic(each.name, each)

    def _learn_topic(self, name: str, told: "MetadataResponseTopic") -> None:
        topic = self._topics.get(name)
        if topic is None or topic.topic_id != told.topic_id:
            topic = self._topics[name] = _Topic(told.topic_id)
        topic.partitions = max((each.partition_index + 1 for each in told.partitions), default=0)
        for each in told.partitions:
            index, epoch = each.partition_index, each.leader_epoch
            if epoch < topic.newest_epochs.get(index, NO_EPOCH):
                continue
            topic.newest_epochs[index] = epoch
            if each.leader_id >= 0 and each.error_code in (ErrorCode.NONE, ErrorCode.REPLICA_NOT_AVAILABLE):
                topic.leaders[index] = Leader(each.leader_id, epoch)
            else:
                topic.leaders.pop(index, None)

    def knows_topic(self, topic: str) -> bool:
        """Whether its partitions are known, and nobody has said that they moved."""
        found = self._topics.get(topic)
        return found is not None and found.partitions > 0

    def partition_count(self, topic: str) -> int:
        """0: not known."""
        found = self._topics.get(topic)
        return 0 if found is None else found.partitions

    def topic_id(self, topic: str) -> bytes:
        """Empty: not known. All zeros: Metadata before version 10 has none."""
        found = self._topics.get(topic)
        return b"" if found is None else found.topic_id

    def leader(self, topic: str, partition: int) -> Leader | None:
        found = self._topics.get(topic)
        return None if found is None else found.leaders.get(partition)

    def forget_leader(self, topic: str, partition: int) -> None:
        found = self._topics.get(topic)
        if found is not None:
            found.leaders.pop(partition, None)

    def forget_topic(self, topic: str) -> None:
        """Its leaders and how many partitions it has, to be asked for again."""
        found = self._topics.get(topic)
        if found is not None:
            found.partitions = 0
            found.leaders.clear()

    # --- coordinators -----------------------------------------------------------------------------------------------

    def learn_coordinators(self, kind: int, keys: Sequence[str], answer: "FindCoordinatorResponse") -> dict[str, int]:
        """FindCoordinator, of many keys or (before version 4) of one; gives the error codes of keys without one."""
        found: list[tuple[str, Coordinator | FindCoordinatorResponse]]
        if answer.coordinators:
            found = [(each.key, each) for each in answer.coordinators]
        else:
            found = [(keys[0], answer)]
        failed = {}
        for key, each in found:
            if each.error_code:
                failed[key] = each.error_code
            else:
                self._coordinators[kind, key] = each.node_id
                self.addresses.setdefault(each.node_id, (each.host, each.port))
        return failed

    def coordinator(self, kind: int, key: str) -> int | None:
        return self._coordinators.get((kind, key))

    def forget_coordinator(self, kind: int, key: str) -> None:
        self._coordinators.pop((kind, key), None)
