"""The cluster as one immutable value: brokers, topics, partitions, settings, features, rules, quotas, producer ids.

`image.apply(records)` gives the next image and leaves this one as it is, so a request that holds an image sees one
moment of the cluster however long it waits. Sharing is structural: a batch of records copies each table it touches
once, and of the topics only those it touches. `image.to_records()` writes the state as the shortest list of records
that rebuilds it: a snapshot of the metadata log.

A record that does not fit the state (a partition of an unknown topic, a stale broker epoch) is a broken invariant,
because only the controller writes records: it raises, and the node stops rather than guess.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from barnabas.core.access.bindings import AclBinding
from barnabas.core.access.credentials import DelegationToken, ScramCredential
from barnabas.core.access.quotas.rules import NO_QUOTAS, QuotaRules
from barnabas.core.access.rules import NO_RULES, AclRules
from barnabas.core.cluster.records import (
    AccessControlEntry,
    ClientQuota,
    ConfigRecord,
    DelegationTokenRecord,
    Endpoint,
    FeatureLevel,
    PartitionRecord,
    ProducerIds,
    Record,
    RegisterBroker,
    ScramCredentialRecord,
    TopicRecord,
)
from barnabas.model.settings import ResourceType

NO_LEADER = -1
ConfigKey = tuple[int, str]
_NOTHING: Mapping[Any, Any] = MappingProxyType({})  # it is empty, so it is a mapping of whatever is asked for


@dataclass(frozen=True, slots=True)
class BrokerImage:
    broker_id: int
    incarnation_id: bytes
    broker_epoch: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    directories: tuple[bytes, ...]
    features: Mapping[str, tuple[int, int]]

    @property
    def alive(self) -> bool:
        return not self.fenced

    @property
    def eligible(self) -> bool:
        """May lead, and may take new replicas first."""
        return not self.fenced and not self.in_controlled_shutdown


class PartitionImage(Struct, frozen=True, gc=False):  # a cluster has many thousands, and they hold no cycles
    """`elr` are replicas that left the in-sync ones while those were too few for anything to be committed without
    them: they may lead. `last_known_elr` are those whose log may have lost something since (KIP-966)."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    partition_epoch: int
    directories: tuple[bytes, ...]
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    @property
    def is_moving(self) -> bool:
        """A reassignment is under way."""
        return bool(self.adding_replicas or self.removing_replicas)


class TopicImage(Struct, frozen=True):
    name: str
    id: bytes
    partitions: tuple[PartitionImage, ...]
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MetadataImage:
    brokers: Mapping[int, BrokerImage] = field(default_factory=lambda: _NOTHING)
    topics: Mapping[str, TopicImage] = field(default_factory=lambda: _NOTHING)
    topic_names: Mapping[bytes, str] = field(default_factory=lambda: _NOTHING)
    configs: Mapping[ConfigKey, Mapping[str, str]] = field(default_factory=lambda: _NOTHING)  # all but topics' own
    features: Mapping[str, int] = field(default_factory=lambda: _NOTHING)
    scram: Mapping[tuple[str, int], ScramCredential] = field(default_factory=lambda: _NOTHING)  # by user and mechanism
    tokens: Mapping[str, DelegationToken] = field(default_factory=lambda: _NOTHING)  # of delegation, by id
    next_producer_id: int = 0
    acls: AclRules = field(default_factory=lambda: NO_RULES)  # another object whenever the rules are others
    quotas: QuotaRules = field(default_factory=lambda: NO_QUOTAS)  # likewise
    shape: object = field(default=None, compare=False, repr=False)  # another when topics come, go or grow
    offset: int = field(default=-1, compare=False)  # of the last applied record in the metadata log
    epoch: int = field(default=0, compare=False)  # of the controller that wrote it

    # --- questions ----------------------------------------------------------------------------------------------

    def topic(self, name: str) -> TopicImage | None:
        return self.topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        name = self.topic_names.get(topic_id)
        return None if name is None else self.topics[name]

    def partition(self, topic: str, index: int) -> PartitionImage | None:
        found = self.topics.get(topic)
        return found.partitions[index] if found is not None and 0 <= index < len(found.partitions) else None

    def config(self, resource_type: int, resource_name: str) -> Mapping[str, str]:
        """The settings stored for a resource: its overrides only."""
        if resource_type == ResourceType.TOPIC:
            topic = self.topics.get(resource_name)
            return _NOTHING if topic is None else topic.configs
        return self.configs.get((resource_type, resource_name), _NOTHING)

    def is_alive(self, broker_id: int) -> bool:
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.alive

    def live_brokers(self) -> list[BrokerImage]:
        return [broker for broker in self.brokers.values() if broker.alive]

    def has_successor(self, broker_id: int) -> bool:
        """Is there another broker that could lead what this one leads?"""
        return any(broker.eligible and broker.broker_id != broker_id for broker in self.live_brokers())

    def offline_replicas(self, partition: PartitionImage) -> list[int]:
        return [broker_id for broker_id in partition.replicas if not self.is_alive(broker_id)]

    def partitions_of(self, broker_id: int) -> Iterator[tuple[TopicImage, int, PartitionImage]]:
        """Every partition with a replica on the broker."""
        for topic in self.topics.values():
            for index, partition in enumerate(topic.partitions):
                if broker_id in partition.replicas:
                    yield topic, index, partition

    # --- change -------------------------------------------------------------------------------------------------

    def apply(
        self, records: Iterable[Record], *, offset: int | None = None, epoch: int | None = None
    ) -> "MetadataImage":
        """The state after the records; `offset` is the last one's place in the metadata log."""
        from barnabas.core.cluster.delta import Delta  # the delta builds images: it stands above this module

        image = Delta(self).replay(records)
        return replace(
            image,
            offset=self.offset if offset is None else offset,
            epoch=self.epoch if epoch is None else epoch,
        )

    def to_records(self) -> list[Record]:
        """The shortest list of records that rebuilds this state."""
        names = sorted(self.features, key=lambda name: name != "metadata.version")  # which Kafka's readers want first
        records: list[Record] = [FeatureLevel(name=name, level=self.features[name]) for name in names]
        for broker in self.brokers.values():
            records.append(
                RegisterBroker(
                    broker_id=broker.broker_id,
                    incarnation_id=broker.incarnation_id,
                    broker_epoch=broker.broker_epoch,
                    endpoints=broker.endpoints,
                    rack=broker.rack,
                    fenced=broker.fenced,
                    in_controlled_shutdown=broker.in_controlled_shutdown,
                    directories=broker.directories,
                    features=dict(broker.features),
                )
            )
        for topic in self.topics.values():
            records.extend(topic_records(topic))
        for (kind, resource), configs in self.configs.items():
            for name, value in configs.items():
                records.append(ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value))
        records += [acl_record(rule_id, rule) for rule_id, rule in self.acls.by_id.items()]
        for parts, values in self.quotas.by_entity.items():
            records += [ClientQuota(entity=parts, key=key, value=value) for key, value in values.items()]
        for (user, mechanism), credential in self.scram.items():
            records.append(ScramCredentialRecord(user=user, mechanism=mechanism, **credential._asdict()))
        records += [token_record(token) for token in self.tokens.values()]
        if self.next_producer_id:
            records.append(ProducerIds(broker_id=-1, broker_epoch=-1, next_producer_id=self.next_producer_id))
        return records


def token_record(token: DelegationToken) -> DelegationTokenRecord:
    return DelegationTokenRecord(
        token_id=token.token_id,
        owner=token.owner,
        requester=token.requester,
        renewers=token.renewers,
        issued_ms=token.issued_ms,
        max_ms=token.max_ms,
        expires_ms=token.expires_ms,
    )


def acl_record(rule_id: bytes, rule: AclBinding) -> AccessControlEntry:
    return AccessControlEntry(
        id=rule_id,
        resource_type=rule.resource_type,
        resource_name=rule.resource_name,
        pattern_type=rule.pattern_type,
        principal=rule.principal,
        host=rule.host,
        operation=rule.operation,
        permission=rule.permission,
    )


def topic_records(topic: TopicImage) -> list[Record]:
    records: list[Record] = [TopicRecord(name=topic.name, topic_id=topic.id)]
    for index, partition in enumerate(topic.partitions):
        records.append(
            PartitionRecord(
                topic_id=topic.id,
                partition=index,
                replicas=partition.replicas,
                isr=partition.isr,
                leader=partition.leader,
                leader_epoch=partition.leader_epoch,
                partition_epoch=partition.partition_epoch,
                directories=partition.directories,
                adding_replicas=partition.adding_replicas,
                removing_replicas=partition.removing_replicas,
                elr=partition.elr,
                last_known_elr=partition.last_known_elr,
            )
        )
    for name, value in topic.configs.items():
        records.append(ConfigRecord(resource_type=ResourceType.TOPIC, resource_name=topic.name, name=name, value=value))
    return records


EMPTY_IMAGE = MetadataImage()
