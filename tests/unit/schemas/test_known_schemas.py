"""Which schema ids a broker knows after the records of `_schemas`, in Confluent's format."""

import json
from typing import Any

import pytest

from barnabas.core.schemas.known import KnownSchemas
from barnabas.model.limits import SCHEMA_RECORD_MAX_BYTES
from barnabas.wire.schema_ids import guid_identifier, id_identifier

GUID = "89791762-2336-4186-9674-299b90a802e2"


def key(subject: str, version: int) -> bytes:
    return json.dumps({"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}).encode()


def schema(subject: str, version: int, schema_id: int, **more: Any) -> tuple[bytes, bytes]:
    said = {"subject": subject, "version": version, "id": schema_id, "schema": '"string"', "deleted": False}
    return key(subject, version), json.dumps(said | more).encode()


def delete(subject: str, version: int) -> tuple[bytes, bytes]:
    about = {"keytype": "DELETE_SUBJECT", "subject": subject, "magic": 0}
    return json.dumps(about).encode(), json.dumps({"subject": subject, "version": version}).encode()


def after(*records: tuple[bytes | None, bytes | None]) -> KnownSchemas:
    known = KnownSchemas()
    for each in records:
        known.apply(*each)
    return known


def ids(known: KnownSchemas, subject: str | None = None) -> list[int]:
    return sorted(int.from_bytes(each[1:], "big") for each in known.identifiers(subject) if each[0] == 0)


def test_versions_and_subjects() -> None:
    known = after(schema("a", 1, 1), schema("a", 2, 2), schema("b", 1, 1))
    assert (ids(known, "a"), ids(known, "b"), ids(known, "c"), ids(known)) == ([1, 2], [1], [], [1, 2])
    assert id_identifier(2) in known.identifiers("a")


def test_the_guid_where_a_record_has_one() -> None:
    known = after(schema("a", 1, 1, guid=GUID), schema("b", 1, 2, guid="no guid"), schema("c", 1, 3, guid="89"))
    own = guid_identifier(bytes.fromhex(GUID.replace("-", "")))
    assert own in known.identifiers("a") and own in known.identifiers(None)
    assert len(known.identifiers("b")) == len(known.identifiers("c")) == 1


def test_a_deleted_version_does_not_count() -> None:
    known = after(schema("a", 1, 1), schema("b", 1, 1), schema("a", 1, 1, deleted=True))
    assert (ids(known, "a"), ids(known)) == ([], [1])
    known.apply(key("b", 1), None)  # deleted for good
    assert ids(known) == [] and known.kept_bytes == 0
    known.apply(*schema("a", 1, 1))  # registered again
    assert ids(known, "a") == [1]


def test_a_subject_is_deleted_up_to_a_version() -> None:
    known = after(schema("a", 1, 1), schema("a", 2, 2), schema("a", 3, 3), schema("b", 1, 2), delete("a", 2))
    assert (ids(known, "a"), ids(known)) == ([3], [2, 3])


def test_two_versions_may_have_one_id() -> None:
    known = after(schema("a", 1, 1), schema("a", 2, 1), (key("a", 1), None))
    assert ids(known, "a") == [1]
    known.apply(key("a", 2), None)
    assert ids(known, "a") == []


@pytest.mark.parametrize(
    "strange",
    [
        (None, b"{}"),
        (b"", b""),
        (b"no json", b"{}"),
        (b"[1]", b"{}"),
        (b'{"keytype":"NOOP","magic":0}', None),
        (b'{"keytype":"CONFIG","subject":null,"magic":0}', b'{"compatibilityLevel":"FULL"}'),
        (b'{"keytype":"SOMETHING_NEW","subject":"a","version":1}', b'{"id":7}'),
        (b'{"keytype":"SCHEMA","subject":"a"}', b'{"id":7}'),
        (key("b", 1), b'{"id":"7"}'),
        (key("b", 1), b'{"id":-1}'),
        (key("b", 1), b'{"id":4294967296}'),
        (key("b", 1), b"[" * 100_000),
        (key("b", 1), b'{"x":' * 100_000),
        (key("b", 1), b'{"id":7}' + b" " * SCHEMA_RECORD_MAX_BYTES),
        (key("b", 1), b"\xff\xfe"),
        (b'{"keytype":"DELETE_SUBJECT","subject":"a"}', b"{}"),
        (b'{"keytype":"DELETE_SUBJECT"}', b'{"version":9}'),
    ],
    ids=range(17),
)
def test_what_is_strange_is_passed_over(strange: tuple[bytes | None, bytes | None]) -> None:
    assert ids(after(schema("a", 1, 1), strange)) == [1]


def test_unknown_fields_are_passed_over() -> None:
    assert ids(after(schema("a", 1, 5, metadata={"tags": [1]}, ruleSet={"x": None}, ts=1, offset=2))) == [5]


def test_what_is_kept_has_a_bound() -> None:
    known = KnownSchemas(max_bytes=10_000)
    for number in range(1, 100):
        known.apply(*schema("a", number, number))
    assert 5 < len(ids(known)) < 20 and known.is_full and known.kept_bytes <= 10_000
    known.apply(key("a", 1), None)
    known.apply(*schema("a", 200, 200))
    assert 200 in ids(known)
