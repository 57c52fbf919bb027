"""The types of messages that type checkers see are those of the schemas, and of the classes at run time."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from barnabas.wire import messages
from barnabas.wire.codec import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    request_of,
    response_of,
)

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("message_types", ROOT / "tools" / "message_types.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_writing_the_stubs_again_changes_nothing(tool: ModuleType) -> None:
    made = tool.pages()
    assert set(tool.STUBS.glob("*.pyi")) | {tool.NAMES} == set(made)
    for path, text in made.items():
        assert path.read_text() == text, f"{path.name}: run tools/message_types.py"


def test_every_class_has_the_fields_of_its_stub(tool: ModuleType) -> None:
    for structs in tool.all_structs().values():
        for struct in structs:
            made = getattr(messages, struct.name)
            assert made.__struct_fields__ == tuple(field.name for field in struct.fields), struct.name
            for field in struct.fields:
                value = getattr(made(), field.name)
                if field.type == "struct" and value is not None and not field.array:
                    assert type(value) is getattr(messages, struct.nested[field.name].name)


def test_a_class_is_the_one_that_the_codec_gives() -> None:
    body = {"group_id": "g", "topics": [{"name": "t", "partitions": [{}]}]}
    decoded = decode_request(8, 9, encode_request(8, 9, body))
    assert type(decoded) is messages.OffsetCommitRequest
    assert type(decoded.topics[0]) is messages.OffsetCommitRequestTopic
    made = messages.OffsetCommitRequest(
        group_id="g",
        topics=[messages.OffsetCommitRequestTopic(name="t", partitions=[messages.OffsetCommitRequestPartition()])],
    )
    assert made.topics[0].name == decoded.topics[0].name and made.member_id == ""


def test_a_struct_in_two_places_of_a_message_has_one_class() -> None:
    described = messages.ConsumerGroupDescribeResponseMember()
    assert type(described.assignment) is type(described.target_assignment)


def test_a_name_that_no_schema_has_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchRequest"):
        _ = messages.NoSuchRequest  # type: ignore[attr-defined]


def test_a_body_becomes_the_object_that_its_bytes_would_give() -> None:
    body = {"group_id": "g", "topics": [{"name": "t", "partitions": ({"partition_index": 3},)}], "member_id": "m"}
    assert request_of(8, body) == decode_request(8, 9, encode_request(8, 9, body))
    cursor = {"topics": [], "next_cursor": {"topic_name": "t", "partition_index": 7}}
    assert response_of(75, cursor) == decode_response(75, 0, encode_response(75, 0, cursor))
    none = response_of(75, {"topics": [{"name": "t", "partitions": [{"isr_nodes": (1, 2)}]}], "next_cursor": None})
    assert (none.next_cursor, none.topics[0].partitions[0].isr_nodes) == (None, [1, 2])
