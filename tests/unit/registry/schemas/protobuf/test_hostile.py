"""Whatever is sent: an answer in bounded time, and no exception but InvalidSchema."""

from __future__ import annotations

import base64
import gc
import time
from collections.abc import Callable
from random import Random

import pytest

from barnabas.model.limits import SCHEMA_MAX_BYTES
from barnabas.registry.schemas.formats import parse
from barnabas.registry.schemas.parsed import InvalidSchema, ReferencedSchema
from tests.unit.registry.schemas.protobuf.compiling import INCLUDED, INSTALLED
from tests.unit.registry.schemas.protobuf.generated import draw

MUTATED = 6_000
SLOWEST_S = 0.2


def answer(text: str, *references: ReferencedSchema) -> str:
    """All that a request can ask for. The time is this thread's own, since others share the machine and the process,
    and without the collector, which goes through what all tests before have left."""
    gc.disable()
    begun = time.thread_time()
    try:
        schema = parse("PROTOBUF", text, references)
        schema.canonical()
        schema.normalized()
        schema.formatted("serialized")
        assert not schema.unreadable(schema)
        said = "read"
    except InvalidSchema as error:
        said = str(error)
        assert "\n" not in said and len(said) < 500
    finally:
        taken = time.thread_time() - begun
        gc.enable()
    assert taken < SLOWEST_S * max(1, len(text) / 30_000), said
    return said


DEEP = 100_000
HOSTILE: dict[str, Callable[[], str]] = {
    "messages in messages": lambda: "message A {" * DEEP,
    "groups in groups": lambda: "message A {" + "optional group G = 1 {" * DEEP,
    "options in options": lambda: "option (a) = " + "{ a: " * DEEP,
    "lists in lists": lambda: "option (a) = " + "[" * DEEP,
    "a long name": lambda: f"message {'A' * DEEP} {{}}",
    "a long package": lambda: f"package {'a.' * DEEP}a;",
    "a long option": lambda: f"option (a){'.a' * DEEP} = 1;",
    "a comment without end": lambda: "/*" * DEEP,
    "many stars": lambda: "/*" + "*" * DEEP,
    "a string without end": lambda: '"' + "\\a" * DEEP,
    "many strings": lambda: 'import "a" ' + '"a" ' * DEEP + ";",
    "a long number": lambda: f"message A {{ int32 a = {'9' * DEEP}; }}",
    "a long fraction": lambda: f"message A {{ optional double a = 1 [default = 1{'0' * DEEP}.{'9' * DEEP}]; }}",
    "a long exponent": lambda: f"message A {{ optional double a = 1 [default = 1e{'9' * DEEP}]; }}",
    "white space": lambda: " \n" * DEEP + "message A {}",
    "semicolons": lambda: ";" * DEEP,
    "one key many times": lambda: "option (a) = {" + "b: 1 " * DEEP + "};",
    "the end of the text": lambda: "message A { int32 a",
    "a zero byte": lambda: "message A { \0 }",
    "half a surrogate": lambda: 'option (a) = "\ud800";',
    "other scripts": lambda: "message Ä {}",
    "digits of other scripts": lambda: "message A { int32 a = ١; }",
    "too long": lambda: " " * (SCHEMA_MAX_BYTES + 1),
    "a deep type": lambda: "message A { optional " + "A." * DEEP + "A a = 1; }",
    "a type that is itself": lambda: "message A { optional A a = 1; repeated A b = 2; map<string, A> c = 3; }",
    "an extension of an extension": lambda: (
        'import "google/protobuf/descriptor.proto"; '
        "extend google.protobuf.FieldOptions { optional int32 x = 50000 [(x) = 1]; }"
    ),
    "an option of the wrong type": lambda: "option java_package = 5; option (confluent.file_meta) = 3; message A {}",
    "an option that is none": lambda: "option no_such_option = 5; message A { optional int32 a = 1 [packed = 7]; }",
    "a default of the wrong type": lambda: (
        'message A { optional int32 a = 1 [default = "x"]; optional bytes b = 2 [default = {}]; }'
    ),
    "a map entry without fields": lambda: "message A { repeated E e = 1; message E { option map_entry = true; } }",
    "base64 of nothing": lambda: "AAAA",
    "base64 of zeros": lambda: "A" * DEEP,
    "many fields in many scopes": lambda: (
        "package " + ".".join("abcdefgh" for _ in range(20)) + ";"
        + "".join(f"message M{n} {{" for n in range(40))
        + "".join(f"optional M0 a{n}={n};" for n in range(1, 2_000)) + "}" * 40
    ),
    "ranges": lambda: "message A { reserved " + ", ".join(str(n) for n in range(1, 8_000)) + "; }",
    "a oneof of many": lambda: "message A { oneof o {" + "".join(f"int32 a{n}={n};" for n in range(1, 3_000)) + "} }",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_gets_an_answer(name: str) -> None:
    answer(HOSTILE[name]())


def test_as_much_as_is_allowed_takes_seconds_at_most() -> None:
    body = "".join(f"int32 a{number}={number};" for number in range(1, 55_000) if not 19_000 <= number < 20_000)
    begun = time.process_time()
    assert parse("PROTOBUF", f'syntax="proto3";message A{{{body}}}').canonical().count(";") > 50_000
    assert time.process_time() - begun < 5
    with pytest.raises(InvalidSchema, match="more than 200,000 types, fields and options"):
        parse("PROTOBUF", "enum E{" + "".join(f"A{number}={number};" for number in range(70_000)) + "}", [
            ReferencedSchema("b", "enum F{" + "".join(f"A{number}={number};" for number in range(70_000)) + "}"),
            ReferencedSchema("c", "enum G{" + "".join(f"A{number}={number};" for number in range(70_000)) + "}"),
        ])  # fmt: skip


def test_references_in_a_circle_and_unknown_ones_are_no_trouble() -> None:
    circle = [
        ReferencedSchema("a", 'import "b"; message B { optional C c = 1; }'),
        ReferencedSchema("b", 'import "a"; message C { optional B b = 1; }'),
    ]
    assert answer('import "a"; message A { optional B b = 1; }', *circle) == "read"
    assert (
        answer("message A { optional B b = 1; }", ReferencedSchema("a", "message B { optional Gone c = 1; }")) == "read"
    )


def seeds() -> list[str]:
    """Real files, short enough to be mutated often, and generated ones."""
    files = [path.read_text() for folder in (INCLUDED, INSTALLED) for path in sorted(folder.glob("google/**/*.proto"))]
    return [text for text in files if len(text) < 6_000] + [draw(Random(seed)).text(Random(seed)) for seed in range(30)]


def mutated(random: Random, text: str) -> str:
    for _ in range(random.randint(1, 4)):
        start, end = sorted((random.randrange(len(text) + 1), random.randrange(len(text) + 1)))
        end = min(end, start + 40)
        piece = random.choice(
            [
                "",
                text[start:end] * 2,
                "{",
                "}",
                ";",
                '"',
                "/*",
                "0x",
                "-",
                "\x00",
                "é",
                "message ",
                "= 1",
                "[",
                "(",
                ".",
            ]
        )
        text = text[:start] + piece + text[end:]
    return text


def test_mutated_texts_get_an_answer() -> None:
    random, texts = Random(16), seeds()
    read = 0
    for _ in range(MUTATED):
        read += answer(mutated(random, random.choice(texts))) == "read"
    assert read > MUTATED / 100  # some mutations leave a schema


def test_mutated_descriptors_get_an_answer() -> None:
    random = Random(17)
    sources = [parse("PROTOBUF", draw(Random(seed)).text(Random(seed))).formatted("serialized") for seed in range(20)]
    read = 0
    for _ in range(800):
        data = bytearray(base64.b64decode(random.choice(sources)))
        for _ in range(random.randint(1, 3)):
            data[random.randrange(len(data))] = random.randrange(256)
        read += answer(base64.b64encode(data).decode()) == "read"
    assert read > 8
