"""Records as Confluent's registry writes them, and what they make."""

from __future__ import annotations

import json
import time

from barnabas.registry.state import questions, records
from barnabas.registry.state.contents import Contents
from barnabas.registry.state.values import Content, Metadata, Reference, Rule, RuleSet, Stored, guid_of, hash_of

RECORD = '{"type":"record","name":"myrecord","fields":[{"type":"string","default":null,"name":"f"}]}'

# A topic of Confluent's: the first fields of a registry of 2015, a soft delete, a subject deleted, a context, keys and
# fields that nobody here knows.
MIRRORED: tuple[tuple[str, str | None], ...] = (
    ('{"keytype":"NOOP","magic":0}', None),
    ('{"keytype":"CONFIG","subject":null,"magic":0}', '{"compatibilityLevel":"FULL"}'),
    (
        '{"keytype":"SCHEMA","subject":"old","version":1,"magic":0}',
        '{"subject":"old","version":1,"id":1,"schema":"\\"string\\""}',
    ),
    (
        '{"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}',
        '{"subject":"orders-value","version":1,"id":2,"md5":"k2v8","schema":"\\"int\\"","deleted":false}',
    ),
    (
        '{"keytype":"SCHEMA","subject":"orders-value","version":2,"magic":1}',
        '{"subject":"orders-value","version":2,"id":3,"schemaType":"JSON","references":[{"name":"a","subject":"old",'
        '"version":1}],"metadata":{"tags":{},"properties":{"owner":"x"},"sensitive":[]},"ruleSet":{"domainRules":[{"name":'
        '"r","kind":"CONDITION","mode":"WRITE","type":"CEL","tags":[],"params":{},"expr":"true","disabled":false}]},'
        '"schema":"{}","deleted":false,"schemaTags":[],"future":{"a":1}}',
    ),
    (
        '{"keytype":"SCHEMA","subject":"gone","version":1,"magic":1}',
        '{"subject":"gone","version":1,"id":4,"schema":"\\"long\\"","deleted":false}',
    ),
    ('{"keytype":"DELETE_SUBJECT","subject":"gone","magic":0}', '{"subject":"gone","version":1}'),
    ('{"keytype":"MODE","subject":"orders-value","magic":0}', '{"subject":"orders-value","mode":"READONLY"}'),
    ('{"keytype":"CONTEXT","tenant":"default","context":".eu","magic":0}', '{"tenant":"default","context":".eu"}'),
    (
        '{"keytype":"SCHEMA","subject":":.eu:orders-value","version":1,"magic":1}',
        '{"subject":":.eu:orders-value","version":1,"id":1,"schema":"\\"int\\"","deleted":false}',
    ),
    ('{"keytype":"ASSOCIATION","tenant":"default","resourceId":"x","magic":0}', '{"a":1}'),
    ('{"keytype":"SCHEMA","subject":"broken","version":1,"magic":1}', '{"subject":'),
    ("not json", "{}"),
    (
        '{"keytype":"SCHEMA","subject":"strange","version":1,"magic":1}',
        '{"subject":"strange","version":1,"id":9,"schemaType":"XML","schema":"<a/>","deleted":false}',
    ),
)


def mirrored() -> Contents:
    contents = Contents()
    for offset, (key, value) in enumerate(MIRRORED):
        contents.apply(offset, key.encode(), None if value is None else value.encode(), 1_700_000_000_000 + offset)
    return contents


def test_a_mirrored_topic() -> None:
    contents = mirrored()
    assert (questions.subjects(contents, ":*:", "live")) == [":.eu:orders-value", "old", "orders-value"]
    assert (questions.subjects(contents, ":*:", "deleted")) == ["gone"]
    assert (questions.subjects(contents, "", "live")) == ["old", "orders-value"]
    assert questions.contexts(contents) == [".", ".eu"]
    assert questions.config_in_scope(contents, "old").compatibility_level == "FULL"
    assert questions.config_in_scope(contents, ":.eu:a").compatibility_level == "BACKWARD"
    assert questions.mode_in_scope(contents, "orders-value") == "READONLY"
    newest = questions.version_of(contents, "orders-value", questions.LATEST)
    assert newest is not None
    assert (newest.id, newest.content.type, newest.content.references) == (3, "JSON", (Reference("a", "old", 1),))
    assert newest.content.metadata is not None and newest.content.metadata.properties == {"owner": "x"}
    old = questions.version_of(contents, "old", 1)
    assert old is not None and questions.referenced_by(contents, old) == [3]
    deleted = questions.by_id(contents, 4, None)
    assert deleted is not None and deleted.deleted
    eu = questions.by_id(contents, 1, ":.eu:")
    assert eu is not None and eu.content.text == '"int"'
    assert contents.unreadable == 3
    assert contents.contexts["."].max_id == 4


def test_a_tombstone_removes_every_trace() -> None:
    contents = mirrored()
    for offset, (subject, version) in enumerate(
        (("orders-value", 2), ("orders-value", 1), ("gone", 1), ("old", 1)), 100
    ):
        contents.apply(offset, records.schema_key(subject, version), None, 0)
    assert contents.subjects == [":.eu:orders-value"]
    assert not contents.contexts["."].by_id and not contents.contexts["."].ids and not contents.referenced_by
    assert (contents.versions, contents.text_bytes) == (1, 5)
    assert contents.contexts["."].max_id == 4


def test_keys_are_byte_for_byte_confluents() -> None:
    """Compaction compares them."""
    ours = {
        records.schema_key("orders-value", 2),
        records.config_record(None, None).key,
        records.mode_record("orders-value", None).key,
        records.delete_subject_record("gone", 1).key,
        records.context_record(".eu").key,
        records.NOOP_KEY,
    }
    assert ours <= {key.encode() for key, _ in MIRRORED}
    assert records.schema_key('ü/"', 1) == '{"keytype":"SCHEMA","subject":"ü/\\"","version":1,"magic":1}'.encode()


def test_guids_are_confluents() -> None:
    """Pinned in its own tests."""
    assert [each if each < 128 else each - 256 for each in hash_of(Content("AVRO", RECORD))] == [
        29, 32, -53, -71, -27, -29, 94, -105, 84, -25, -38, 23, 11, 110, 93, -37
    ]  # fmt: skip
    rules = RuleSet(migration_rules=[Rule(kind="TRANSFORM", mode="WRITEREAD")])
    whole = hash_of(Content("AVRO", RECORD, (), Metadata(), rules))
    assert [each if each < 128 else each - 256 for each in whole] == [
        22, -15, -20, -91, -21, -7, 34, -77, -38, -128, 33, 47, -113, -89, 52, 46
    ]  # fmt: skip
    assert guid_of(hash_of(Content("AVRO", RECORD))) == "1d20cbb9-e5e3-5e97-54e7-da170b6e5ddb"


def test_versions_stay_in_order_whatever_order_they_come_in() -> None:
    contents = Contents()
    for offset, version in enumerate((5, 1, 3, 2, 4, 3)):
        value = {"subject": "s", "version": version, "id": version, "schema": f'"{version}"'}
        contents.apply(offset, records.schema_key("s", version), json.dumps(value).encode(), 0)
    assert [each.version for each in questions.versions_of(contents, "s")] == [1, 2, 3, 4, 5]
    assert contents.versions == 5


def test_thousands_of_versions_are_deleted_in_a_moment() -> None:
    """In place: sorting all of them after each would hold every instance for 20 s, and again at each start."""
    contents = Contents()
    number = 5_000
    for version in range(1, number + 1):
        content = Content("AVRO", f'{{"type":"fixed","name":"F","size":{version}}}')
        made = records.schema_record(Stored("many", version, version, content, hash_of(content), False, 0))
        contents.apply(version, made.key, made.value, 1)
    gone = records.delete_subject_record("many", number)
    began = time.process_time()
    contents.apply(number + 1, gone.key, gone.value, 1)
    assert time.process_time() - began < 1.0
    assert [each.version for each in questions.versions_of(contents, "many", "deleted")] == [*range(1, number + 1)]
    assert contents.versions == number and not questions.has_subject(contents, "many")
