"""One batch of metadata records played onto an image: each table is copied when first touched, each topic likewise.

The entrance is `Delta(image).replay(records)`, one `match` over the kinds of record. Nothing here decides: the
controller has decided, and a record that does not fit is a broken invariant (an assertion), never a client's error.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from barnabas.core.access.bindings import AclBinding
from barnabas.core.access.credentials import DelegationToken, ScramCredential
from barnabas.core.access.quotas.rules import Entity
from barnabas.core.cluster.image import BrokerImage, MetadataImage, PartitionImage, TopicImage
from barnabas.core.cluster.records import (
    AccessControlEntry,
    ChangeBroker,
    ClientQuota,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevel,
    PartitionChange,
    PartitionRecord,
    ProducerIds,
    Record,
    RegisterBroker,
    RemoveAccessControlEntry,
    RemoveDelegationToken,
    RemoveScramCredential,
    RemoveTopic,
    ScramCredentialRecord,
    TopicRecord,
    UnregisterBroker,
)
from barnabas.model.settings import ResourceType


class _Shape:
    """Which topics there are and how many partitions they have: the same object while that does not change."""


class _TopicDraft:
    """A topic while the batch is played: lists instead of tuples, so that 1,000 partitions cost 1,000 appends."""

    __slots__ = ("configs", "id", "name", "partitions")

    def __init__(
        self, name: str, topic_id: bytes, partitions: Iterable[PartitionImage], configs: dict[str, str]
    ) -> None:
        self.name = name
        self.id = topic_id
        self.partitions = list(partitions)
        self.configs = configs

    def freeze(self) -> TopicImage:
        return TopicImage(self.name, self.id, tuple(self.partitions), self.configs)


class Delta:
    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._brokers: dict[int, BrokerImage] | None = None
        self._features: dict[str, int] | None = None
        self._configs: dict[tuple[int, str], dict[str, str]] | None = None
        self._scram: dict[tuple[str, int], ScramCredential] | None = None
        self._tokens: dict[str, DelegationToken] | None = None
        self._drafts: dict[bytes, _TopicDraft] = {}
        self._names: dict[str, bytes] = {}  # of drafts
        self._removed: dict[bytes, str] = {}
        self._new_acls: dict[bytes, AclBinding] = {}
        self._removed_acls: dict[bytes, None] = {}
        self._quotas: dict[Entity, dict[str, float | None]] = {}
        self._next_producer_id = image.next_producer_id
        self._shape: object = image.shape

    def replay(self, records: Iterable[Record]) -> MetadataImage:
        for record in records:
            self._play(record)
        return self._freeze()

    def _play(self, record: Record) -> None:
        match record:
            case PartitionRecord():
                self._add_partition(record)
            case PartitionChange():
                self._change_partition(record)
            case TopicRecord():
                known = record.name in self._names or (
                    record.name in self._image.topics and self._image.topics[record.name].id not in self._removed
                )
                assert not known, f"topic {record.name} exists"
                self._drafts[record.topic_id] = _TopicDraft(record.name, record.topic_id, (), {})
                self._names[record.name] = record.topic_id
            case RemoveTopic():
                draft = self._draft(record.topic_id)
                del self._drafts[record.topic_id], self._names[draft.name]
                self._removed[record.topic_id] = draft.name
                self._shape = _Shape()
            case ConfigRecord():
                self._set_config(record)
            case RegisterBroker():
                self._broker_table()[record.broker_id] = BrokerImage(
                    record.broker_id,
                    record.incarnation_id,
                    record.broker_epoch,
                    record.endpoints,
                    record.rack,
                    record.fenced,
                    record.in_controlled_shutdown,
                    record.directories,
                    record.features,
                )
            case ChangeBroker():
                self._change_broker(record)
            case UnregisterBroker():
                broker = self._broker_table().pop(record.broker_id)
                assert broker.broker_epoch == record.broker_epoch, f"broker {record.broker_id}: another epoch"
            case FeatureLevel():
                self._set_feature(record)
            case ScramCredentialRecord():
                self._scram_table()[record.user, record.mechanism] = ScramCredential(
                    record.salt, record.stored_key, record.server_key, record.iterations, record.source
                )
            case RemoveScramCredential():
                del self._scram_table()[record.user, record.mechanism]
            case ClientQuota():
                values = self._quotas.setdefault(record.entity, {})
                values[record.key] = None if record.remove else record.value
            case DelegationTokenRecord() | RemoveDelegationToken():
                self._change_token(record)
            case ProducerIds():
                assert record.next_producer_id >= self._next_producer_id, "producer ids never go back"
                self._next_producer_id = record.next_producer_id
            case AccessControlEntry():
                self._new_acls[record.id] = acl_binding(record)
            case RemoveAccessControlEntry():
                if self._new_acls.pop(record.id, None) is None:
                    assert record.id in self._image.acls.by_id, "a rule that is not there"
                    self._removed_acls[record.id] = None

    # --- one kind each ------------------------------------------------------------------------------------------

    def _add_partition(self, record: PartitionRecord) -> None:
        """A partition that is there is replaced: its leader epoch rises by more than one (links.py)."""
        draft = self._draft(record.topic_id)
        assert record.partition <= len(draft.partitions), f"partition {record.partition} of {draft.name}: a gap"
        partition = PartitionImage(
            record.leader,
            record.leader_epoch,
            record.replicas,
            record.isr,
            record.partition_epoch,
            record.directories,
            record.adding_replicas,
            record.removing_replicas,
            record.elr,
            record.last_known_elr,
        )
        if record.partition < len(draft.partitions):
            old = draft.partitions[record.partition]
            assert old.leader_epoch < record.leader_epoch, f"partition {record.partition} of {draft.name}: an old epoch"
            draft.partitions[record.partition] = partition
            return
        draft.partitions.append(partition)
        self._shape = _Shape()

    def _draft(self, topic_id: bytes) -> _TopicDraft:
        draft = self._drafts.get(topic_id)
        if draft is None:
            assert topic_id not in self._removed, "a removed topic"
            topic = self._image.topics[self._image.topic_names[topic_id]]
            draft = _TopicDraft(topic.name, topic.id, topic.partitions, cast("dict[str, str]", topic.configs))
            self._drafts[topic_id] = draft
            self._names[topic.name] = topic_id
        return draft

    def _change_partition(self, record: PartitionChange) -> None:
        partitions = self._draft(record.topic_id).partitions
        old = partitions[record.partition]
        partitions[record.partition] = PartitionImage(
            old.leader if record.leader is None else record.leader,
            old.leader_epoch + (record.leader is not None),
            old.replicas if record.replicas is None else record.replicas,
            old.isr if record.isr is None else record.isr,
            old.partition_epoch + 1,
            old.directories if record.directories is None else record.directories,
            old.adding_replicas if record.adding_replicas is None else record.adding_replicas,
            old.removing_replicas if record.removing_replicas is None else record.removing_replicas,
            old.elr if record.elr is None else record.elr,
            old.last_known_elr if record.last_known_elr is None else record.last_known_elr,
        )

    def _set_config(self, record: ConfigRecord) -> None:
        if record.resource_type == ResourceType.TOPIC:
            topic_id = self._names.get(record.resource_name) or self._image.topics[record.resource_name].id
            draft = self._draft(topic_id)
            draft.configs = _with(draft.configs, record.name, record.value)
            return
        if self._configs is None:
            self._configs = cast("dict[tuple[int, str], dict[str, str]]", dict(self._image.configs))
        key = (record.resource_type, record.resource_name)
        configs = _with(self._configs.get(key, {}), record.name, record.value)
        if configs:
            self._configs[key] = configs
        else:
            self._configs.pop(key, None)

    def _set_feature(self, record: FeatureLevel) -> None:
        if self._features is None:
            self._features = dict(self._image.features)
        if record.level:
            self._features[record.name] = record.level
        else:
            self._features.pop(record.name, None)

    def _change_broker(self, record: ChangeBroker) -> None:
        brokers = self._broker_table()
        broker = brokers[record.broker_id]
        assert broker.broker_epoch == record.broker_epoch, f"broker {record.broker_id}: another epoch"
        shutdown = record.in_controlled_shutdown
        brokers[record.broker_id] = replace(
            broker,
            fenced=broker.fenced if record.fenced is None else record.fenced,
            in_controlled_shutdown=broker.in_controlled_shutdown if shutdown is None else shutdown,
        )

    def _broker_table(self) -> dict[int, BrokerImage]:
        if self._brokers is None:
            self._brokers = dict(self._image.brokers)
        return self._brokers

    def _scram_table(self) -> dict[tuple[str, int], ScramCredential]:
        if self._scram is None:
            self._scram = dict(self._image.scram)
        return self._scram

    def _change_token(self, record: DelegationTokenRecord | RemoveDelegationToken) -> None:
        if self._tokens is None:
            self._tokens = dict(self._image.tokens)
        if isinstance(record, RemoveDelegationToken):
            del self._tokens[record.token_id]
        else:
            self._tokens[record.token_id] = DelegationToken(
                record.token_id,
                record.owner,
                record.requester,
                record.renewers,
                record.issued_ms,
                record.max_ms,
                record.expires_ms,
            )

    # --- the next image -----------------------------------------------------------------------------------------

    def _freeze(self) -> MetadataImage:
        image = self._image
        topics, names = image.topics, image.topic_names
        if self._drafts or self._removed:
            topics, names = dict(image.topics), dict(image.topic_names)
            for topic_id, name in self._removed.items():
                if names.pop(topic_id, None) is not None:
                    del topics[name]
            for topic_id, draft in self._drafts.items():
                topics[draft.name] = draft.freeze()
                names[topic_id] = draft.name
        acls = image.acls
        if self._new_acls or self._removed_acls:
            acls = acls.changed(self._new_acls, self._removed_acls)
        return MetadataImage(
            brokers=image.brokers if self._brokers is None else self._brokers,
            topics=topics,
            topic_names=names,
            configs=image.configs if self._configs is None else self._configs,
            features=image.features if self._features is None else self._features,
            scram=image.scram if self._scram is None else self._scram,
            tokens=image.tokens if self._tokens is None else self._tokens,
            next_producer_id=self._next_producer_id,
            acls=acls,
            quotas=image.quotas.changed(self._quotas) if self._quotas else image.quotas,
            shape=self._shape,
        )


def acl_binding(record: AccessControlEntry) -> AclBinding:
    return AclBinding(
        record.resource_type,
        record.resource_name,
        record.pattern_type,
        record.principal,
        record.host,
        record.operation,
        record.permission,
    )


def _with(configs: dict[str, str], name: str, value: str | None) -> dict[str, str]:
    changed = dict(configs)
    if value is None:
        changed.pop(name, None)
    else:
        changed[name] = value
    return changed
