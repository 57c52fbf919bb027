"""What is called readable fastavro reads, on data with every branch of a union and every symbol of an enum; what is
refused it fails to read. Beside that, Avro's own checker in Python on the same pairs."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import avro.schema
import fastavro
import pytest
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.registry.schemas.avro.generated import Data, Generator
from tests.unit.registry.schemas.avro.texts import field, parsed, record

# Rules that Confluent's registry refuses by though data of the pair may all be readable: none was met with data that
# has every branch and symbol. What fastavro cannot write (a named branch within a map within a union) is left out.
UNSHOWN_MAX = 0.01


def pair(rng: random.Random) -> tuple[Any, Any]:
    generator = Generator(rng)
    writer = generator.schema()
    return writer, generator.changed(writer)


def unread(writer: Any, reader: Any) -> tuple[str | None, int]:
    """What fastavro says of the first value that it cannot read, and how many it could not write."""
    written_by, read_by = fastavro.parse_schema(writer), fastavro.parse_schema(reader)
    unwritten = 0
    for value in Data(writer).values():
        buffer = io.BytesIO()
        try:
            fastavro.schemaless_writer(buffer, written_by, value)
        except ValueError:
            unwritten += 1
            continue
        buffer.seek(0)
        try:
            fastavro.schemaless_reader(buffer, written_by, read_by)
        except (fastavro.read.SchemaResolutionError, ValueError, TypeError, KeyError) as error:
            return f"{value} is not read: {error!r}", unwritten
    return None, unwritten


@settings(max_examples=150)
@given(st.randoms(use_true_random=False))
def test_what_is_called_readable_is_read(rng: random.Random) -> None:
    writer, reader = pair(rng)
    if not parsed(reader).unreadable(parsed(writer)):
        assert unread(writer, reader)[0] is None


def test_both_ways_on_a_thousand_pairs() -> None:
    readable = refused = unshown = 0
    for seed in range(1000):
        writer, reader = pair(random.Random(seed))
        found = parsed(reader).unreadable(parsed(writer))
        problem, unwritten = unread(writer, reader)
        if not found:
            readable += 1
            assert problem is None, (writer, reader)
        else:
            refused += 1
            unshown += problem is None
            assert problem is not None or unwritten, (writer, reader, found)
    assert readable > 100
    assert refused > 100
    assert unshown <= UNSHOWN_MAX * refused


def test_a_schema_reads_itself() -> None:
    for seed in range(500):
        schema = parsed(Generator(random.Random(seed)).schema())
        assert not schema.unreadable(schema)
        assert parsed(json.loads(schema.canonical())).canonical() == schema.canonical()


def by_avro(reader: Any, writer: Any) -> bool:
    one, other = (avro.schema.parse(json.dumps(each)) for each in (reader, writer))
    result = ReaderWriterCompatibilityChecker().get_compatibility(one, other)  # type: ignore[no-untyped-call]
    return result.compatibility is SchemaCompatibilityType.compatible


def test_avros_own_checker_says_the_same() -> None:
    said = {True: 0, False: 0}
    for seed in range(2500):
        writer, reader = pair(random.Random(seed))
        mine = not parsed(reader).unreadable(parsed(writer))
        said[mine] += 1
        assert mine == by_avro(reader, writer), (writer, reader)
    assert min(said.values()) > 200


@pytest.mark.parametrize(
    ("reader", "writer", "readable"),
    [
        # An alias without a namespace, by the specification 1.12; the checkers look for a type called ".B".
        (record("A", namespace="x", aliases=[".B"]), record("B"), True),
        # Which of two fields is meant? The checkers raise an exception.
        (record("A", field("b", "int", aliases=["a"])), record("A", field("a", "int"), field("b", "int")), False),
    ],
)
def test_where_the_checkers_of_avro_differ(reader: Any, writer: Any, readable: bool) -> None:
    assert bool(parsed(reader).unreadable(parsed(writer))) != readable
