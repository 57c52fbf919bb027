"""The schema identifiers of records: where they stand, which are refused, and with which words."""

import uuid
from collections.abc import Container, Sequence

import pytest

from barnabas.model.errors import ErrorCode, InvalidRecords
from barnabas.model.limits import RECORD_ERRORS_LISTED_MAX
from barnabas.wire.schema_ids import (
    SchemaRules,
    UnregisteredSchemas,
    check_schemas,
    guid_identifier,
    id_identifier,
)
from tests.support.wire import record

GUID = uuid.UUID("89791762-2336-4186-9674-299b90a802e2")
BY_GUID = guid_identifier(GUID.bytes)
VALUES = SchemaRules(key=False, value=True)


class Some:
    """Ids 1 and 2 and a GUID under orders-value, 3 under orders-key, 4 elsewhere."""

    def identifiers(self, subject: str | None) -> Container[bytes]:
        own = {"orders-value": {id_identifier(1), id_identifier(2), BY_GUID}, "orders-key": {id_identifier(3)}}
        if subject is None:
            return {each for ids in own.values() for each in ids} | {id_identifier(4)}
        return own.get(subject, set())


def checked(records: Sequence[bytes], rules: SchemaRules = VALUES, topic: str = "orders") -> int:
    """How often it let others run."""
    return len(list(check_schemas(b"".join(records), len(records), rules.of_topic(topic, Some()))))


def refused(records: Sequence[bytes], rules: SchemaRules = VALUES, topic: str = "orders") -> InvalidRecords:
    with pytest.raises(InvalidRecords) as caught:
        checked(records, rules, topic)
    assert caught.value.code is ErrorCode.INVALID_RECORD
    return caught.value


def value(schema_id: int, data: bytes = b"data") -> bytes:
    return id_identifier(schema_id) + data


def test_registered_ids_pass() -> None:
    checked([record(0, value(1)), record(1, value(2, b"")), record(2, value(1, bytes(300)), key=b"k" * 200)])


def test_null_values_pass_and_empty_ones_do_not() -> None:
    checked([record(0, None, key=b"gone")])
    error = refused([record(0, b"", key=b"k")])
    assert "record 0: the value names no schema" in error.message and type(error) is InvalidRecords


def test_an_unknown_id_is_named_with_its_record_and_subject() -> None:
    error = refused([record(0, value(1)), record(1, value(77)), record(2, value(4))])
    assert isinstance(error, UnregisteredSchemas)
    assert error.record_errors == [
        (1, "record 1: schema id 77 of the value is not registered under subject orders-value"),
        (2, "record 2: schema id 4 of the value is not registered under subject orders-value"),
    ]
    assert "schema id 77" in error.message


@pytest.mark.parametrize("data", [b"x", b"text that has no id", b"\0\0\0\0", b"\1too short", b"{}"])
def test_values_without_an_identifier_are_refused_for_good(data: bytes) -> None:
    error = refused([record(0, data)])
    assert type(error) is InvalidRecords and "names no schema" in error.record_errors[0][1]


def test_another_topics_subject_does_not_count() -> None:
    assert "under subject bills-value" in refused([record(0, value(1))], topic="bills").message


def test_other_strategies_accept_what_is_registered_anywhere() -> None:
    rules = SchemaRules(key=False, value=True, value_by_topic=False)
    checked([record(0, value(4)), record(1, value(3))], rules, topic="bills")
    error = refused([record(0, value(9))], rules, topic="bills")
    assert error.record_errors == [(0, "record 0: schema id 9 of the value is not registered")]


def test_keys_are_checked_where_the_topic_asks_for_it() -> None:
    both = SchemaRules(key=True, value=True)
    checked([record(0, value(1), key=value(3)), record(1, None, key=value(3)), record(2, value(2), key=None)], both)
    assert "schema id 1 of the key" in refused([record(0, value(1), key=value(1))], both).message
    checked([record(0, b"anything", key=value(3))], SchemaRules(key=True, value=False))
    checked([record(0, value(1), key=b"anything")])


def test_a_header_counts_before_the_first_bytes() -> None:
    header = [("trace", b"\0\0\0\0\1"), ("__value_schema_id", BY_GUID)]
    checked([record(0, b"no prefix", headers=header)])
    checked([record(0, b"no prefix", headers=[("__value_schema_id", BY_GUID + b"\0")])])  # Protobuf's message index
    checked([record(0, b"no prefix", headers=[("__value_schema_id", id_identifier(2))])])
    other = guid_identifier(bytes(16))
    error = refused([record(0, value(1), headers=[("__value_schema_id", other)])])
    assert "schema GUID 00000000-0000-0000-0000-000000000000" in error.message
    checked([record(0, value(1), headers=[("__key_schema_id", other)])])
    checked([record(0, value(1), headers=[("__value_schema_id", b"")])])


def test_of_two_headers_the_last_counts() -> None:
    other = guid_identifier(bytes(16))
    checked([record(0, b"x", headers=[("__value_schema_id", other), ("__value_schema_id", BY_GUID)])])
    refused([record(0, b"x", headers=[("__value_schema_id", BY_GUID), ("__value_schema_id", other)])])


def test_a_guid_may_stand_before_the_data_too() -> None:
    checked([record(0, BY_GUID + b"data")])
    refused([record(0, guid_identifier(bytes(16)) + b"data")])


def test_the_list_of_errors_has_a_bound() -> None:
    many = [record(index, b"x") for index in range(RECORD_ERRORS_LISTED_MAX + 10)]
    assert len(refused(many).record_errors) == RECORD_ERRORS_LISTED_MAX


def test_others_are_served_in_between() -> None:
    assert checked([record(index, value(1)) for index in range(10_000)]) >= 4
    headers = [("h", b"")] * 10_000
    assert checked([record(0, value(1), headers=headers)]) >= 4
