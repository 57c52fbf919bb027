"""What the codec refuses, forgives and fills in; that it reads and writes rightly is test_codec_against_kio.py's."""

import pytest

from barnabas.model.limits import NAMED_ELEMENTS_MAX, REQUEST_ELEMENTS_MAX, TAGGED_FIELDS_MAX
from barnabas.wire import codec
from barnabas.wire.apis import (
    API_VERSIONS,
    DELETE_TOPICS,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    LIST_CONFIG_RESOURCES,
    LIST_GROUPS,
    METADATA,
    PRODUCE,
)
from barnabas.wire.codec import ProtocolError
from barnabas.wire.varints import uvarint_bytes


@pytest.fixture(autouse=True)
def as_in_production(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests turn STRICT on for good."""
    monkeypatch.setattr(codec, "STRICT", False)


def test_a_decoded_message_has_the_fields_of_every_version_and_reads_well() -> None:
    request = codec.decode_request(METADATA, 1, codec.encode_request(METADATA, 1, {"topics": [{"name": "clicks"}]}))
    assert request.topics[0].name == "clicks"
    assert request.topics[0].topic_id == bytes(16)  # since version 10
    assert request.allow_auto_topic_creation is True  # since version 4, and then true unless said otherwise
    assert repr(request).startswith("MetadataRequest(topics=[MetadataRequestTopic(")
    assert request == codec.decode_request(
        METADATA, 1, codec.encode_request(METADATA, 1, {"topics": [{"name": "clicks"}]})
    )


def test_two_messages_never_share_a_default_list() -> None:
    first, second = (codec.decode_request(API_VERSIONS, 0, b"") for _ in range(2))
    assert first == second and first is not second
    one, two = (codec.decode_request(FETCH, 4, codec.encode_request(FETCH, 4, {})) for _ in range(2))
    one.forgotten_topics_data.append("mine")
    assert two.forgotten_topics_data == []


def test_bytes_after_the_message_are_left_alone() -> None:
    data = codec.encode_request(HEARTBEAT, 4, {"group_id": "g", "member_id": "m"})
    assert codec.decode_request(HEARTBEAT, 4, data + b"and more").group_id == "g"


def test_records_are_a_slice_of_what_came_in() -> None:
    body = {"topic_data": [{"name": "t", "partition_data": [{"index": 1, "records": b"batch"}]}]}
    frame = bytearray(codec.encode_request(PRODUCE, 9, body))
    records = codec.decode_request(PRODUCE, 9, frame).topic_data[0].partition_data[0].records
    frame[frame.index(b"batch")] = ord("c")
    assert records == b"catch"


def test_unknown_tags_are_skipped() -> None:
    data = codec.encode_request(HEARTBEAT, 4, {"group_id": "g", "generation_id": 3, "member_id": "m"})
    assert data[-1] == 0
    tagged = data[:-1] + bytes((2, 50, 3)) + b"abc" + bytes((0xE8, 0x07, 0))  # tag 50 of 3 bytes, tag 1000 of none
    assert codec.decode_request(HEARTBEAT, 4, tagged).generation_id == 3


@pytest.mark.parametrize(
    "tags",
    [
        bytes((1, 50, 4)) + b"abc",  # longer than what remains
        bytes((1, 50)),
        bytes((200, 1)) + bytes(40),  # 200 tags in 40 bytes
        uvarint_bytes(TAGGED_FIELDS_MAX + 1) + bytes(2 * TAGGED_FIELDS_MAX + 2),
    ],
)
def test_tags_that_cannot_be_are_refused(tags: bytes) -> None:
    data = codec.encode_request(HEARTBEAT, 4, {"group_id": "g", "member_id": "m"})
    with pytest.raises(ProtocolError):
        codec.decode_request(HEARTBEAT, 4, data[:-1] + tags)


def test_a_known_tag_of_another_size_is_refused() -> None:
    data = codec.encode_request(FETCH, 12, {"cluster_id": "abc"})
    assert data[-7:] == bytes((1, 0, 4, 4)) + b"abc"  # one tag: number 0, four bytes, a compact string
    with pytest.raises(ProtocolError, match="tagged"):
        codec.decode_request(FETCH, 12, data[:-7] + bytes((1, 0, 5, 4)) + b"abcd")


def test_an_array_longer_than_what_remains_is_refused_before_it_is_made() -> None:
    for count in (b"\x7f\xff\xff\xff", b"\x00\x0f\x42\x40", b"\xff\xff\xff\xfe", b"\x80\x00\x00\x00"):
        with pytest.raises(ProtocolError, match=r"^topic_names: "):
            codec.decode_request(DELETE_TOPICS, 1, count + bytes(100))
    with pytest.raises(ProtocolError, match=r"^resource_types: "):
        codec.decode_request(LIST_CONFIG_RESOURCES, 1, b"\xff\xff\xff\xff\x0f" + bytes(100))


def test_a_message_of_too_many_elements_is_refused_in_one_array_or_over_several() -> None:
    over = codec.encode_request(LIST_CONFIG_RESOURCES, 1, {"resource_types": bytes(REQUEST_ELEMENTS_MAX + 1)})
    with pytest.raises(ProtocolError, match="resource_types"):
        codec.decode_request(LIST_CONFIG_RESOURCES, 1, over)
    half = [""] * (NAMED_ELEMENTS_MAX // 2 + 1)
    both = codec.encode_request(LIST_GROUPS, 5, {"states_filter": half, "types_filter": half})
    with pytest.raises(ProtocolError, match="types_filter"):
        codec.decode_request(LIST_GROUPS, 5, both)


@pytest.mark.parametrize(
    ("key", "version", "data"),
    [
        (HEARTBEAT, 0, b"\xff\xff"),  # null where no null may be
        (HEARTBEAT, 0, b"\xff\xfe"),
        (HEARTBEAT, 4, b"\x00"),
        (HEARTBEAT, 4, b"\x02\xff" + bytes(20)),  # not UTF-8
        (METADATA, 0, b"\xff\xff\xff\xff"),  # a null array, allowed only since version 1
        (METADATA, 99, b""),
        (9999, 0, b""),
    ],
)
def test_what_is_no_message_is_a_protocol_error(key: int, version: int, data: bytes) -> None:
    with pytest.raises(ProtocolError):
        codec.decode_request(key, version, data)


def test_a_varint_of_more_than_five_bytes_is_refused_however_small_it_is() -> None:
    data = codec.encode_request(HEARTBEAT, 4, {"group_id": "g", "member_id": "m"})
    assert data[0] == 2
    assert codec.decode_request(HEARTBEAT, 4, b"\x82\x80\x80\x80\x00" + data[1:]).group_id == "g"
    with pytest.raises(ProtocolError, match="varint"):
        codec.decode_request(HEARTBEAT, 4, b"\x82\x80\x80\x80\x80\x00" + data[1:])


def test_a_key_no_version_has_is_an_error_only_when_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"coordinators": [{"node_id": 1, "hots": "localhost"}]}
    codec.encode_response(FIND_COORDINATOR, 4, body)
    monkeypatch.setattr(codec, "STRICT", True)
    with pytest.raises(ValueError, match=r"find_coordinator v4 response.*coordinators\.hots"):
        codec.encode_response(FIND_COORDINATOR, 4, body)
    codec.encode_response(FIND_COORDINATOR, 0, {"coordinators": []})  # a key of another version is no mistake


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"throttle_time_ms": "soon"}, "throttle_time_ms is 'soon', which is no int32"),
        ({"throttle_time_ms": 1 << 31}, "throttle_time_ms"),
        ({"brokers": None}, "brokers is None and may not be"),
        ({"brokers": [{"host": None}]}, "brokers.host is None"),
        ({"brokers": [{"host": b"localhost"}]}, "brokers.host"),
        ({"brokers": [7]}, "brokers is int, not a mapping"),
        ({"brokers": 7}, "brokers is int, not a list"),
        ({"topics": [{"topic_id": b"short"}]}, "topics.topic_id"),
        ({"topics": [{"partitions": [{"isr_nodes": ["one"]}]}]}, "topics.partitions.isr_nodes"),
    ],
)
def test_a_value_that_cannot_be_written_is_named(body: dict[str, object], reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        codec.encode_response(METADATA, 12, body)


def test_structs_that_are_no_api_travel_too() -> None:
    body = {"topics": ["a", "b"], "user_data": None, "owned_partitions": [{"topic": "a", "partitions": [0, 2]}]}
    data = codec.encode_struct("consumer_protocol_subscription", 1, body)
    subscription = codec.decode_struct("consumer_protocol_subscription", 1, data)
    assert subscription.topics == ["a", "b"]
    assert subscription.owned_partitions[0].partitions == [0, 2]
    assert subscription.generation_id == -1
