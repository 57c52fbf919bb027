"""Writes OTLP metrics (protobuf) as a client would, field by field: what the reader of ours is tested with."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

GAUGE, SUM, HISTOGRAM = 5, 7, 9
DELTA, CUMULATIVE = 1, 2


def varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, data: bytes | str) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(data)) + data


def number(field_number: int, value: int) -> bytes:
    return varint(field_number << 3) + varint(value)


def double(field_number: int, value: float) -> bytes:
    return varint(field_number << 3 | 1) + struct.pack("<d", value)


def fixed(field_number: int, value: int) -> bytes:
    return varint(field_number << 3 | 1) + struct.pack("<q", value)


def attribute(key: str, value: str | int | float | bool) -> bytes:
    match value:
        case bool():
            told = number(2, value)
        case int():
            told = number(3, value)
        case float():
            told = double(4, value)
        case _:
            told = field(1, value)
    return field(1, key) + field(2, told)


def point(value: float | int, labels: Mapping[str, str | int | float | bool] | None = None) -> bytes:
    told = fixed(6, value) if isinstance(value, int) else double(4, value)
    times = fixed(2, 1_700_000_000_000_000_000) + fixed(3, 1_700_000_001_000_000_000)
    return times + told + b"".join(field(7, attribute(key, each)) for key, each in (labels or {}).items())


def metric(
    name: str, kind: int, points: Iterable[bytes], temporality: int = CUMULATIVE, monotonic: bool = True
) -> bytes:
    data = b"".join(field(1, each) for each in points)
    if kind == SUM:
        data += number(2, temporality) + number(3, monotonic)
    return field(1, name) + field(3, "1") + field(kind, data)


def metrics_data(metrics: Iterable[bytes], resource: Mapping[str, str] | None = None) -> bytes:
    """A whole payload."""
    common = b"".join(field(1, attribute(key, value)) for key, value in (resource or {}).items())
    scope = field(1, field(1, "tests")) + b"".join(field(2, each) for each in metrics)
    return field(1, field(1, common) + field(2, scope))
