"""Metadata records as Kafka's bytes: what is written is read back, older logs in JSON too, and nonsense is refused."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.core.cluster.record_codec import decode_fields, decode_record, encode_record
from barnabas.core.cluster.records import (
    AccessControlEntry,
    ChangeBroker,
    ClientQuota,
    ConfigRecord,
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
    RemoveTopic,
    ScramCredentialRecord,
    TopicRecord,
    UnregisterBroker,
)

_ID, _DIR = b"i" * 16, b"d" * 16
BROKER = RegisterBroker(
    broker_id=1,
    incarnation_id=_ID,
    broker_epoch=5,
    endpoints=(Endpoint("P", "PLAINTEXT", "h", 65535), Endpoint("S", "SASL_SSL", "h", 1)),
    rack="r",
    directories=(_DIR,),
    features={"metadata.version": (7, 30)},
)
RECORDS: tuple[Record, ...] = (
    BROKER,
    RegisterBroker(broker_id=2, incarnation_id=_ID, broker_epoch=1 << 40, fenced=False, in_controlled_shutdown=True),
    ChangeBroker(broker_id=1, broker_epoch=5, fenced=True),
    ChangeBroker(broker_id=1, broker_epoch=5, fenced=False),
    ChangeBroker(broker_id=1, broker_epoch=5, in_controlled_shutdown=True),
    UnregisterBroker(broker_id=1, broker_epoch=5),
    TopicRecord(name="Gänse", topic_id=_ID),
    RemoveTopic(topic_id=_ID),
    ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="1"),
    ConfigRecord(resource_type=4, resource_name="", name="n", value=None),
    FeatureLevel(name="metadata.version", level=30),
    ProducerIds(broker_id=-1, broker_epoch=-1, next_producer_id=1 << 50),
    ScramCredentialRecord(
        user="alice", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096, source="east"
    ),
    AccessControlEntry(
        id=_ID,
        resource_type=2,
        resource_name="Gänse",
        pattern_type=4,
        principal="User:CN=a,O=b",
        host="*",
        operation=3,
        permission=3,
    ),
    RemoveAccessControlEntry(id=_ID),
    ClientQuota(entity=(("user", "Gänse"), ("client-id", None)), key="producer_byte_rate", value=1.5),
    ClientQuota(entity=(("ip", None),), key="connection_creation_rate", value=0.0, remove=True),
    NoOp(),
)

_brokers = st.lists(st.integers(0, 2**31 - 1), max_size=5).map(tuple) | st.just(tuple(range(200)))
_directories = st.lists(st.binary(min_size=16, max_size=16), max_size=4).map(tuple) | st.just((_DIR,) * 200)
_partitions = st.builds(
    PartitionRecord,
    topic_id=st.binary(min_size=16, max_size=16),
    partition=st.integers(0, 2**31 - 1),
    replicas=_brokers,
    isr=_brokers,
    leader=st.integers(-1, 2**31 - 1),
    leader_epoch=st.integers(0, 2**31 - 1),
    partition_epoch=st.integers(0, 2**31 - 1),
    directories=_directories,
    adding_replicas=_brokers,
    removing_replicas=_brokers,
    elr=_brokers,
    last_known_elr=_brokers,
)
_changes = st.builds(
    PartitionChange,
    topic_id=st.binary(min_size=16, max_size=16),
    partition=st.integers(0, 2**31 - 1),
    leader=st.none() | st.integers(-1, 2**31 - 1),
    isr=st.none() | _brokers,
    replicas=st.none() | _brokers,
    adding_replicas=st.none() | _brokers,
    removing_replicas=st.none() | _brokers,
    directories=st.none() | _directories,
    elr=st.none() | _brokers,
    last_known_elr=st.none() | _brokers,
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_is_read_back(record: Record) -> None:
    assert decode_record(encode_record(record)) == record
    assert decode_record(memoryview(encode_record(record))) == record


@given(_partitions | _changes)
def test_partitions_are_read_back(record: Record) -> None:
    data = encode_record(record)
    assert decode_record(data) == record
    name, version, message = decode_fields(data)
    assert (name, version) in (("partition_record", 2), ("partition_change_record", 2))
    assert message.partition_id == record.partition  # type: ignore[union-attr]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_json_of_older_logs_is_read(record: Record) -> None:
    data = msgspec.json.encode(record)
    assert decode_record(data) == record
    assert decode_record(data[:-1] + b',"a_field_of_tomorrow":1}') == record


def test_what_is_not_a_record_is_refused() -> None:
    json = msgspec.json.encode(BROKER)
    for bad in (
        b"",
        b"{",
        b"[]",
        b'{"type":"what"}',
        b'{"type":"topic","name":"t"}',
        json[:-1] + b',"version":99}',
        b"\xff",
        b"\x01",
        b"\x01\x03",
        b"\x01\x63\x00",  # a type that Kafka does not have
        b"\x01\x02\x63",  # a version that Kafka does not have
        b"\x01\x0b\x00\x00",  # a user's credentials: nothing here has a use for them
        b"\x02\x02\x00",  # a frame of tomorrow
    ):
        with pytest.raises(MetadataRecordError):
            decode_record(bad)


@given(st.sampled_from(RECORDS), st.data())
def test_a_record_cut_short_is_refused(record: Record, data: st.DataObject) -> None:
    whole = encode_record(record)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(MetadataRecordError):
        decode_record(cut)


@given(_partitions | _changes, st.data())
def test_a_partition_cut_short_is_refused(record: Record, data: st.DataObject) -> None:
    whole = encode_record(record)
    with pytest.raises(MetadataRecordError):
        decode_record(whole[: data.draw(st.integers(0, len(whole) - 1))])
