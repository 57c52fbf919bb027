"""The levels over a list of versions, and what is said of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.model import limits
from barnabas.registry.schemas.compatibility import LEVELS, Level, findings
from barnabas.registry.schemas.formats import parse
from barnabas.registry.schemas.parsed import ParsedSchema


def record(*fields: dict[str, Any]) -> ParsedSchema:
    return parse("AVRO", json.dumps({"type": "record", "name": "R", "fields": list(fields)}))


A, B = {"name": "a", "type": "int"}, {"name": "b", "type": "int"}
B_DEFAULT = {**B, "default": 0}
# version 1 has a and b without a default, version 2 only a
VERSIONS = [(1, record(A, B)), (2, record(A))]


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("NONE", []),
        ("BACKWARD", [(2, False)]),
        ("BACKWARD_TRANSITIVE", [(2, False)]),
        ("FORWARD", []),
        ("FORWARD_TRANSITIVE", []),
        ("FULL", [(2, False)]),
        ("FULL_TRANSITIVE", [(2, False)]),
    ],
)
def test_levels(level: Level, expected: list[tuple[int, bool]]) -> None:
    assert [(each.version, each.is_forward) for each in findings(level, record(A, B), VERSIONS)] == expected


def test_transitive_is_with_all_versions() -> None:
    assert not findings("FORWARD", record(A), VERSIONS)
    assert [each.version for each in findings("FORWARD_TRANSITIVE", record(A), VERSIONS)] == [1]
    assert not findings("BACKWARD_TRANSITIVE", record(A, B_DEFAULT), VERSIONS)


def test_a_first_version_is_compatible() -> None:
    assert all(not findings(level, record(A), []) for level in LEVELS)


def test_in_words() -> None:
    (backward,) = findings("BACKWARD", record(A, B), VERSIONS)
    assert str(backward) == (
        "the new schema cannot read data of version 2: field 'b' has no default, and data does not have it"
        " (at /fields/1: READER_FIELD_MISSING_DEFAULT_VALUE)"
    )
    (forward,) = findings("FORWARD_TRANSITIVE", record(A), VERSIONS)
    assert str(forward).startswith("version 1 cannot read data of the new schema: field 'b'")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ({"type": "integer"}, {"type": "string"}, "data may be of type integer, the schema takes string (at #/:"),
        ({"maximum": 5}, {"maximum": 4}, "maximum is 4, data has 5 (at #/maximum: MAXIMUM_DECREASED)"),
    ],
)
def test_json_schema_in_words(old: Any, new: Any, words: str) -> None:
    versions = [(1, parse("JSON", json.dumps(old)))]
    assert words in str(findings("BACKWARD", parse("JSON", json.dumps(new)), versions)[0])


def test_what_is_listed_has_a_bound() -> None:
    many = [{"name": f"f{number}", "type": "int"} for number in range(limits.INCOMPATIBILITIES_MAX + 50)]
    versions = [(number, record()) for number in range(1, 4)]
    assert len(findings("FULL_TRANSITIVE", record(*many), versions)) == limits.INCOMPATIBILITIES_MAX
