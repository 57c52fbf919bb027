"""Texts and compatibility as Apache Avro for Java gives them, which is what Confluent's registry is made of: the jar is
the one that Spark brings."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from barnabas.registry.schemas.avro import parse
from barnabas.registry.schemas.parsed import InvalidSchema, ReferencedSchema
from tests.unit.registry.schemas.avro.generated import Generator
from tests.unit.registry.schemas.avro.test_resolution import CASES
from tests.unit.registry.schemas.avro.test_texts import BAD_DEFAULTS, CANONICAL, INVALID
from tests.unit.registry.schemas.avro.texts import field, record

JARS = Path(pyspark.__file__).parent / "jars"
PROGRAM = Path(__file__).parent / "AvroAnswers.java"


class Avro:
    def __init__(self) -> None:
        command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{JARS}/*", str(PROGRAM)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
        )

    def ask(self, **question: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def end(self) -> None:
        self._process.communicate(timeout=30)


@pytest.fixture(scope="module")
def java() -> Iterator[Avro]:
    started = Avro()
    try:
        yield started
    finally:
        started.end()


def test_canonical_texts(java: Avro) -> None:
    for text, expected in CANONICAL:
        assert java.ask(reader=text)["readerCanonical"] == expected


def test_generated_texts(java: Avro) -> None:
    for seed in range(300):
        text = json.dumps(Generator(random.Random(seed)).schema(), indent=1)
        assert java.ask(reader=text)["readerCanonical"] == parse(text).canonical()


def test_numbers(java: Avro) -> None:
    """Java 17 prints some doubles with a digit more than they need (JDK-4511638); the next versions do not."""
    rng = random.Random(1)
    differ = 0
    for number in [
        1e21,
        1.5e-7,
        100.0,
        1e7,
        0.001,
        *(rng.uniform(-1, 1) * 10.0 ** rng.randint(-30, 30) for _ in range(300)),
    ]:
        text = json.dumps(record("R", field("f", "double", default=number)))
        differ += java.ask(reader=text)["readerCanonical"] != parse(text).canonical()
    assert differ <= 15


def test_what_is_refused(java: Avro) -> None:
    defaults = [json.dumps(record("R", field("f", type_, default=default))) for type_, default in BAD_DEFAULTS]
    for text in [*(each[0] for each in INVALID), *defaults]:
        assert "error" in java.ask(reader=text), text


def test_later_definitions_are_not_looked_for(java: Avro) -> None:
    """Avro 1.12 for Java finds a type that is defined behind its use; the specification and other parsers do not."""
    text = json.dumps(record("M", field("b", "Later"), field("c", record("Later"))))
    assert "error" not in java.ask(reader=text)
    with pytest.raises(InvalidSchema, match="define it before it is used"):
        parse(text)


def test_references(java: Avro) -> None:
    inner, outer = record("B", field("x", "int")), record("A", field("b", "B"), field("n", record("Nested")))
    main = json.dumps(record("M", field("a", "A"), field("n", "Nested"), namespace="other"))
    references = [json.dumps(inner), json.dumps(outer)]
    answer = java.ask(reader=main, references=references)
    schema = parse(main, [ReferencedSchema(str(index), each) for index, each in enumerate(references)])
    assert answer["readerCanonical"] == schema.canonical()
    assert answer["readerResolved"] == schema.formatted("resolved")


def kinds_and_paths(reader: str, writer: str) -> list[list[str]]:
    return [[each.kind, each.path] for each in parse(reader).unreadable(parse(writer))]


def test_incompatibilities(java: Avro) -> None:
    for name, reader, writer, _ in CASES:
        texts = json.dumps(reader), json.dumps(writer)
        answer = java.ask(reader=texts[0], writer=texts[1])
        if name == "two fields match":
            assert "matches multiple fields" in answer["error"]  # Confluent's registry reports that, too
        else:
            assert [each[:2] for each in answer["incompatibilities"]] == kinds_and_paths(*texts), name


def test_generated_incompatibilities(java: Avro) -> None:
    refused = 0
    for seed in range(1000):
        generator = Generator(random.Random(seed))
        schema = generator.schema()
        writer, reader = json.dumps(schema), json.dumps(generator.changed(schema))
        answer = java.ask(reader=reader, writer=writer)
        found = kinds_and_paths(reader, writer)
        assert [each[:2] for each in answer["incompatibilities"]] == found, (reader, writer)
        refused += bool(found)
    assert refused > 200
