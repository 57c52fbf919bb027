"""Metadata records as bytes: those of Apache Kafka (KIP-631), so that its tools read our metadata log.

A record is a frame version (1), a record type and a version, all as unsigned varints, and the message of that type and
version (wire/schema/metadata, made from Kafka's own classes). Inside this node they are the structs of records.py.
Partitions and their changes, of which a log is made, have a faster way (partition_codec.py).

What differs from Kafka: a broker that is shutting down never takes that back but by registering again, so there is no
record for it. Types that this release has no use for are refused, except for
NoOpRecord, which is read and means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from struct import error as StructError
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.core.access.quotas.rules import entity
from barnabas.core.cluster.partition_codec import (
    FRAME_VERSION,
    NO_LEADER_CHANGE,
    PARTITION,
    PARTITION_CHANGE,
    decode_known,
    encode_change,
    encode_partition,
    remember,
)
from barnabas.core.cluster.records import (
    AccessControlEntry,
    ChangeBroker,
    ClientQuota,
    ConfigRecord,
    DelegationTokenRecord,
    Endpoint,
    FeatureLevel,
    MetadataRecordError,
    NoOp,
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
    decode_json,
)
from barnabas.wire.codec import Decoded, decode_struct, encode_struct
from barnabas.wire.errors import ProtocolError
from barnabas.wire.schema import metadata_record_names

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        AccessControlEntryRecord,
        BrokerRegistrationChangeRecord,
        ClientQuotaRecord,
        PartitionChangeRecord,
        ProducerIdsRecord,
        RegisterBrokerRecord,
        UserScramCredentialRecord,
    )
    from barnabas.wire.messages import ConfigRecord as KafkaConfigRecord
    from barnabas.wire.messages import DelegationTokenRecord as KafkaDelegationTokenRecord
    from barnabas.wire.messages import PartitionRecord as KafkaPartitionRecord

T = TypeVar("T")

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")  # Kafka's security protocols by their numbers
_FENCING = {None: 0, True: 1, False: -1}
_JSON = 0x7B  # "{"

REGISTER_BROKER, UNREGISTER_BROKER, TOPIC, CONFIG = 0, 1, 2, 4
FENCE_BROKER, UNFENCE_BROKER, REMOVE_TOPIC, FEATURE_LEVEL = 7, 8, 9, 12
PRODUCER_IDS, BROKER_CHANGE, ACCESS_CONTROL_ENTRY, REMOVE_ACCESS_CONTROL_ENTRY, NO_OP = 15, 17, 18, 19, 20
USER_SCRAM_CREDENTIAL, REMOVE_USER_SCRAM_CREDENTIAL, CLIENT_QUOTA = 11, 22, 14
DELEGATION_TOKEN, REMOVE_DELEGATION_TOKEN = 10, 26


def encode_record(record: Record) -> bytes:
    if isinstance(record, PartitionRecord):
        return encode_partition(record)
    if isinstance(record, PartitionChange):
        return encode_change(record)
    key, version, name, body = _ENCODERS[type(record)](record)
    return bytes((FRAME_VERSION, key, version)) + encode_struct(f"metadata/{name}", version, body)


def decode_record(value: bytes | memoryview) -> Record:
    """The struct of a record, also of one in JSON, which logs had before; MetadataRecordError where it has none."""
    data = bytes(value)
    found = decode_known(data)
    if found is not None:
        return found
    try:
        if data[0] == _JSON:
            return decode_json(data)
        record = _decode(data)
    except (ProtocolError, StructError, IndexError, KeyError, ValueError) as error:
        raise MetadataRecordError(f"unreadable metadata record: {error!r}") from None
    if isinstance(record, PartitionRecord | PartitionChange):
        remember(record, data)
    return record


def decode_fields(value: bytes) -> tuple[str, int, Decoded]:
    """(name of the type, version, the message) of a record of any type: for those who show it."""
    key, version, position = _frame(value)
    name = metadata_record_names().get(key)
    if name is None:
        raise MetadataRecordError(f"no metadata record has the type {key}")
    try:
        return name, version, decode_struct(f"metadata/{name}", version, value, position)
    except (ProtocolError, StructError, IndexError, KeyError, ValueError) as error:
        raise MetadataRecordError(f"unreadable metadata record: {error!r}") from None


# --- the general way --------------------------------------------------------------------------------------------------

_Encoded = tuple[int, int, str, Mapping[str, object]]


def _encode_registration(record: RegisterBroker) -> _Encoded:
    body = {
        "broker_id": record.broker_id,
        "incarnation_id": record.incarnation_id,
        "broker_epoch": record.broker_epoch,
        "end_points": [
            {"name": e.name, "host": e.host, "port": e.port, "security_protocol": _PROTOCOLS.index(e.protocol)}
            for e in record.endpoints
        ],
        "features": [
            {"name": name, "min_supported_version": low, "max_supported_version": high}
            for name, (low, high) in record.features.items()
        ],
        "rack": record.rack,
        "fenced": record.fenced,
        "in_controlled_shutdown": record.in_controlled_shutdown,
        "log_dirs": record.directories,
    }
    return REGISTER_BROKER, 3, "register_broker_record", body


def _encode_broker_change(record: ChangeBroker) -> _Encoded:
    if record.in_controlled_shutdown is False:
        raise ValueError("a broker ends its shutdown by registering again")
    body = {
        "broker_id": record.broker_id,
        "broker_epoch": record.broker_epoch,
        "fenced": _FENCING[record.fenced],
        "in_controlled_shutdown": int(record.in_controlled_shutdown or False),
    }
    return BROKER_CHANGE, 1, "broker_registration_change_record", body


def _encode_quota(record: ClientQuota) -> _Encoded:
    parts = [{"entity_type": kind, "entity_name": name} for kind, name in record.entity]
    body = {"entity": parts, "key": record.key, "value": record.value, "remove": record.remove}
    return CLIENT_QUOTA, 0, "client_quota_record", body


def _plain(key: int, record_name: str, /, **fields: str) -> Callable[[object], _Encoded]:
    """For a record of version 0 whose fields are ours, perhaps by another name."""

    def encode(record: object) -> _Encoded:
        return key, 0, record_name, {theirs: getattr(record, ours) for theirs, ours in fields.items()}

    return encode


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_ENCODERS: dict[type, Callable[[Any], _Encoded]] = {  # each takes records of the type that stands before it
    RegisterBroker: _encode_registration,
    ChangeBroker: _encode_broker_change,
    UnregisterBroker: _plain(
        UNREGISTER_BROKER, "unregister_broker_record", broker_id="broker_id", broker_epoch="broker_epoch"
    ),
    TopicRecord: _plain(TOPIC, "topic_record", name="name", topic_id="topic_id"),
    RemoveTopic: _plain(REMOVE_TOPIC, "remove_topic_record", topic_id="topic_id"),
    ConfigRecord: _plain(
        CONFIG,
        "config_record",
        **_same("resource_type", "resource_name", "name", "value"),
    ),
    FeatureLevel: _plain(FEATURE_LEVEL, "feature_level_record", name="name", feature_level="level"),
    ProducerIds: _plain(
        PRODUCER_IDS,
        "producer_ids_record",
        **_same("broker_id", "broker_epoch", "next_producer_id"),
    ),
    AccessControlEntry: _plain(
        ACCESS_CONTROL_ENTRY,
        "access_control_entry_record",
        **_same("id", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation"),
        permission_type="permission",
    ),
    RemoveAccessControlEntry: _plain(REMOVE_ACCESS_CONTROL_ENTRY, "remove_access_control_entry_record", id="id"),
    ScramCredentialRecord: _plain(
        USER_SCRAM_CREDENTIAL,
        "user_scram_credential_record",
        **_same("mechanism", "salt", "stored_key", "server_key", "iterations"),
        name="user",
        source_cluster_id="source",
    ),
    RemoveScramCredential: _plain(
        REMOVE_USER_SCRAM_CREDENTIAL, "remove_user_scram_credential_record", name="user", mechanism="mechanism"
    ),
    ClientQuota: _encode_quota,
    DelegationTokenRecord: _plain(
        DELEGATION_TOKEN,
        "delegation_token_record",
        owner="owner",
        requester="requester",
        renewers="renewers",
        issue_timestamp="issued_ms",
        max_timestamp="max_ms",
        expiration_timestamp="expires_ms",
        token_id="token_id",
    ),
    RemoveDelegationToken: _plain(REMOVE_DELEGATION_TOKEN, "remove_delegation_token_record", token_id="token_id"),
    NoOp: _plain(NO_OP, "no_op_record"),
}


def _frame(data: bytes) -> tuple[int, int, int]:
    """(type, version, where the message begins)."""
    if len(data) < 3:
        raise MetadataRecordError("a metadata record that is cut short")
    if data[0] != FRAME_VERSION:
        raise MetadataRecordError(f"a metadata record of frame version {data[0]}")
    if max(data[1:3]) > 127:
        raise MetadataRecordError("a metadata record of an unknown type or version")
    return data[1], data[2], 3


def _decode(data: bytes) -> Record:
    key, version, position = _frame(data)
    if key not in _DECODERS:
        raise MetadataRecordError(
            f"{metadata_record_names().get(key, f'type {key}')}: a metadata record not supported here"
        )
    name, decode = _DECODERS[key]
    return decode(decode_struct(f"metadata/{name}", version, data, position))


def _maybe(values: Iterable[T] | None) -> tuple[T, ...] | None:
    return None if values is None else tuple(values)


def _registration(m: RegisterBrokerRecord) -> Record:
    return RegisterBroker(
        broker_id=m.broker_id,
        incarnation_id=m.incarnation_id,
        broker_epoch=m.broker_epoch,
        endpoints=tuple(Endpoint(e.name, _PROTOCOLS[e.security_protocol], e.host, e.port) for e in m.end_points),
        rack=m.rack,
        fenced=m.fenced,
        in_controlled_shutdown=m.in_controlled_shutdown,
        directories=tuple(m.log_dirs),
        features={f.name: (f.min_supported_version, f.max_supported_version) for f in m.features},
    )


def _broker_change(m: BrokerRegistrationChangeRecord) -> Record:
    return ChangeBroker(
        broker_id=m.broker_id,
        broker_epoch=m.broker_epoch,
        fenced={0: None, 1: True, -1: False}[m.fenced],
        in_controlled_shutdown={0: None, 1: True}[m.in_controlled_shutdown],
    )


def _partition(m: KafkaPartitionRecord) -> Record:
    return PartitionRecord(
        topic_id=m.topic_id,
        partition=m.partition_id,
        replicas=tuple(m.replicas),
        isr=tuple(m.isr),
        leader=m.leader,
        leader_epoch=m.leader_epoch,
        partition_epoch=m.partition_epoch,
        directories=tuple(m.directories),
        adding_replicas=tuple(m.adding_replicas),
        removing_replicas=tuple(m.removing_replicas),
        elr=tuple(m.eligible_leader_replicas or ()),
        last_known_elr=tuple(m.last_known_elr or ()),
    )


def _partition_change(m: PartitionChangeRecord) -> Record:
    return PartitionChange(
        topic_id=m.topic_id,
        partition=m.partition_id,
        leader=None if m.leader == NO_LEADER_CHANGE else m.leader,
        isr=_maybe(m.isr),
        replicas=_maybe(m.replicas),
        adding_replicas=_maybe(m.adding_replicas),
        removing_replicas=_maybe(m.removing_replicas),
        directories=_maybe(m.directories),
        elr=_maybe(m.eligible_leader_replicas),
        last_known_elr=_maybe(m.last_known_elr),
    )


def _config(m: KafkaConfigRecord) -> Record:
    return ConfigRecord(resource_type=m.resource_type, resource_name=m.resource_name, name=m.name, value=m.value)


def _scram_credential(m: UserScramCredentialRecord) -> Record:
    return ScramCredentialRecord(
        user=m.name,
        mechanism=m.mechanism,
        salt=bytes(m.salt),
        stored_key=bytes(m.stored_key),
        server_key=bytes(m.server_key),
        iterations=m.iterations,
        source=m.source_cluster_id,
    )


def _client_quota(m: ClientQuotaRecord) -> Record:
    parts = entity({part.entity_type: part.entity_name for part in m.entity})
    return ClientQuota(entity=parts, key=m.key, value=m.value, remove=m.remove)


def _delegation_token(m: KafkaDelegationTokenRecord) -> Record:
    return DelegationTokenRecord(
        token_id=m.token_id,
        owner=m.owner,
        requester=m.requester,
        renewers=tuple(m.renewers),
        issued_ms=m.issue_timestamp,
        max_ms=m.max_timestamp,
        expires_ms=m.expiration_timestamp,
    )


def _producer_ids(m: ProducerIdsRecord) -> Record:
    return ProducerIds(broker_id=m.broker_id, broker_epoch=m.broker_epoch, next_producer_id=m.next_producer_id)


def _access_control_entry(m: AccessControlEntryRecord) -> Record:
    return AccessControlEntry(
        id=m.id,
        resource_type=m.resource_type,
        resource_name=m.resource_name,
        pattern_type=m.pattern_type,
        principal=m.principal,
        host=m.host,
        operation=m.operation,
        permission=m.permission_type,
    )


_DECODERS: dict[int, tuple[str, Callable[[Decoded], Record]]] = {
    REGISTER_BROKER: ("register_broker_record", _registration),
    UNREGISTER_BROKER: (
        "unregister_broker_record",
        lambda m: UnregisterBroker(broker_id=m.broker_id, broker_epoch=m.broker_epoch),
    ),
    TOPIC: ("topic_record", lambda m: TopicRecord(name=m.name, topic_id=m.topic_id)),
    PARTITION: ("partition_record", _partition),
    CONFIG: ("config_record", _config),
    PARTITION_CHANGE: ("partition_change_record", _partition_change),
    FENCE_BROKER: ("fence_broker_record", lambda m: ChangeBroker(broker_id=m.id, broker_epoch=m.epoch, fenced=True)),
    UNFENCE_BROKER: (
        "unfence_broker_record",
        lambda m: ChangeBroker(broker_id=m.id, broker_epoch=m.epoch, fenced=False),
    ),
    REMOVE_TOPIC: ("remove_topic_record", lambda m: RemoveTopic(topic_id=m.topic_id)),
    FEATURE_LEVEL: ("feature_level_record", lambda m: FeatureLevel(name=m.name, level=m.feature_level)),
    PRODUCER_IDS: ("producer_ids_record", _producer_ids),
    BROKER_CHANGE: ("broker_registration_change_record", _broker_change),
    ACCESS_CONTROL_ENTRY: ("access_control_entry_record", _access_control_entry),
    REMOVE_ACCESS_CONTROL_ENTRY: (
        "remove_access_control_entry_record",
        lambda m: RemoveAccessControlEntry(id=m.id),
    ),
    USER_SCRAM_CREDENTIAL: ("user_scram_credential_record", _scram_credential),
    REMOVE_USER_SCRAM_CREDENTIAL: (
        "remove_user_scram_credential_record",
        lambda m: RemoveScramCredential(user=m.name, mechanism=m.mechanism),
    ),
    CLIENT_QUOTA: ("client_quota_record", _client_quota),
    DELEGATION_TOKEN: ("delegation_token_record", _delegation_token),
    REMOVE_DELEGATION_TOKEN: (
        "remove_delegation_token_record",
        lambda m: RemoveDelegationToken(token_id=m.token_id),
    ),
    NO_OP: ("no_op_record", lambda m: NoOp()),
}
