"""Creating, deleting and growing topics: every check Kafka makes, in its order, so that a client gets the same code.

Order for a new topic: its name, its double in the request, whether it exists, a name that differs only in '.' and '_',
its settings, then partitions and replicas. A request may ask for 10,000 partitions in all.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from barnabas.core.cluster.config_rules import check_topic_configs
from barnabas.core.cluster.image import MetadataImage, TopicImage
from barnabas.core.cluster.items import DeletedTopic, MorePartitions, NewTopic, TopicResult
from barnabas.core.cluster.links import first_epoch
from barnabas.core.cluster.partitions.assignments import Room, check_manual, default_factor, partition_records
from barnabas.core.cluster.partitions.placement import place
from barnabas.core.cluster.records import ConfigRecord, Record, RemoveTopic, TopicRecord
from barnabas.core.randomness import Random
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import METADATA_TOPIC, ZERO_UUID, topic_name_problem
from barnabas.model.limits import PARTITIONS_PER_REQUEST_MAX
from barnabas.model.settings import ResourceType, Settings


def new_topic(
    image: MetadataImage,
    settings: Settings,
    wanted: NewTopic,
    topic_id: bytes,
    random: Random,
    collisions: "NameCollisions",
    room: Room,
) -> tuple[list[Record], TopicResult]:
    """The records of one topic, or KafkaError. The caller has checked what concerns the whole request."""
    problem = topic_name_problem(wanted.name)
    if problem:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic name {wanted.name!r}: {problem}")
    if wanted.name in image.topics:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {wanted.name!r} already exists")
    collisions.check(wanted.name)
    configs = check_topic_configs(wanted.configs, settings)
    assignments = _assignments(image, settings, wanted, random, preferred_racks(configs, settings))
    room.take(assignments)
    records: list[Record] = [TopicRecord(name=wanted.name, topic_id=topic_id)]
    records.extend(partition_records(image, topic_id, 0, assignments, first_epoch(configs)))
    records.extend(
        ConfigRecord(resource_type=ResourceType.TOPIC, resource_name=wanted.name, name=name, value=value)
        for name, value in configs.items()
    )
    return records, TopicResult(
        wanted.name,
        topic_id=topic_id,
        num_partitions=len(assignments),
        replication_factor=len(assignments[0]),
        configs=configs,
    )


def check_request(wanted: Sequence[NewTopic], settings: Settings) -> dict[str, KafkaError]:
    """What is wrong with a topic because of the rest of its request, by name."""
    problems: dict[str, KafkaError] = {}
    for name, count in Counter(topic.name for topic in wanted).items():
        if count > 1:
            problems[name] = KafkaError(ErrorCode.INVALID_REQUEST, f"topic {name!r} stands in the request twice")
        elif name == METADATA_TOPIC:
            problems[name] = KafkaError(ErrorCode.INVALID_REQUEST, f"{name} is the cluster's own: not to be created")
    total = 0
    for topic in wanted:
        total += len(topic.assignments) or max(topic.num_partitions, 0) or settings.int("num.partitions")
    if total > PARTITIONS_PER_REQUEST_MAX:
        too_many = KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"{total} partitions in one request, and {PARTITIONS_PER_REQUEST_MAX} are the most",
        )
        return {topic.name: problems.get(topic.name, too_many) for topic in wanted}
    return problems


class NameCollisions:
    """Names that are the same once '.' is read as '_': metrics cannot tell them apart, so the second is refused."""

    def __init__(self, topics: Mapping[str, TopicImage]) -> None:
        self._topics = topics
        self._by_shape: dict[str, str] | None = None

    def check(self, name: str) -> None:
        if "." not in name and "_" not in name:
            return
        if self._by_shape is None:
            self._by_shape = {other.replace(".", "_"): other for other in self._topics if "." in other or "_" in other}
        other = self._by_shape.get(name.replace(".", "_"), name)
        if other != name:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic {name!r} collides with the topic {other!r}")

    def add(self, name: str) -> None:
        if self._by_shape is not None and ("." in name or "_" in name):
            self._by_shape[name.replace(".", "_")] = name


def preferred_racks(configs: Mapping[str, str], settings: Settings) -> Sequence[str]:
    """Where the leaders of a topic with these settings of its own should be."""
    return settings.topic(configs).list("leader.preferred.racks")


def _assignments(
    image: MetadataImage, settings: Settings, wanted: NewTopic, random: Random, racks: Sequence[str]
) -> list[tuple[int, ...]]:
    count, factor = wanted.num_partitions, wanted.replication_factor
    if wanted.assignments:
        if factor != -1 or count != -1:
            which = "replication factor" if factor != -1 else "number of partitions"
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"replicas are assigned by hand, so the {which} must be -1")
        by_index = dict(wanted.assignments)
        if len(by_index) < len(wanted.assignments):
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "a partition is assigned twice")
        if sorted(by_index) != list(range(len(by_index))):
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions must be numbered from 0 without gaps")
        return [check_manual(image, by_index[i], len(by_index[0])) for i in range(len(by_index))]
    if factor < -1 or factor == 0:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR, "the replication factor must be above 0, or -1 for the default"
        )
    if count < -1 or count == 0:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, "the number of partitions must be above 0, or -1 for the default"
        )
    count = settings.int("num.partitions") if count == -1 else count
    factor = default_factor(image, settings) if factor == -1 else factor
    return place(list(image.brokers.values()), count, factor, random, racks)


def check_batch(partitions: int) -> None:
    if partitions > PARTITIONS_PER_REQUEST_MAX:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, f"{partitions} partitions at once: {PARTITIONS_PER_REQUEST_MAX} are the most"
        )


Named = tuple[str | None, bytes]


def each_once(image: MetadataImage, wanted: Sequence[Named]) -> tuple[list[Named], set[Named]]:
    """The topics of a deletion, each once, and those that stood there more than once, by name or by id.

    Of the latter nothing is deleted: the sender did not mean what it wrote.
    """
    meant: dict[bytes | str, list[Named]] = {}
    for name, topic_id in wanted:
        topic = image.topics.get(name) if name is not None and topic_id == ZERO_UUID else None
        key: bytes | str = topic_id if topic is None else topic.id
        meant.setdefault(name if topic is None and name else key, []).append((name, topic_id))
    once: list[Named] = []
    twice: set[Named] = set()
    for items in meant.values():
        name = next((name for name, _ in items if name is not None), None)
        item = (name, max(topic_id for _, topic_id in items))
        once.append(item)
        if len(items) > 1:
            twice.add(item)
    return once, twice


def delete_topic(image: MetadataImage, name: str | None, topic_id: bytes) -> tuple[list[Record], DeletedTopic]:
    topic = image.topic_by_id(topic_id) if name is None else image.topics.get(name)
    if topic is None:
        code = ErrorCode.UNKNOWN_TOPIC_ID if name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        raise KafkaError(code, "no topic has this id" if name is None else f"no topic {name!r}")
    return [RemoveTopic(topic_id=topic.id)], DeletedTopic(topic.name, topic.id)


def more_partitions(
    image: MetadataImage, settings: Settings, wanted: MorePartitions, random: Random, room: Room
) -> list[Record]:
    topic = image.topics.get(wanted.name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {wanted.name!r}")
    have = len(topic.partitions)
    if any(partition.is_moving for partition in topic.partitions):
        raise KafkaError(ErrorCode.REASSIGNMENT_IN_PROGRESS, f"topic {wanted.name!r} is being moved")
    if wanted.count == have:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"topic {wanted.name!r} has {have} partitions already")
    if wanted.count < have:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"topic {wanted.name!r} has {have} partitions: {wanted.count} would not be more",
        )
    added = wanted.count - have
    check_batch(added)
    factor = len(topic.partitions[0].replicas)
    if wanted.assignments is None:
        racks = preferred_racks(topic.configs, settings)
        assignments = place(list(image.brokers.values()), added, factor, random, racks)
    elif len(wanted.assignments) != added:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{added} partitions are to be added, and {len(wanted.assignments)} are assigned",
        )
    else:
        assignments = [check_manual(image, replicas, factor) for replicas in wanted.assignments]
    room.take(assignments)
    return partition_records(image, topic.id, have, assignments, first_epoch(topic.configs))
