"""The forms of a Protobuf schema: what is stored, what normalize=true stores, what `format` asks for."""

from __future__ import annotations

import base64

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from barnabas.registry.schemas.formats import parse
from barnabas.registry.schemas.parsed import InvalidSchema, ReferencedSchema

ORDER = """// a comment goes
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto"; import "money.proto";
option java_package = 'com.shop';  /* this one too */
message Order { string id = 1;
  repeated Line lines=3 [deprecated = true, json_name = "items"]; map<string, money.Amount> totals = 2;
  oneof payment { option (confluent.doc) = "x"; string card = 5; Cash cash = 4; }
  google.protobuf.Timestamp at = 0x10;
  reserved 100 to max; reserved "old", "older"; reserved 7, 8 to 9;
  message Cash {} enum State { reserved 5; NEW = 0; PAID = 1 [deprecated = true]; }
  message Line { int32 count = 1; }
}
enum Channel { option allow_alias = true; SHOP = 0; WEB = 1; NET = 1; }
service Orders { rpc Put (Order) returns (stream Order) { option deprecated = true; }; rpc Get(Order) returns (Order); }
"""
MONEY = ReferencedSchema("money.proto", 'syntax = "proto3"; package money; message Amount { int64 cents = 1; }')

CANONICAL = """syntax = "proto3";
package shop;

import "google/protobuf/timestamp.proto";
import "money.proto";

option java_package = "com.shop";

message Order {
  reserved 100 to max;
  reserved "old", "older";
  reserved 7, 8 to 9;

  string id = 1;
  repeated Line lines = 3 [
    deprecated = true,
    json_name = "items"
  ];
  map<string, money.Amount> totals = 2;
  google.protobuf.Timestamp at = 16;

  oneof payment {
    option (confluent.doc) = "x";

    string card = 5;
    Cash cash = 4;
  }

  message Cash {}
  message Line {
    int32 count = 1;
  }
  enum State {
    reserved 5;
    NEW = 0;
    PAID = 1 [deprecated = true];
  }
}
enum Channel {
  option allow_alias = true;
  SHOP = 0;
  WEB = 1;
  NET = 1;
}

service Orders {
  rpc Put (Order) returns (stream Order) {
    option deprecated = true;
  };
  rpc Get (Order) returns (Order);
}
"""


def test_the_canonical_form_is_that_of_confluent() -> None:
    schema = parse("PROTOBUF", ORDER, [MONEY])
    assert schema.canonical() == CANONICAL
    assert parse("PROTOBUF", CANONICAL, [MONEY]).canonical() == CANONICAL
    assert schema.formatted("no such format") == CANONICAL


def test_the_normalized_form_sorts_and_says_full_names() -> None:
    schema = parse("PROTOBUF", ORDER, [MONEY])
    normalized = schema.normalized()
    assert "  map<string, .money.Amount> totals = 2;\n  repeated .shop.Order.Line lines = 3 [\n" in normalized
    assert "  .google.protobuf.Timestamp at = 16;\n" in normalized
    assert "    .shop.Order.Cash cash = 4;\n    string card = 5;\n" in normalized
    assert (
        '  reserved 7;\n  reserved 8 to 9;\n  reserved 100 to max;\n  reserved "old";\n  reserved "older";\n'
        in normalized
    )
    assert "rpc Get (.shop.Order) returns (.shop.Order);" in normalized
    assert parse("PROTOBUF", normalized, [MONEY]).normalized() == normalized


def test_the_order_of_what_has_none_does_not_matter_once_normalized() -> None:
    one = 'syntax = "proto2"; import "b.proto"; import "a.proto"; '
    one += "message A { optional B b = 2; optional bool c = 0x1; } message B {}"
    two = 'import "a.proto"; import "b.proto"; message A { optional bool c = 01; optional .B b = 2; } message B {}'
    left, right = parse("PROTOBUF", one), parse("PROTOBUF", two)
    assert left.normalized() == right.normalized()
    assert left.canonical() != right.canonical()


def test_a_descriptor_in_base64_is_a_schema() -> None:
    """confluent-kafka registers schemas like this."""
    serialized = parse("PROTOBUF", ORDER, [MONEY]).formatted("serialized")
    descriptor = FileDescriptorProto.FromString(base64.b64decode(serialized))
    assert [each.name for each in descriptor.message_type] == ["Order"]
    assert [each.name for each in descriptor.message_type[0].nested_type] == ["TotalsEntry", "Cash", "Line"]
    again = parse("PROTOBUF", serialized, [MONEY])
    assert again.canonical().startswith('syntax = "proto3";\npackage shop;\n')
    plain = ORDER.replace('option (confluent.doc) = "x";', "")  # an option that nobody knows is not in a descriptor
    assert again.normalized() == parse("PROTOBUF", plain, [MONEY]).normalized()


def test_a_known_custom_option_survives_the_descriptor() -> None:
    text = """syntax = "proto3";
import "confluent/meta.proto";

message User {
  option (confluent.message_meta).doc = "a person";
  string mail = 1 [(confluent.field_meta) = { tags: ["PII", "MAIL"], params: { key: "a" value: "b" } }];
}
"""
    schema = parse("PROTOBUF", text)
    assert "confluent" not in schema.formatted("ignore_extensions").replace("confluent/meta.proto", "")
    again = parse("PROTOBUF", schema.formatted("serialized"))
    assert '(confluent.message_meta) = {\n    doc: "a person"\n  }' in again.canonical()
    assert '"PII",' in again.canonical() and 'value: "b"' in again.canonical()


@pytest.mark.parametrize("version", ["2023", "2024"])
def test_editions_are_kept(version: str) -> None:
    options = "option features.field_presence = IMPLICIT;"
    text = f'edition = "{version}";\npackage a;\n\n{options}\n\nmessage A {{\n  int32 b = 1;\n}}\n'
    schema = parse("PROTOBUF", text)
    assert schema.canonical() == text
    assert parse("PROTOBUF", schema.formatted("serialized")).canonical() == text


REFUSED = {
    "": "the schema is empty",
    "message A {": "line 1, column 12: expected the type of a field, but the text ends",
    "message A { int32 b = 1 }": "line 1, column 25: expected ';', found '}'",
    "message A {\n  int32 b = x;\n}": "line 2, column 13: expected the number of the field, found 'x'",
    'syntax = "proto4";': "unknown syntax 'proto4'",
    "/* never ends": "this comment does not end",
    'import "a': "this string does not end",
    "message A { int32 b = 1; int32 c = 1; }": "A: c and b have the same number 1",
    "message A { int32 b = 1; int32 b = 2; }": "A has two fields with the name b",
    "message A { int32 b = 0; }": "the number of the field has to be from 1 to 536870911",
    "message A { int32 b = 19001; }": "19000 to 19999 are Protobuf's own",
    "message A { reserved 1 to 5; int32 b = 3; }": "A: b has the number 3, which is reserved",
    'message A { reserved "b"; int32 b = 3; }': "A: b is reserved and used",
    "message A { Missing b = 1; }": "Could not resolve type: Missing of field b in A",
    "message A {} message A {}": "A is defined twice",
    "message A { map<float, A> b = 1; }": "the keys of b are float",
    "enum E { }": "enum E has no values",
    "enum E { A = 1; B = 1; }": "B and A are both 1",
    'syntax = "proto3"; enum E { A = 1; }': "the first value has to be 0 in proto3",
    'syntax = "proto3"; message A { required int32 b = 1; }': "b is required, which proto3 does not have",
    'message A { string b = 1 [default = "\\q"]; }': "unknown escape \\q",
    "service S { rpc A (B) returns (C); }": "B of rpc S.A is no message",
    "extend Nobody { optional int32 a = 1; }": "Could not resolve type: Nobody",
    "bm90IGEgZGVzY3JpcHRvcg==": "not of a FileDescriptorProto",
    "notbase64": "neither a .proto file nor a FileDescriptorProto",
    "message " * 40 + "{": "line 1, column 17: expected '{', found 'message'",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:40] or "empty")
def test_what_is_wrong_is_said_in_one_line(text: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        parse("PROTOBUF", text)
    message = str(caught.value)
    assert REFUSED[text] in message
    assert "\n" not in message and len(message) < 300


def test_a_reference_that_is_wrong_is_named() -> None:
    with pytest.raises(InvalidSchema, match=r"reference b\.proto: line 1"):
        parse("PROTOBUF", "message A {}", [ReferencedSchema("b.proto", "message {")])


def test_an_import_without_a_reference_is_no_error_until_a_type_of_it_is_used() -> None:
    """As in Confluent's registry: files of custom options are imported by many and registered by few."""
    text = 'syntax = "proto3"; import "validate.proto"; message A { string b = 1 [(validate.rules).len = 5]; }'
    schema = parse("PROTOBUF", text)
    assert "(validate.rules).len = 5" in schema.canonical()
    assert (
        not FileDescriptorProto.FromString(base64.b64decode(schema.formatted("serialized")))
        .message_type[0]
        .field[0]
        .HasField("options")
    )


def test_what_another_registry_stored_is_read_although_protoc_would_not() -> None:
    text = 'syntax = "proto3";\n\nmessage A {\n  Gone b = 1;\n  int32 c = 1;\n}\nenum E {\n  X = 1;\n}\n'
    with pytest.raises(InvalidSchema):
        parse("PROTOBUF", text)
    schema = parse("PROTOBUF", text, stored=True)
    assert schema.canonical() == text
    assert "Gone b = 1;" in schema.normalized() and schema.formatted("serialized")
    assert not schema.unreadable(schema)
