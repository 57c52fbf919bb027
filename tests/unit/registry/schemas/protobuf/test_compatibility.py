"""Which changes are refused, by Confluent's names; and that data says the same, read by Protobuf's own library."""

from __future__ import annotations

from random import Random

import pytest
from google.protobuf import text_format
from google.protobuf.message import DecodeError
from hypothesis import event, given, settings
from hypothesis import strategies as st

from barnabas.model.limits import INCOMPATIBILITIES_MAX
from barnabas.registry.schemas.formats import parse
from barnabas.registry.schemas.parsed import ReferencedSchema
from tests.unit.registry.schemas.protobuf.generated import changed, draw
from tests.unit.registry.schemas.protobuf.reading import classes, filled, lost


def differences(writer: str, reader: str) -> list[str]:
    found = parse("PROTOBUF", reader).unreadable(parse("PROTOBUF", writer))
    assert all(each.message and "\n" not in each.message for each in found)
    return sorted(f"{each.kind} {each.path}" for each in found)


def message(body: str, rest: str = "", syntax: str = "proto3") -> str:
    return f'syntax = "{syntax}"; message A {{ {body} }} {rest}'


# What was written, and what reads it.
COMPATIBLE = {
    "a field more": (message("int32 a = 1;"), message("int32 a = 1; string b = 2;")),
    "a field less": (message("int32 a = 1; string b = 2;"), message("int32 a = 1;")),
    "another name": (message("int32 a = 1;"), message("int32 b = 1;")),
    "another number": (message("int32 a = 1;"), message("int32 a = 2;")),
    "numbers of one group": (message("int32 a = 1; bool b = 2;"), message("uint64 a = 1; int32 b = 2;")),
    "text as bytes": (message("string a = 1;"), message("bytes a = 1;")),
    "a number as an enum": (message("int32 a = 1;"), message("E a = 1;", "enum E { Z = 0; }")),
    "a value of an enum less": (
        message("E a = 1;", "enum E { Z = 0; Y = 1; }"), message("E a = 1;", "enum E { Z = 0; }")),
    "a message more": (message(""), message("", "message B {}")),
    "messages in another order": (message("", "message B {}"), 'syntax = "proto3"; message B {} message A {}'),
    "the package": ('package a; message A { optional A a = 1; }', "package b; message A { optional .b.A a = 1; }"),
    "a name in full": (message("B b = 1; message B {}"), message(".A.B b = 1; message B {}")),
    "text that repeats": (message("optional string a = 1;"), message("repeated string a = 1;")),
    "a message that repeats": (message("optional A a = 1;"), message("repeated A a = 1;")),
    "a number that repeats": (message("int32 a = 1;"), message("repeated int32 a = 1;")),
    "presence": (message("int32 a = 1;"), message("optional int32 a = 1;")),
    "one field into a new oneof": (message("int32 a = 1;"), message("oneof o { int32 a = 1; int32 b = 2; }")),
    "a oneof more": (message("oneof o { int32 a = 1; }"), message("oneof o { int32 a = 1; int32 b = 2; }")),
    "out of a oneof": (
        message("oneof o { int32 a = 1; int32 b = 2; }"), message("oneof o { int32 a = 1; } int32 b = 2;")),
    "another name of a oneof": (
        message("oneof o { int32 a = 1; int32 b = 2; }"), message("oneof p { int32 a = 1; int32 b = 2; }")),
    "a map as its entries": (
        message("map<string, A> m = 1;"),
        message("repeated MEntry m = 1; message MEntry { option map_entry = true; string key = 1; A value = 2; }"),
    ),
    "a recursive message": (message("A a = 1;"), message("A a = 1; int32 b = 2;")),
    "services": (message("", "service S { rpc R (A) returns (A); }"), message("")),
}  # fmt: skip

REFUSED = {
    "a scalar of another group": (
        message("int32 a = 1;"), message("string a = 1;"), ["FIELD_SCALAR_KIND_CHANGED #/A/1"]),
    "zigzag": (message("int32 a = 1;"), message("sint32 a = 1;"), ["FIELD_SCALAR_KIND_CHANGED #/A/1"]),
    "a float as a double": (message("float a = 1;"), message("double a = 1;"), ["FIELD_SCALAR_KIND_CHANGED #/A/1"]),
    "a scalar as a message": (message("int32 a = 1;"), message("A a = 1;"), ["FIELD_KIND_CHANGED #/A/1"]),
    "a message as a map": (
        message("repeated A a = 1;"), message("map<string, A> a = 1;"), ["FIELD_KIND_CHANGED #/A/1"]),
    "a value of a map": (
        message("map<string, int32> a = 1;"), message("map<string, string> a = 1;"),
        ["FIELD_SCALAR_KIND_CHANGED #/A/1"]),
    "a message of another name": (
        message("B a = 1;", "message B {}"), message("C a = 1;", "message C {}"),
        ["FIELD_NAMED_TYPE_CHANGED #/A/1", "MESSAGE_REMOVED #/B"]),
    "a message less": (message("", "message B {}"), message(""), ["MESSAGE_REMOVED #/B"]),
    "a nested message less": (message("message B {}"), message(""), ["MESSAGE_REMOVED #/A/B"]),
    "a required field more": (
        message("", syntax="proto2"), message("required int32 a = 1;", syntax="proto2"),
        ["REQUIRED_FIELD_ADDED #/A/1"]),
    "a required field less": (
        message("required int32 a = 1;", syntax="proto2"), message("", syntax="proto2"),
        ["REQUIRED_FIELD_REMOVED #/A/1"]),
    "a field that becomes required": (
        message("optional string a = 1;", syntax="proto2"), message("required string a = 1;", syntax="proto2"),
        ["REQUIRED_FIELD_ADDED #/A/1"]),
    "a label of a number": (
        message("optional int32 a = 1;"), message("repeated int32 a = 1;"), ["FIELD_NUMERIC_LABEL_CHANGED #/A/1"]),
    "a number that no longer repeats": (
        message("repeated int32 a = 1;"), message("int32 a = 1;"), ["FIELD_NUMERIC_LABEL_CHANGED #/A/1"]),
    "two fields into a oneof": (
        message("int32 a = 1; int32 b = 2;"), message("oneof o { int32 a = 1; int32 b = 2; }"),
        ["MULTIPLE_FIELDS_MOVED_TO_ONEOF #/A/o"]),
    "a field into a oneof that is there": (
        message("int32 a = 1; oneof o { int32 b = 2; }"), message("oneof o { int32 a = 1; int32 b = 2; }"),
        ["FIELD_MOVED_TO_EXISTING_ONEOF #/A/o"]),
    "two oneofs into one": (
        message("oneof o { int32 a = 1; } oneof p { int32 b = 2; }"), message("oneof o { int32 a = 1; int32 b = 2; }"),
        ["MULTIPLE_FIELDS_MOVED_TO_ONEOF #/A/o"]),
    "a field of a oneof less": (
        message("oneof o { int32 a = 1; int32 b = 2; }"), message("oneof o { int32 a = 1; }"),
        ["ONEOF_FIELD_REMOVED #/A/o/2"]),
    "the type of a field of a oneof": (
        message("oneof o { int32 a = 1; }"), message("oneof o { string a = 1; }"),
        ["FIELD_SCALAR_KIND_CHANGED #/A/o/1"]),
    "the type of a field that leaves a oneof": (
        message("oneof o { int32 a = 1; }"), message("string a = 1;"), ["FIELD_SCALAR_KIND_CHANGED #/A/1"]),
    "deep within": (
        message("B b = 1;", "message B { C c = 1; message C { int32 d = 7; } }"),
        message("B b = 1;", "message B { C c = 1; message C { string d = 7; } }"),
        ["FIELD_NAMED_TYPE_CHANGED #/A/1", "FIELD_NAMED_TYPE_CHANGED #/B/1", "FIELD_SCALAR_KIND_CHANGED #/B/C/7"]),
    "messages that need each other": (
        message("B b = 1;", "message B { A a = 1; int32 c = 2; }"),
        message("B b = 1;", "message B { A a = 1; string c = 2; }"),
        ["FIELD_NAMED_TYPE_CHANGED #/A/1", "FIELD_NAMED_TYPE_CHANGED #/B/1", "FIELD_SCALAR_KIND_CHANGED #/B/2"]),
    "a group as a message": (
        message("optional group G = 1 {}", syntax="proto2"), message("optional G g = 1; message G {}", syntax="proto2"),
        ["FIELD_KIND_CHANGED #/A/1"]),
    "a field of a group": (
        message("optional group G = 1 { optional int32 a = 1; }", syntax="proto2"),
        message("optional group G = 1 { optional float a = 1; }", syntax="proto2"),
        ["FIELD_NAMED_TYPE_CHANGED #/A/1", "FIELD_SCALAR_KIND_CHANGED #/A/G/1"]),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPATIBLE)
def test_what_is_compatible(name: str) -> None:
    assert differences(*COMPATIBLE[name]) == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    writer, reader, expected = REFUSED[name]
    assert differences(writer, reader) == expected
    assert differences(reader, reader) == differences(writer, writer) == []


def test_a_type_of_a_reference_is_compared_too() -> None:
    def of(package: str, type: str) -> list[ReferencedSchema]:
        text = f'syntax = "proto3"; package {package}; message Home {{ {type} id = 1; }}'
        return [ReferencedSchema("home.proto", text)]

    text = 'syntax = "proto3"; import "home.proto"; message A { {}.Home home = 1; }'
    one = parse("PROTOBUF", text.replace("{}.", "a."), of("a", "int32"))
    moved = parse("PROTOBUF", text.replace("{}.", "b."), of("b", "int32"))
    other = parse("PROTOBUF", text.replace("{}.", "b."), of("b", "string"))
    assert list(moved.unreadable(one)) == []
    assert [f"{each.kind} {each.path}" for each in other.unreadable(one)] == [
        "FIELD_NAMED_TYPE_CHANGED #/A/1",
        "FIELD_SCALAR_KIND_CHANGED #/Home/1",
    ]


def test_a_person_reads_why() -> None:
    reader, writer = parse("PROTOBUF", message("string price = 3;")), parse("PROTOBUF", message("int32 cost = 3;"))
    (found,) = reader.unreadable(writer)
    assert found.message == "field price of A is string and was written as int32, whose bytes are different"


def test_the_list_has_an_end() -> None:
    fields = range(1, 3_000)
    writer = message("".join(f"int32 a{number} = {number};" for number in fields))
    reader = message("".join(f"string a{number} = {number};" for number in fields))
    assert len(differences(writer, reader)) == INCOMPATIBILITIES_MAX


# Of each refusal, data that shows why: its text, and whether reading it fails or gives something else.
SHOWN = {
    "a scalar of another group": "a: 5",
    "zigzag": "a: 5",
    "a float as a double": "a: 5",
    "a scalar as a message": "a: 5",
    "a message as a map": "a { a {} }",
    "a value of a map": "a { key: 'k' value: 3 }",
    "a required field more": "",
    "a field that becomes required": "",
    "a number that no longer repeats": "a: 1 a: 2",
    "two fields into a oneof": "a: 1 b: 2",
    "a field into a oneof that is there": "a: 1 b: 2",
    "two oneofs into one": "a: 1 b: 2",
    "the type of a field of a oneof": "a: 5",
    "the type of a field that leaves a oneof": "a: 5",
    "deep within": "b { c { d: 5 } }",
    "messages that need each other": "b { c: 5 }",
    "a group as a message": "g {}",
    "a field of a group": "g { a: 5 }",
}
# Rules that Confluent's registry has although the bytes of A can be read.
RULES = {
    "a message of another name": "the bytes do not say the name of a message; a consumer that was generated does",
    "a message less": "no data of A is concerned: data of B has no type any more",
    "a nested message less": "as above",
    "a required field less": "older consumers cannot read what is written from now on",
    "a label of a number": "a reader of a list takes a single number; the other way round it is lost",
    "a field of a oneof less": "nothing tells whether none was set or the one that is gone",
}


def test_every_refusal_is_shown_or_is_a_rule() -> None:
    assert SHOWN.keys() | RULES.keys() == REFUSED.keys() and not SHOWN.keys() & RULES.keys()


@pytest.mark.parametrize("name", SHOWN)
def test_a_refusal_has_a_counterexample(name: str) -> None:
    writer, reader, _ = REFUSED[name]
    written = text_format.Parse(SHOWN[name], classes(parse("PROTOBUF", writer))["A"]())
    read = classes(parse("PROTOBUF", reader))["A"]()
    try:
        read.ParseFromString(written.SerializeToString())
    except DecodeError:
        return
    broken = not read.IsInitialized()
    set_before = {field.number for field, _ in written.ListFields()}
    unset = {field.number for field, _ in read.ListFields()} != set_before and "repeats" not in name
    assert broken or unset or lost(written, read), f"{written} is read as {read}"


@pytest.mark.parametrize("name", RULES)
def test_a_rule_has_no_counterexample(name: str) -> None:
    writer, reader, _ = REFUSED[name]
    for seed in range(20):
        written = filled(Random(seed), classes(parse("PROTOBUF", writer))["A"])
        read = classes(parse("PROTOBUF", reader))["A"]()
        read.ParseFromString(written.SerializeToString())
        assert not lost(written, read)


@settings(max_examples=400, deadline=None)
@given(st.randoms(use_true_random=False))
def test_what_is_called_compatible_is_really_read(random: Random) -> None:
    """Numbers are small enough for both types, bytes are UTF-8, and enums know the values: what Protobuf asks for
    between types of one group."""
    before = draw(random)
    after = changed(random, before)
    writer, reader = parse("PROTOBUF", before.text()), parse("PROTOBUF", after.text())
    found = reader.unreadable(writer)
    event("refused" if found else "compatible")
    if found:
        return
    written_as, read_as = classes(writer), classes(reader)
    for name in written_as:
        for _ in range(3):
            written = filled(random, written_as[name])
            read = read_as[name]()
            read.ParseFromString(written.SerializePartialToString())
            assert not lost(written, read)
            if written.IsInitialized():
                assert read.IsInitialized()
