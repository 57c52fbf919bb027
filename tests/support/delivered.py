"""Records of a topic as a sink gets them, without a topic."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.connect.contract import Delivered, Value

START_MS = 1_794_963_600_000  # 2026-11-18T01:00:00Z


def delivered(
    offset: int,
    value: Value = None,
    key: Value = None,
    *,
    topic: str = "orders",
    partition: int = 0,
    timestamp_ms: int | None = None,
    headers: Sequence[tuple[str, bytes | None]] = (),
) -> Delivered:
    at = START_MS + offset if timestamp_ms is None else timestamp_ms
    return Delivered(topic, partition, offset, at, key, value, headers)


def numbered(first: int, end: int, *, topic: str = "orders", partition: int = 0, step_ms: int = 1) -> list[Delivered]:
    """Offsets from `first` up to `end`, always the same ones; one every `step_ms` of event time."""
    return [
        delivered(
            offset,
            {"number": offset, "name": f"customer {offset % 97}", "text": "x" * (offset % 50)},
            f"key-{offset}",
            topic=topic,
            partition=partition,
            timestamp_ms=START_MS + offset * step_ms,
        )
        for offset in range(first, end)
    ]
