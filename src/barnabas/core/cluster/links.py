"""Topics that a link fills from another cluster, as the controller sees them.

A topic belongs to a link while it has the setting `link.name`: its leaders fetch from the source and append batches
unchanged, and clients may only read it. Removing the setting promotes it to an ordinary topic.

Leader epochs are what makes that safe, here and on the way back:

* A batch keeps the epoch of its leader at the source, so the history of epochs in the log is the source's. Where the
  logs of two clusters diverge is found by it, as between replicas (KIP-101).
* This cluster's own leader epoch of the partition, which clients are fenced by, is above all of the source's: it begins
  a block of 65,536 epochs above the source's newest (model/linked_topics.py). A consumer that committed an epoch of the
  source thus never takes this cluster's metadata for outdated.
* A promotion begins a new leader epoch. Records that are written after it carry epochs of this cluster's block, and
  those that the former source writes meanwhile carry epochs of its own: an epoch never means two different histories.
* When the former source follows this cluster (`link reverse`), its epochs rise into the next block.

Producer ids work the same way: a cluster that has a link hands out ids from a range of its own, so that no new producer
has the id of one whose sequences came with the records.
"""

from collections.abc import Mapping, Sequence

from barnabas.core.cluster.image import MetadataImage, TopicImage
from barnabas.core.cluster.records import ConfigRecord, PartitionChange, PartitionRecord, ProducerIds, Record
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings import ResourceType

_PRODUCER_IDS_OF_A_CLUSTER = 1 << 40
_PRODUCER_ID_RANGES = 1 << 22
_EPOCH_MAX = (1 << 31) - 1

LINK_NAME, LINK_EPOCH = "link.name", "link.leader.epoch"
CLUSTER_ID = "link.cluster.id"
SOURCE_ID = "source.cluster.id"  # of a link


def is_linked(topic: TopicImage) -> bool:
    return bool(topic.configs.get(LINK_NAME))


def promoted_topics(image: MetadataImage, names: Sequence[str]) -> dict[str, list[str]]:
    """Of these links: the topics that came from their sources and are ordinary ones now. They keep the source's id."""
    ids = {name: image.configs.get((ResourceType.LINK, name), {}).get(SOURCE_ID, "") for name in names}
    found: dict[str, list[str]] = {}
    for name, topic in image.topics.items():
        if (source := topic.configs.get(CLUSTER_ID)) is None:
            continue
        if link := topic.configs.get(LINK_NAME):
            if not ids.get(link, source):  # an older link does not have it in its settings
                ids[link] = source
        else:
            found.setdefault(source, []).append(name)
    return {name: sorted(found.get(ids[name], ())) for name in names}


def first_epoch(configs: Mapping[str, str]) -> int:
    """The leader epoch that new partitions of a topic with these settings begin with."""
    return int(configs.get(LINK_EPOCH, "0")) if configs.get(LINK_NAME) else 0


def check_not_linked(image: MetadataImage, name: str) -> None:
    topic = image.topics.get(name)
    if topic is not None and is_linked(topic):
        raise linked_error(name, topic.configs[LINK_NAME])


def linked_error(topic: str, link: str) -> KafkaError:
    return KafkaError(
        ErrorCode.POLICY_VIOLATION,
        f"topic {topic!r} is filled by the link {link!r} and can only be read until it is promoted (link promote)",
    )


def after_settings(image: MetadataImage, made: Sequence[Record]) -> list[Record]:
    """What follows from changed settings: a promoted topic begins new leader epochs, one that is given to a link rises
    into its block of epochs, and the first link takes a range of producer ids. `image` is that before them."""
    records: list[Record] = []
    for record in made:
        if not isinstance(record, ConfigRecord):
            continue
        if record.resource_type == ResourceType.TOPIC and record.name == LINK_NAME:
            records += _topic_changed(image, image.topics[record.resource_name], made, record.value)
        elif record.resource_type == ResourceType.LINK and record.name == "bootstrap.servers" and record.value:
            records += _own_producer_ids(image, record.resource_name)
    return records


def _topic_changed(image: MetadataImage, topic: TopicImage, made: Sequence[Record], link: str | None) -> list[Record]:
    if link and is_linked(topic):
        raise linked_error(topic.name, topic.configs[LINK_NAME])
    if not link:
        return _promoted(topic)
    given = {r.name: r.value for r in made if isinstance(r, ConfigRecord) and r.resource_name == topic.name}
    epoch = int(given.get(LINK_EPOCH) or topic.configs.get(LINK_EPOCH, "0"))
    if any(epoch <= partition.leader_epoch for partition in topic.partitions) or epoch > _EPOCH_MAX:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"{LINK_EPOCH}={epoch} must be above the leader epochs of topic {topic.name!r} to give it to a link",
        )
    return [_raised(topic, index, epoch) for index in range(len(topic.partitions))]


def _promoted(topic: TopicImage) -> list[Record]:
    """Naming the leader begins a new epoch; where nobody leads, the next election does."""
    return [
        PartitionChange(topic_id=topic.id, partition=index, leader=partition.leader)
        for index, partition in enumerate(topic.partitions)
        if partition.leader >= 0
    ]


def _raised(topic: TopicImage, index: int, epoch: int) -> Record:
    old = topic.partitions[index]
    return PartitionRecord(
        topic_id=topic.id,
        partition=index,
        replicas=old.replicas,
        isr=old.isr,
        leader=old.leader,
        leader_epoch=epoch,
        partition_epoch=old.partition_epoch + 1,
        directories=old.directories,
        adding_replicas=old.adding_replicas,
        removing_replicas=old.removing_replicas,
        elr=old.elr,
        last_known_elr=old.last_known_elr,
    )


def _own_producer_ids(image: MetadataImage, seed: str) -> list[Record]:
    """The range is taken once, by the brokers' directories, which no two clusters share."""
    if image.next_producer_id >= _PRODUCER_IDS_OF_A_CLUSTER:
        return []
    known = b"".join(sorted(d for broker in image.brokers.values() for d in broker.directories)) or seed.encode()
    number = 1 + int.from_bytes(known[:8], "big") % (_PRODUCER_ID_RANGES - 1)
    return [ProducerIds(broker_id=-1, broker_epoch=-1, next_producer_id=number * _PRODUCER_IDS_OF_A_CLUSTER)]
