"""What becomes of partitions that look alike is decided once: the same comes out as for each of them alone."""

from random import Random

from barnabas.core.cluster.image import EMPTY_IMAGE, MetadataImage
from barnabas.core.cluster.partitions.elections import leadership_changes
from barnabas.core.cluster.partitions.partition_change import Wish, changed, may_serve
from barnabas.core.cluster.partitions.rules import TopicRules
from barnabas.core.cluster.records import PartitionRecord, Record, RegisterBroker, TopicRecord

BROKERS = (1, 2, 3, 4)
ME = frozenset({2})


def image(random: Random) -> MetadataImage:
    records: list[Record] = [
        RegisterBroker(
            broker_id=broker,
            incarnation_id=bytes(16),
            broker_epoch=broker,
            endpoints=(),
            rack=None,
            fenced=random.random() < 0.4,
            directories=(bytes([broker]) * 16,),
            features={},
        )
        for broker in BROKERS
    ]
    for number in range(1, 5):
        records.append(TopicRecord(name=f"t{number}", topic_id=bytes([number]) * 16))
        for index in range(60):
            replicas = tuple(random.sample(BROKERS, 3))
            isr = tuple(broker for broker in replicas if random.random() < 0.7)
            out = tuple(broker for broker in replicas if broker not in isr)
            elr = tuple(broker for broker in out if random.random() < 0.5)
            adding = (replicas[2],) if random.random() < 0.2 else ()
            records.append(
                PartitionRecord(
                    topic_id=bytes([number]) * 16,
                    partition=index,
                    replicas=replicas,
                    isr=isr,
                    leader=random.choice(isr) if isr else -1,
                    leader_epoch=index,
                    partition_epoch=index,
                    directories=tuple(bytes([broker if random.random() < 0.9 else 9]) * 16 for broker in replicas),
                    adding_replicas=adding,
                    removing_replicas=(replicas[0],) if adding else (),
                    elr=elr,
                    last_known_elr=tuple(broker for broker in out if broker not in elr) if not isr else (),
                )
            )
    return EMPTY_IMAGE.apply(records)


def test_each_becomes_what_it_would_become_alone() -> None:
    decided = 0
    for seed in range(40):
        state = image(Random(seed))
        rules = {
            f"t{number}": TopicRules(min_isr=number % 3 + 1, unclean=number == 2, flushed=number == 3)
            for number in range(1, 5)
        }
        up, doubtful = may_serve(state), ME if seed % 2 else frozenset()
        alone = [
            changed(state, topic, index, rules[topic.name], Wish(doubtful=doubtful, lost=lost), up)
            for topic in state.topics.values()
            for index, partition in enumerate(topic.partitions)
            if 2 in partition.replicas
            for lost in [ME if partition.directories[partition.replicas.index(2)] == b"\x09" * 16 else frozenset()]
        ]
        together = leadership_changes(
            state,
            [2],
            lambda topic, rules=rules: rules[topic.name],  # type: ignore[misc]
            doubtful=doubtful,
            lost=lambda each: ME if each.directories[each.replicas.index(2)] == b"\x09" * 16 else frozenset(),
        )
        assert together == [change for change in alone if change is not None]
        decided += len(together)
    assert decided > 1_000
