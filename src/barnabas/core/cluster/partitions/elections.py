"""Who leads after brokers came, went or were told to step down; ElectLeaders (KIP-460); leaders back in their places.

How a leader is chosen is in partition_change.py; here is of which partitions. A failed node touches every partition it
has a replica of, a third of the cluster or more. Most of them look alike (the same replicas, in sync and leading), so
what becomes of one is decided once for all that look like it: 36 ms for 10,000 partitions were spent in one step.
"""

from collections.abc import Callable, Iterable, Sequence

from barnabas.core.cluster.image import NO_LEADER, MetadataImage, PartitionImage
from barnabas.core.cluster.items import ElectionResult
from barnabas.core.cluster.partitions.partition_change import NOBODY, Wish, changed, may_serve, zones_in
from barnabas.core.cluster.partitions.rules import RulesOf, TopicRules
from barnabas.core.cluster.records import PartitionChange, Record
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import ELECTIONS_AT_ONCE_MAX
from barnabas.model.zones import in_order

PREFERRED, UNCLEAN = 0, 1
_AS_IT_IS = Wish()
_Brokers = tuple[int, ...]
_Looks = tuple[int, _Brokers, _Brokers, tuple[bytes, ...], _Brokers, _Brokers, _Brokers, _Brokers]


def leadership_changes(
    image: MetadataImage,
    broker_ids: Iterable[int],
    rules_of: RulesOf,
    *,
    doubtful: frozenset[int] = NOBODY,
    lost: Callable[[PartitionImage], frozenset[int]] | None = None,
) -> list[Record]:
    """What the partitions of these brokers become, now that the brokers are as `image` has them.

    `doubtful` are brokers whose logs may have lost their ends, `lost` says whose log of a partition is gone, by where
    its replicas lie.
    """
    touched = frozenset(broker_ids)
    alone = next(iter(touched)) if len(touched) == 1 else None
    up = may_serve(image)
    records: list[Record] = []
    wish = Wish(doubtful=doubtful) if doubtful else _AS_IT_IS
    known: dict[TopicRules, dict[_Looks, PartitionChange | None]] = {}  # what becomes of those that look alike
    for topic in image.topics.values():
        rules = None
        for index, partition in enumerate(topic.partitions):
            if alone not in partition.replicas if alone is not None else touched.isdisjoint(partition.replicas):
                continue
            if rules is None:
                rules = rules_of(topic)
                decided = known.setdefault(rules, {})
            looks = _looks(partition)
            if looks in decided:
                change = _same(decided[looks], topic.id, index)
            else:
                here = wish if lost is None else Wish(doubtful=doubtful, lost=lost(partition))
                change = decided[looks] = changed(image, topic, index, rules, here, up)
            if change is not None:
                records.append(change)
    return records


def _looks(partition: PartitionImage) -> _Looks:
    """All that a decision about a partition depends on, its topic's rules and the brokers aside."""
    return (
        partition.leader,
        partition.replicas,
        partition.isr,
        partition.directories,
        partition.adding_replicas,
        partition.removing_replicas,
        partition.elr,
        partition.last_known_elr,
    )


def _same(change: PartitionChange | None, topic_id: bytes, index: int) -> PartitionChange | None:
    """The same change of another partition."""
    if change is None:
        return None
    return PartitionChange(
        topic_id=topic_id,
        partition=index,
        leader=change.leader,
        isr=change.isr,
        replicas=change.replicas,
        adding_replicas=change.adding_replicas,
        removing_replicas=change.removing_replicas,
        directories=change.directories,
        elr=change.elr,
        last_known_elr=change.last_known_elr,
    )


def replace_dead_leaders(image: MetadataImage, rules_of: RulesOf) -> list[Record]:
    """What a controller that died between two records of one decision left undone: leaders that are not up."""
    return leadership_changes(image, image.brokers, rules_of)


def eligible_again(image: MetadataImage, rules_of: RulesOf) -> list[Record]:
    """What changes where replicas are eligible, because the rules did (min.insync.replicas, min.insync.zones)."""
    up = may_serve(image)
    changes = (
        changed(image, topic, index, rules_of(topic), _AS_IT_IS, up)
        for topic in image.topics.values()
        for index, partition in enumerate(topic.partitions)
        if partition.elr or partition.last_known_elr
    )
    return [change for change in changes if change is not None]


def balance(image: MetadataImage, rules_of: RulesOf) -> list[Record]:
    """Preferred leaders back where they are in sync and do not lead (auto.leader.rebalance.enable), so many at once.
    Which replica is preferred follows `leader.preferred.racks` where that is set."""
    up = may_serve(image)
    records: list[Record] = []
    for topic in image.topics.values():
        rules: TopicRules | None = None
        for index, partition in enumerate(topic.partitions):
            rules = rules_of(topic) if rules is None else rules
            replicas = _ordered(image, partition, rules)
            first = replicas[0]
            if (partition.leader != first and first in partition.isr and up(first)) or replicas != partition.replicas:
                change = changed(image, topic, index, rules, Wish(replicas=replicas, preferred=True), up)
                if change is not None:
                    records.append(change)
                if len(records) >= ELECTIONS_AT_ONCE_MAX:
                    return records
    return records


def _ordered(image: MetadataImage, partition: PartitionImage, rules: TopicRules) -> _Brokers:
    """The replicas, preferred leader first. Those of a move have their order from who asked for it until it ends."""
    if not rules.preferred_racks or partition.is_moving:
        return partition.replicas
    return in_order(partition.replicas, rules.preferred_racks, zones_in(image))


def elect(
    image: MetadataImage, election_type: int, partitions: Sequence[tuple[str, int]] | None, rules_of: RulesOf
) -> tuple[list[Record], list[ElectionResult]]:
    """ElectLeaders: of the named partitions, or of all that need it when none is named."""
    if election_type not in (PREFERRED, UNCLEAN):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"unknown election type {election_type}")
    records: list[Record] = []
    results: list[ElectionResult] = []
    every = partitions is None
    up = may_serve(image)
    wanted = [(t.name, i) for t in image.topics.values() for i in range(len(t.partitions))] if every else partitions
    for name, index in dict.fromkeys(wanted or ()):
        try:
            records.append(_elect_one(image, election_type, name, index, rules_of, up))
            results.append(ElectionResult(name, index))
        except KafkaError as error:
            # Asked for all, Kafka leaves out those that have the leader they should have.
            if not (every and error.code is ErrorCode.ELECTION_NOT_NEEDED):
                results.append(ElectionResult(name, index, error.code, error.message))
    return records, results


def _elect_one(
    image: MetadataImage, election_type: int, name: str, index: int, rules_of: RulesOf, up: Callable[[int], bool]
) -> PartitionChange:
    topic = image.topics.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name!r}")
    if not 0 <= index < len(topic.partitions):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no partition {index} of topic {name!r}")
    partition = topic.partitions[index]
    preferred = election_type == PREFERRED
    rules = rules_of(topic)
    replicas = _ordered(image, partition, rules) if preferred else partition.replicas
    if preferred and partition.leader == replicas[0]:
        raise KafkaError(ErrorCode.ELECTION_NOT_NEEDED, "the preferred replica leads already")
    if not preferred and partition.leader != NO_LEADER:
        raise KafkaError(ErrorCode.ELECTION_NOT_NEEDED, "the partition has a leader")
    wish = Wish(replicas=replicas, preferred=preferred, unclean=None if preferred else True)
    change = changed(image, topic, index, rules, wish, up)
    if change is None or change.leader is None or change.leader == NO_LEADER:
        if preferred:
            raise KafkaError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "the preferred replica is not in sync or not up")
        raise KafkaError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "no replica is up")
    if preferred and change.leader != replicas[0]:
        raise KafkaError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "the preferred replica is not in sync or not up")
    return change
