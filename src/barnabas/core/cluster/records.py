"""What the metadata log holds: one record a change, and nothing but records ever changes the cluster's state.

The nouns are those of Kafka's own metadata records (KIP-500, KIP-631), and record_codec.py writes them as such. Logs
written before that have each record as one JSON object, tagged with its type; those are still read.
"""

from typing import TypeAlias

import msgspec

RECORD_VERSION = 0


class Endpoint(msgspec.Struct, frozen=True, array_like=True):
    """One address of a broker."""

    name: str
    protocol: str
    host: str
    port: int


class _Record(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    pass


class RegisterBroker(_Record, frozen=True, tag="register_broker", kw_only=True):
    broker_id: int
    incarnation_id: bytes
    broker_epoch: int
    endpoints: tuple[Endpoint, ...] = ()
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    directories: tuple[bytes, ...] = ()
    features: dict[str, tuple[int, int]] = {}
    version: int = RECORD_VERSION


class ChangeBroker(_Record, frozen=True, tag="change_broker", kw_only=True):
    """Fences or unfences a broker (None: as before); an epoch that is not the broker's own is a broken invariant."""

    broker_id: int
    broker_epoch: int
    fenced: bool | None = None
    in_controlled_shutdown: bool | None = None
    version: int = RECORD_VERSION


class UnregisterBroker(_Record, frozen=True, tag="unregister_broker", kw_only=True):
    broker_id: int
    broker_epoch: int
    version: int = RECORD_VERSION


class TopicRecord(_Record, frozen=True, tag="topic", kw_only=True):
    name: str
    topic_id: bytes
    version: int = RECORD_VERSION


class PartitionRecord(_Record, frozen=True, tag="partition", kw_only=True):
    """A partition as it begins (or as a snapshot holds it)."""

    topic_id: bytes
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    directories: tuple[bytes, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    version: int = RECORD_VERSION


class PartitionChange(_Record, frozen=True, tag="partition_change", kw_only=True):
    """What changes in a partition; None: as before. Naming a leader, even the same one, begins a new leader epoch."""

    topic_id: bytes
    partition: int
    leader: int | None = None
    isr: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    adding_replicas: tuple[int, ...] | None = None
    removing_replicas: tuple[int, ...] | None = None
    directories: tuple[bytes, ...] | None = None
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    version: int = RECORD_VERSION


class RemoveTopic(_Record, frozen=True, tag="remove_topic", kw_only=True):
    topic_id: bytes
    version: int = RECORD_VERSION


class ConfigRecord(_Record, frozen=True, tag="config", kw_only=True):
    """One setting of a topic, a broker ("" = every broker), a group or a metrics subscription; None removes it."""

    resource_type: int
    resource_name: str
    name: str
    value: str | None
    version: int = RECORD_VERSION

    def __repr__(self) -> str:
        return f"ConfigRecord({self.resource_type}, {self.resource_name!r}, {self.name!r})"  # its value may be secret


class FeatureLevel(_Record, frozen=True, tag="feature_level", kw_only=True):
    """A finalized feature; level 0 takes it away."""

    name: str
    level: int
    version: int = RECORD_VERSION


class ProducerIds(_Record, frozen=True, tag="producer_ids", kw_only=True):
    """A block of producer ids was given to a broker: the next block begins at `next_producer_id`."""

    broker_id: int
    broker_epoch: int
    next_producer_id: int
    version: int = RECORD_VERSION


class AccessControlEntry(_Record, frozen=True, tag="access_control_entry", kw_only=True):
    """A rule that is added (an ACL); the numbers are those of model/access.py."""

    id: bytes
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int
    version: int = RECORD_VERSION


class RemoveAccessControlEntry(_Record, frozen=True, tag="remove_access_control_entry", kw_only=True):
    id: bytes
    version: int = RECORD_VERSION


class ScramCredentialRecord(_Record, frozen=True, tag="scram_credential", kw_only=True):
    """What is kept of a user's password for one mechanism (1: SHA-256, 2: SHA-512)."""

    user: str
    mechanism: int
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int
    source: str = ""
    version: int = RECORD_VERSION

    def __repr__(self) -> str:
        return f"ScramCredentialRecord({self.user!r}, {self.mechanism})"  # the rest is secret


class RemoveScramCredential(_Record, frozen=True, tag="remove_scram_credential", kw_only=True):
    user: str
    mechanism: int
    version: int = RECORD_VERSION


class ClientQuota(_Record, frozen=True, tag="client_quota", kw_only=True):
    """One quota of an entity, which is (type, name) of each of its parts; a name that is None is the default."""

    entity: tuple[tuple[str, str | None], ...]
    key: str
    value: float
    remove: bool = False
    version: int = RECORD_VERSION


class DelegationTokenRecord(_Record, frozen=True, tag="delegation_token", kw_only=True):
    """A delegation token that is created, or one whose expiry has changed; principals as TYPE:NAME."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    max_ms: int
    expires_ms: int
    version: int = RECORD_VERSION


class RemoveDelegationToken(_Record, frozen=True, tag="remove_delegation_token", kw_only=True):
    token_id: str
    version: int = RECORD_VERSION


class NoOp(_Record, frozen=True, tag="no_op", kw_only=True):
    """Says nothing; Kafka's controller writes one now and then."""

    version: int = RECORD_VERSION


Record: TypeAlias = (
    RegisterBroker
    | ChangeBroker
    | UnregisterBroker
    | TopicRecord
    | PartitionRecord
    | PartitionChange
    | RemoveTopic
    | ConfigRecord
    | FeatureLevel
    | ProducerIds
    | AccessControlEntry
    | RemoveAccessControlEntry
    | ScramCredentialRecord
    | RemoveScramCredential
    | ClientQuota
    | DelegationTokenRecord
    | RemoveDelegationToken
    | NoOp
)

_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class MetadataRecordError(Exception):
    """A metadata record this release cannot read: the node must not start on a state it does not understand."""


def decode_json(value: bytes | memoryview) -> Record:
    """A record as logs had it before they held Kafka's."""
    try:
        record = _decoder.decode(value)
    except msgspec.MsgspecError as error:
        raise MetadataRecordError(f"unreadable metadata record: {error}") from None
    if record.version > RECORD_VERSION:
        raise MetadataRecordError(f"metadata record {type(record).__name__} has the newer version {record.version}")
    return record
