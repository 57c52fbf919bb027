"""Metrics that clients push: what is read of them, and that no bytes can do harm."""

from __future__ import annotations

import random
import time

import pytest

from barnabas.model.limits import TELEMETRY_FIELDS_MAX, TELEMETRY_LABELS_MAX, TELEMETRY_NAME_MAX_CHARS
from barnabas.wire.errors import ProtocolError
from barnabas.wire.otlp import Kind, Metrics, Point, read_metrics
from tests.support.otlp import (
    DELTA,
    GAUGE,
    HISTOGRAM,
    SUM,
    attribute,
    double,
    field,
    metric,
    metrics_data,
    number,
    point,
    varint,
)

NAME = "org.apache.kafka.producer.record.send.total"
WHOLE = metrics_data(
    [
        metric(NAME, SUM, [point(3.5, {"topic": "t", "partition": 7})]),
        metric("a.b", GAUGE, [point(-2), point(1.5, {"x": True, "y": 0.5, "z": -1})]),
        metric("c", SUM, [point(4.0)], DELTA),
        metric("d", SUM, [point(4.0)], monotonic=False),
    ],
    {"group_id": "g", "client_rack": "r"},
)


def read(data: bytes, points_max: int = 100) -> Metrics:
    return read_metrics(data, points_max)


def test_what_is_read() -> None:
    assert read(WHOLE) == Metrics(
        (("group_id", "g"), ("client_rack", "r")),
        [
            Point(NAME, Kind.COUNTER, (("topic", "t"), ("partition", "7")), 3.5),
            Point("a.b", Kind.GAUGE, (), -2.0),
            Point("a.b", Kind.GAUGE, (("x", "true"), ("y", "0.5"), ("z", "-1")), 1.5),
            Point("c", Kind.INCREASE, (), 4.0),
            Point("d", Kind.GAUGE, (), 4.0),
        ],
        0,
    )
    assert read(b"") == Metrics((), [], 0)


def test_what_is_not_kept_is_counted() -> None:
    histogram = metric("h", HISTOGRAM, [point(1.0)])
    falling = metric("f", SUM, [point(1.0), point(2.0)], DELTA, monotonic=False)
    empty = metric("e", GAUGE, [b""])
    assert read(metrics_data([histogram, falling, empty])) == Metrics((), [], 4)
    many = metrics_data([metric("m", GAUGE, [point(n) for n in range(10)])])
    assert (len(read(many, 3).points), read(many, 3).dropped) == (3, 7)


def test_unknown_fields_are_skipped() -> None:
    unknown = number(100, 1) + field(101, "x") + double(102, 1.0) + varint(103 << 3 | 5) + b"1234"
    strange = field(7, field(1, "k") + field(2, field(5, "an array")))  # an attribute whose value is an array
    data = metrics_data([metric("a", GAUGE, [unknown + point(1) + strange]) + unknown]) + unknown
    assert read(data).points == [Point("a", Kind.GAUGE, (), 1.0)]


def test_long_texts_and_many_labels_are_cut() -> None:
    labels = {f"k{n}": "v" * 5_000 for n in range(TELEMETRY_LABELS_MAX + 5)}
    (found,) = read(metrics_data([metric("ä" * 5_000, GAUGE, [point(1, labels)])])).points
    assert found.name == "ä" * TELEMETRY_NAME_MAX_CHARS
    assert len(found.attributes) == TELEMETRY_LABELS_MAX
    assert all(len(value) == 256 for _, value in found.attributes)


@pytest.mark.parametrize(
    "data",
    [
        b"\n",
        b"\n\x05abc",
        b"\x0b",  # a group, which protobuf has given up
        b"\x0f",
        b"\x09\0\0",
        b"\xff" * 11,
        field(1, field(2, field(2, field(1, b"\xff\xfe") + field(GAUGE, field(1, point(1)))))),
        field(1, field(2, field(2, field(GAUGE, field(1, point(1)))))),  # no name
        field(1, field(2, field(2, field(1, "a") + field(GAUGE, field(1, b"\x21\0\0"))))),
        b"\x08\x01" * (TELEMETRY_FIELDS_MAX + 1),
    ],
    ids=["cut", "short", "group", "wire type", "number", "varint", "utf-8", "name", "double", "fields"],
)
def test_what_is_no_message(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        read(data)


def test_a_field_that_goes_on_behind_its_message() -> None:
    inner = varint(1 << 3) + b"\x80"  # the varint's next byte lies behind the message
    with pytest.raises(ProtocolError):
        read(field(1, inner) + b"\x01")


def test_mutated_messages_do_no_harm() -> None:
    rng = random.Random(7)
    refused = 0
    for _ in range(20_000):
        data = bytearray(WHOLE)
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(data))
            match rng.randrange(4):
                case 0:
                    data[at] = rng.randrange(256)
                case 1:
                    del data[at : at + rng.randrange(1, 9)]
                case 2:
                    data[at:at] = rng.randbytes(rng.randrange(1, 9))
                case _:
                    data[at] ^= 1 << rng.randrange(8)
            if not data:
                break
        try:
            found = read(bytes(data), 50)
        except ProtocolError:
            refused += 1
        else:
            assert len(found.points) <= 50
    assert refused > 1_000


def test_the_largest_payload_is_read_in_bounded_time() -> None:
    """Nested messages of two bytes each, the most fields that a megabyte can have: it ends at the limit of fields."""
    data = field(1, field(2, field(2, b"\x08\x01" * (1 << 19))))
    began = time.process_time()
    with pytest.raises(ProtocolError, match="fields"):
        read(data)
    assert time.process_time() - began < 2


def test_attribute_writes_as_the_reader_reads() -> None:
    data = metrics_data([metric("a", GAUGE, [point(1) + field(7, attribute("k", -5))])])
    assert read(data).points[0].attributes == (("k", "-5"),)
