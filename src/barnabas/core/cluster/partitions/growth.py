"""The cluster's own topics grow with it: a broker that comes up takes replicas of them until they have enough.

They are made when the first client asks for a coordinator, with as many replicas as there are brokers then: one, in a
cluster of one, or when the second node is still starting. Without more of them later, the first lost node would take
groups and transactions with it (and Kafka, which insists on three from the start, would not begin to serve).
"""

from collections import Counter

from barnabas.core.cluster.image import BrokerImage, MetadataImage, PartitionImage
from barnabas.core.cluster.internal_topics import SETTINGS_PREFIX
from barnabas.core.cluster.items import Reassignment
from barnabas.core.cluster.partitions.partition_change import zones_in
from barnabas.core.cluster.partitions.reassignment import reassign
from barnabas.core.cluster.partitions.rules import RulesOf
from barnabas.core.cluster.records import Record
from barnabas.model.settings import Settings
from barnabas.model.zones import in_order


def grow_internal_topics(image: MetadataImage, settings: Settings, rules_of: RulesOf) -> list[Record]:
    up = [broker for broker in image.brokers.values() if broker.eligible]
    moves: list[Reassignment] = []
    for name, prefix in SETTINGS_PREFIX.items():
        topic = image.topics.get(name)
        if topic is None:
            continue
        wanted = min(len(up), settings.int(f"{prefix}.replication.factor"))
        racks = rules_of(topic).preferred_racks
        load = Counter(broker_id for partition in topic.partitions for broker_id in partition.replicas)
        for index, partition in enumerate(topic.partitions):
            if len(partition.replicas) < wanted and not partition.is_moving:
                added = _chosen(image, partition, up, load, wanted - len(partition.replicas))
                replicas = in_order((*partition.replicas, *added), racks, zones_in(image))
                moves.append(Reassignment(name, index, replicas))
    return reassign(image, moves, True, rules_of)[0]


def _chosen(
    image: MetadataImage, partition: PartitionImage, up: list[BrokerImage], load: Counter[int], count: int
) -> list[int]:
    """Brokers of racks that have none yet first, then those with the fewest replicas."""
    racks = {broker.rack for b in partition.replicas if (broker := image.brokers.get(b)) is not None}
    chosen: list[int] = []
    for _ in range(count):
        free = [
            broker for broker in up if broker.broker_id not in partition.replicas and broker.broker_id not in chosen
        ]
        if not free:
            break
        best = min(free, key=lambda b: (b.rack is not None and b.rack in racks, load[b.broker_id], b.broker_id))
        chosen.append(best.broker_id)
        racks.add(best.rack)
        load[best.broker_id] += 1
    return chosen
