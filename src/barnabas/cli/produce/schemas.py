"""`produce --registry`: JSON in, records with a registry's schema out.

A schema of a file is registered under TOPIC-value (or TOPIC-key, or the subject that was named); without one the
newest version of that subject is used. A key without a schema of its own is sent as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.registry import connected
from barnabas.cli.produce.lines import Input, parse_json, split_key
from barnabas.client.errors import BarnabasError, CannotReach, RegistryError
from barnabas.client.serde.serializers import Part

if TYPE_CHECKING:
    from barnabas.client.serde.registry.registry import Registry
    from barnabas.client.serde.registry.serializer import SchemaSerializer

NO_SUBJECT = 40401  # as the registry says it
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class SchemaOptions:
    """What the command line says of schemas."""

    registry: str | None = None
    value_schema: Path | None = None
    value_subject: str | None = None
    key_schema: Path | None = None
    key_subject: str | None = None

    def check(self) -> None:
        others = (self.value_schema, self.value_subject, self.key_schema, self.key_subject)
        if self.registry is None and any(each is not None for each in others):
            raise usage("schemas are kept in a registry", "Say which: --registry http://127.0.0.1:8081")


class Encoding:
    """Lines become records: their JSON is written with the schemas."""

    def __init__(self, topic: str, value: SchemaSerializer, key: SchemaSerializer | None) -> None:
        self._topic = topic
        self._value = value
        self._key = key

    def input(self, line: bytes, number: int, as_json: bool, separator: bytes) -> Input:
        if as_json:
            found = parse_json(line, number, json_values=True)
        else:
            found = split_key(line, separator, number) if separator else Input(line)
        value = self._encoded(found.value, "value", self._value, number)
        if self._key is None:
            key = _as_text(found.key) if as_json else found.key
            return found._replace(value=value, key=key)
        return found._replace(value=value, key=self._encoded(found.key, "key", self._key, number))

    def _encoded(self, text: bytes | None, part: Part, way: SchemaSerializer, number: int) -> bytes | None:
        if text is None:
            return None
        try:
            value = _decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Failure(
                f"line {number:,}: the {part} is not JSON: {error}", "With --registry it has to be."
            ) from None
        if value is None:
            return None
        try:
            return way.encode(value, self._topic, part)[0]
        except CannotReach:
            raise
        except BarnabasError as error:
            new = isinstance(error, RegistryError) and error.error_code == NO_SUBJECT
            raise Failure(str(error), f"Name its schema: --{part}-schema FILE" if new else "") from None
        except Exception as error:  # fastavro, protobuf and jsonschema-rs raise many kinds for values that do not fit
            reason = " ".join(str(error).split())
            raise Failure(f"line {number:,}: the {part} does not fit the schema: {reason}") from None


@contextmanager
def encoding(topic: str, options: SchemaOptions) -> Iterator[Encoding | None]:
    """None without a registry."""
    options.check()
    if options.registry is None:
        yield None
        return
    with connected(options.registry) as registry:
        value = _serializer(registry, options.value_schema, options.value_subject)
        wants_key = options.key_schema is not None or options.key_subject is not None
        yield Encoding(
            topic, value, _serializer(registry, options.key_schema, options.key_subject) if wants_key else None
        )


def _serializer(registry: Registry, file: Path | None, subject: str | None) -> SchemaSerializer:
    from barnabas.client.serde.registry.plain import plain_writer, schema_of_file

    return plain_writer(registry, None if file is None else schema_of_file(file), subject)


def _as_text(key: bytes | None) -> bytes | None:
    """A JSON text as the characters it says, as `produce --json` sends it without a schema."""
    if key is None or not key.startswith(b'"'):
        return key
    text: str = _decode(key)
    return text.encode()
