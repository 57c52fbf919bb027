"""The largest and most repetitive requests the decoders accept, made from the schemas.

For every array of an API's request: as many of the smallest elements as the frame takes, once the same element again
and again, naming what exists, and once different ones that do not. Everything around the array is as in a good request.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from barnabas.wire import codec, schema
from barnabas.wire.apis import API_VERSIONS, PRODUCE, SERVED, Api

TOPIC, PARTITIONS, GROUP = "amplified", 3, "amplified-group"


@dataclass(frozen=True)
class Case:
    api: Api
    version: int
    path: tuple[str, ...]  # the array that is filled
    distinct: bool
    frame: bytes
    elements: int

    @property
    def name(self) -> str:
        kind = "distinct" if self.distinct else "repeated"
        return f"{self.api.name} v{self.version} {'.'.join(self.path)} {kind} x{self.elements}"


class Values:
    """Values of fields by their names: those of a good request, or made-up ones that are all different."""

    def __init__(self, topic_id: bytes) -> None:
        self.topic_id = topic_id
        self.number = 0

    def plain(self, field: schema.Field, distinct: bool) -> Any:
        name = field.name
        if distinct:
            self.number += 1
        if field.type == "string":
            known = {"group_id": GROUP, "config": "", "rack_id": "", "value": "1", "protocol_type": "consumer"}
            if name == "resource_name" or "topic" in name or name == "name":
                return f"t{self.number}" if distinct else TOPIC
            return f"g{self.number}" if distinct else known.get(name, GROUP)
        if field.type == "uuid":
            return self.number.to_bytes(16, "big") if distinct else self.topic_id
        if field.type in ("bytes", "records"):
            return b""
        if field.type == "bool":
            return False
        if field.type == "float64":
            return 0.0
        if distinct and ("partition" in name or name.endswith("_id")) and field.type in ("int32", "int64"):
            return self.number % 30_000
        return {
            "session_epoch": -1, "replica_id": -1, "max_wait_ms": 0, "max_bytes": 1 << 20, "timeout_ms": 100,
            "partition_max_bytes": 1 << 20, "timestamp": -1, "resource_type": 2, "current_leader_epoch": -1,
            "last_fetched_epoch": -1, "generation_id": -1, "member_epoch": 0, "num_partitions": 1,
            "replication_factor": 1, "rebalance_timeout_ms": 100, "session_timeout_ms": 6000, "acks": 1,
            "response_partition_limit": 2000,
        }.get(name, 0)  # fmt: skip

    def struct(self, fields: tuple[schema.Field, ...], path: tuple[str, ...], items: list[Any], depth: int = 0) -> Any:
        """A body with `items` as the array at `path`, one element in every other array."""
        body: dict[str, Any] = {}
        for field in fields:
            on_path = depth < len(path) and field.name == path[depth]
            if field.tag is not None and not on_path:
                continue
            if on_path and depth == len(path) - 1:
                body[field.name] = items
            elif field.array:
                body[field.name] = [self.element(field, path if on_path else (), items, depth + 1, False)]
            elif field.type == "struct":
                body[field.name] = self.struct(field.fields, path if on_path else (), items, depth + 1)
            else:
                body[field.name] = self.plain(field, False)
        return body

    def element(self, field: schema.Field, path: tuple[str, ...], items: list[Any], depth: int, distinct: bool) -> Any:
        if field.type != "struct":
            return self.plain(field, distinct)
        if path:
            return self.struct(field.fields, path, items, depth)
        body: dict[str, Any] = {}
        for inner in field.fields:
            if inner.tag is not None:
                continue
            if inner.array:
                body[inner.name] = None if inner.nullable else []
                if not distinct and not inner.nullable:
                    body[inner.name] = [self.element(inner, (), [], 0, False)]
            elif inner.type == "struct":
                body[inner.name] = self.element(inner, (), [], 0, distinct)
            else:
                body[inner.name] = self.plain(inner, distinct)
        return body


def arrays(
    fields: tuple[schema.Field, ...], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], schema.Field]]:
    for field in fields:
        path = (*above, field.name)
        if field.array:
            yield path, field
        if field.type == "struct":
            yield from arrays(field.fields, path)


def cases(api: Api, size: int, elements_max: int, topic_id: bytes) -> Iterator[Case]:
    version = api.max_version
    shape = schema.load(api.name).shape("request", version)
    for path, field in arrays(shape.fields):
        for distinct in (False, True):
            values = Values(topic_id)
            one = codec.encode_request(api.key, version, values.struct(shape.fields, path, []))
            sample = [values.element(field, (), [], 0, distinct) for _ in range(200)]
            each = (
                len(codec.encode_request(api.key, version, values.struct(shape.fields, path, sample))) - len(one)
            ) / 200
            inner = 1 + sum(1 for f in field.fields if f.array and not distinct and not f.nullable)
            count = min(int(size / max(each, 1)), (elements_max - 16) // inner)
            items = (
                [values.element(field, (), [], 0, True) for _ in range(count)]
                if distinct
                else [values.element(field, (), [], 0, False)] * count
            )
            body = codec.encode_request(api.key, version, values.struct(shape.fields, path, items))
            yield Case(api, version, path, distinct, frame_of(api, version, body), count)


def frame_of(api: Api, version: int, body: bytes) -> bytes:
    header = (
        struct.pack(">hhih", api.key, version, 1, 9) + b"amplifier" + (b"\0" if version >= api.first_flexible else b"")
    )
    return struct.pack(">i", len(header) + len(body)) + header + body


def served_with_arrays() -> list[Api]:
    """Every API that can be asked for many things at once. The records of Produce are other tests' matter."""
    return [
        api
        for api in SERVED.values()
        if api.key != API_VERSIONS
        and any(True for _ in arrays(schema.load(api.name).shape("request", api.max_version).fields))
    ]


__all__ = ["PRODUCE", "Case", "cases", "served_with_arrays"]
