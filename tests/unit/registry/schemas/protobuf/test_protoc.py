"""What a file means is what protoc says: its descriptor and ours are equal."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barnabas.registry.schemas.formats import parse
from barnabas.registry.schemas.parsed import ReferencedSchema
from barnabas.registry.schemas.protobuf import known
from tests.unit.registry.schemas.protobuf.compiling import INCLUDED, INSTALLED, comparable, compiled, descriptor_of
from tests.unit.registry.schemas.protobuf.generated import draw
from tools.known_protos import texts

FILES = sorted(
    path.relative_to(folder).as_posix() for folder in (INSTALLED, INCLUDED) for path in folder.glob("google/**/*.proto")
)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FileDescriptorProto]:
    return compiled(FILES, INSTALLED, output=tmp_path_factory.mktemp("protoc") / "set")


def source(path: str) -> str:
    return next(file for folder in (INSTALLED, INCLUDED) if (file := folder / path).exists()).read_text()


def references(path: str, judged: dict[str, FileDescriptorProto]) -> list[ReferencedSchema]:
    found: dict[str, ReferencedSchema] = {}

    def enter(each: str) -> None:
        for dependency in judged[each].dependency:
            enter(dependency)
            found.setdefault(dependency, ReferencedSchema(dependency, source(dependency)))

    enter(path)
    return list(found.values())


def test_there_are_files_to_judge() -> None:
    assert len(FILES) > 70


@pytest.mark.parametrize("path", FILES)
def test_a_file_of_google_is_what_protoc_says(path: str, judged: dict[str, FileDescriptorProto]) -> None:
    others = references(path, judged)
    schema = parse("PROTOBUF", source(path), others)
    assert str(comparable(descriptor_of(schema))) == str(comparable(judged[path]))
    canonical, normalized = schema.canonical(), schema.normalized()
    assert parse("PROTOBUF", canonical, others).canonical() == canonical
    assert parse("PROTOBUF", normalized, others).normalized() == normalized


@pytest.mark.parametrize("path", FILES)
def test_a_descriptor_of_google_is_the_same_schema_as_its_text(
    path: str, judged: dict[str, FileDescriptorProto]
) -> None:
    """What a client registers that has the compiled file only."""
    import base64

    others = references(path, judged)
    sent = parse("PROTOBUF", base64.b64encode(judged[path].SerializeToString()).decode(), others)
    assert sent.normalized() == parse("PROTOBUF", source(path), others).normalized()


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False))
def test_a_generated_file_is_what_protoc_says(tmp_path: Path, random: Random) -> None:
    text = draw(random).text(random)
    (tmp_path / "drawn.proto").write_text(text)
    judged = compiled(["drawn.proto"], tmp_path, output=tmp_path / "set")["drawn.proto"]
    schema = parse("PROTOBUF", text)
    assert str(comparable(descriptor_of(schema))) == str(comparable(judged))
    assert not schema.unreadable(parse("PROTOBUF", schema.normalized()))


ODD = {
    "names that are keywords": """
        message message { optional string option = 1; optional message.Inner rpc = 2; message Inner {} }
        message reserved { repeated enum.oneof syntax = 1; } message enum { enum oneof { map = 0; } }""",
    "groups": """message A { repeated group Item = 1 { optional int32 x = 1; }
        oneof o { group Other = 5 {} string s = 6; } }""",
    "extensions": """message A { extensions 100 to 199, 500 to max [verification = UNVERIFIED]; }
        extend A { optional int32 ext = 100; repeated group Extra = 101 { optional A a = 1; } }
        message B { extend A { optional B inner = 102; } }""",
    "numbers": """enum E { option allow_alias = true;
        A = 0x10; B = -1; C = 020; D = -0x80000000; reserved -5 to -3, 100 to max; }
        message M { optional float a = 1 [default = inf]; optional double b = 2 [default = -nan];
        optional double c = 3 [default = 123456789.123456789]; optional E d = 4 [default = C]; }""",
    "strings": """message M { optional bytes a = 1 [default = "\\0\\x7f\\377\\u00e4'" '"'];
        optional string b = 2 [default = "ä\\t\\?"]; }""",
    "custom options": """import "google/protobuf/descriptor.proto"; package p.q;
        message Rule { optional string a = 1; repeated int32 b = 2; optional Rule c = 3; map<string, int32> d = 4;
          extensions 100; }
        extend Rule { optional bool deep = 100; }
        extend google.protobuf.FieldOptions { optional Rule rule = 50001;
          repeated string tag = 50002; optional double d = 50003; }
        extend google.protobuf.EnumValueOptions { optional Rule value = 50001; }
        message M { optional int32 a = 1 [(rule).a = "x", (p.q.rule).c.b = 5, (tag) = "t",
          (.p.q.tag) = "u", (d) = 1e-3];
          optional int32 b = 2 [(rule) = { a: 'y' "z", b: [1, 0x2],
          c { c < a: "w"; b: 3 b: 4 > } d { key: "k" value: 1 } [p.q.deep]: true }]; }
        enum E { Z = 0 [(value).(deep) = true]; }""",
    "optional in proto3": """syntax = "proto3"; message A {
        optional int32 a = 1; optional string _b = 2; string X_a = 3; oneof _c { int32 d = 4; } }""",
    "editions": """edition = "2023"; option features.enum_type = CLOSED;
        message A { int32 a = 1 [features.field_presence = LEGACY_REQUIRED];
        repeated int32 b = 2 [features.repeated_field_encoding = EXPANDED];
        A c = 3 [features.message_encoding = DELIMITED]; reserved foo, bar; }
        enum E { Z = 1; }""",
    "services": """message A {} service S { option deprecated = true; rpc One(A) returns (.A);
        rpc Two(stream A) returns (stream A) {
        option idempotency_level = IDEMPOTENT; } rpc Three(A) returns (A) {} ; }""",
    "nearest scope": """package a.b; message M { message N { optional M m = 1; message M {} }
        optional N.M n = 1; optional b.M o = 2; }""",
    "empty statements": ";;message A {;optional int32 a = 1;;} ; enum E { ; Z = 0;; } service S {;}",
    "no message at all": 'import public "google/protobuf/any.proto";',
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_odd_file_is_what_protoc_says(name: str, tmp_path: Path) -> None:
    text = ODD[name]
    (tmp_path / "odd.proto").write_text(text)
    judged = compiled(["odd.proto"], tmp_path, output=tmp_path / "set")["odd.proto"]
    schema = parse("PROTOBUF", text)
    assert str(comparable(descriptor_of(schema))) == str(comparable(judged))
    normalized = schema.normalized()
    assert (
        parse("PROTOBUF", schema.canonical()).normalized() == parse("PROTOBUF", normalized).normalized() == normalized
    )


def test_known_files_are_those_of_the_installed_packages() -> None:
    """tools/known_protos.py wrote them."""
    folder = Path(known.__file__).parent / "known"
    assert {path: (folder / path).read_text() for path in texts()} == texts()
    assert set(known.files()) == set(texts())
