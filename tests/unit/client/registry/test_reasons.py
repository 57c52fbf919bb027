"""What registries say about schemas that are not compatible."""

from __future__ import annotations

from barnabas.client.serde.registry.reasons import Reason, reasons, refusal

CONFLUENT = [
    "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field 'f2' at path '/fields/1' in the new schema"
    " has no default value and is missing in the old schema', additionalInfo:'f2'}",
    "{oldSchemaVersion: 1}",
    '{oldSchema: \'{"type":"record"}\'}',
    "{validateFields: 'false', compatibility: 'BACKWARD'}",
]
OURS = "{errorType:'TYPE_MISMATCH', description:'long cannot be read as string', additionalInfo:'/fields/0/type'}"


def test_reasons_and_nothing_else() -> None:
    first, second, third = reasons([*CONFLUENT, OURS, OURS, "Incompatible\x0bschema"])
    assert (first.kind, first.path) == ("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/1")
    assert first.line() == first.text, "the path is in it already"
    assert second == Reason("TYPE_MISMATCH", "/fields/0/type", "long cannot be read as string")
    assert second.line() == "/fields/0/type: long cannot be read as string"
    assert third == Reason("", "", "Incompatible schema")


def test_a_refusal_is_a_line_for_a_person() -> None:
    told = (
        f'Schema being registered is incompatible with an earlier schema for subject "a", details: [{OURS}, {{x: 1}}]'
    )
    assert refusal(told) == ("not compatible with earlier versions: /fields/0/type: long cannot be read as string")
    assert refusal("something else") == "something else"


def test_another_type_is_a_reason_without_the_old_schema() -> None:
    told = (
        'Schema being registered is incompatible with an earlier schema for subject "a", details: [Incompatible because'
        ' of different schema type, {oldSchemaVersion: 2}, {oldSchema: \'{"type":"record"}\'}]'
    )
    assert refusal(told) == "not compatible with earlier versions: Incompatible because of different schema type"
