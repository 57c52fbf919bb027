"""Which brokers may take which replicas: assignments by hand, the room on each node, the factor when nobody says.

The default replication factor is what `default.replication.factor` says; where nothing was said, three in a cluster of
three or more, so that a topic nobody thought about survives the loss of two nodes. The voters of a quorum whose nodes
are brokers too are counted before they have registered: a topic made while the second node starts must not stay alone.
"""

from collections import Counter
from collections.abc import Sequence

from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.records import PartitionRecord, Record
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import ZERO_UUID
from barnabas.model.limits import PARTITIONS_PER_NODE_MAX
from barnabas.model.settings import ConfigSource, Settings

FACTOR = "default.replication.factor"
_REPLICAS_MAX = 3  # two nodes may be lost; more replicas cost more than they are worth to most


def default_factor(image: MetadataImage, settings: Settings) -> int:
    if settings.source(FACTOR) is not ConfigSource.DEFAULT:
        return settings.int(FACTOR)
    return max(1, min(_REPLICAS_MAX, max(len(image.brokers), expected_brokers(settings))))


def expected_brokers(settings: Settings) -> int:
    """How many nodes the settings say there will be: the voters, where a voter is a broker as well."""
    return len(settings.list("controller.quorum.voters")) if "broker" in settings.list("process.roles") else 0


def check_manual(image: MetadataImage, replicas: Sequence[int], factor: int | None) -> tuple[int, ...]:
    """Replicas assigned by hand: registered brokers, each once; as many as `factor` says, if it does."""
    problem = None
    unknown = next((broker_id for broker_id in replicas if broker_id not in image.brokers), None)
    if not replicas:
        problem = "an assignment by hand has no replica"
    elif unknown is not None:
        problem = f"an assignment by hand names broker {unknown}, which is not registered"
    elif len(set(replicas)) < len(replicas):
        problem = "an assignment by hand names a broker twice"
    elif factor is not None and len(replicas) != factor:
        problem = f"an assignment by hand has {len(replicas)} replicas where the topic has {factor}"
    if problem:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
    return tuple(replicas)


class Room:
    """A node holds so many replicas and no more; counted once for a whole request."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._at_most: int | None = None
        self._held: Counter[int] | None = None
        self._taken: Counter[int] = Counter()

    def take(self, assignments: Sequence[Sequence[int]]) -> None:
        topics = self._image.topics.values()
        if self._at_most is None:
            self._at_most = sum(len(topic.partitions) * len(topic.partitions[0].replicas) for topic in topics)
        more = Counter(broker_id for replicas in assignments for broker_id in replicas)
        self._at_most += more.total()
        if self._at_most > PARTITIONS_PER_NODE_MAX:  # else the cluster together has not so many
            if self._held is None:
                self._held = Counter(b for topic in topics for p in topic.partitions for b in p.replicas)
            for broker_id, count in more.items():
                if self._held[broker_id] + self._taken[broker_id] + count > PARTITIONS_PER_NODE_MAX:
                    raise KafkaError(
                        ErrorCode.INVALID_PARTITIONS,
                        f"broker {broker_id} would hold more than {PARTITIONS_PER_NODE_MAX} replicas",
                    )
        self._taken += more


def partition_records(
    image: MetadataImage, topic_id: bytes, first: int, assignments: Sequence[tuple[int, ...]], leader_epoch: int = 0
) -> list[Record]:
    """New partitions: in sync is who is up, and the first of those leads."""
    eligible = {broker.broker_id for broker in image.brokers.values() if broker.eligible}
    directories = {broker.broker_id: (broker.directories or (ZERO_UUID,))[0] for broker in image.brokers.values()}
    records: list[Record] = []
    alike: dict[tuple[int, ...], tuple[tuple[int, ...], tuple[bytes, ...]]] = {}  # in sync, directories, by replicas
    for index, replicas in enumerate(assignments, first):
        known = alike.get(replicas)
        if known is None:
            known = alike[replicas] = (
                tuple(broker_id for broker_id in replicas if broker_id in eligible),
                tuple(directories[broker_id] for broker_id in replicas),
            )
        isr, where = known
        if not isr:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"every broker assigned to partition {index} is fenced"
            )
        records.append(
            PartitionRecord(
                topic_id=topic_id,
                partition=index,
                replicas=replicas,
                isr=isr,
                leader=isr[0],
                leader_epoch=leader_epoch,
                directories=where,
            )
        )
    return records
