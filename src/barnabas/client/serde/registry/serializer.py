"""What the formats share, and the way of every record: find what was made for its schema, call it, put the id before.

Writing: for each topic, part (key or value) and type of value the schema is registered or looked up once. Reading: for
each id a function is made once. A schema that could not be had is asked for again after a second, not for every record.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from barnabas.client.errors import BadSetting, BarnabasError, RegistryError
from barnabas.client.serde.registry import framing
from barnabas.client.serde.registry.cache import Cache
from barnabas.client.serde.registry.schema import Registered, Schema, SchemaType
from barnabas.client.serde.registry.subjects import SubjectStrategy, subject_namer
from barnabas.client.serde.serializers import Encoded, Part, RecordHeaders, Value

if TYPE_CHECKING:
    from barnabas.client.serde.registry.registry import Registry

ASK_AGAIN_S = 1.0
NO_SCHEMA = 40403

Write = Callable[[Value], bytes]
Read = Callable[[bytes, int], Value]  # the data and where they begin
Publish = Callable[[str, Schema], Registered]  # registers, or only looks up


class Format(Protocol):
    """One of Avro, JSON Schema and Protobuf, with the schema that a program gave, or none."""

    @property
    def schema_type(self) -> SchemaType | None:
        """None takes all."""

    def kind_of(self, value: Value) -> object:
        """What of the value decides its schema: its type; None where the schema is given."""

    def name_of(self, value: Value, schema: Schema | None) -> str:
        """The record's name, for subjects that are named after it."""

    def schema_of(self, value: Value, publish: Publish) -> Schema | None:
        """What the value is written with; None where neither the program nor the value says it."""

    def writer(self, found: Registered, value: Value, registry: Registry) -> Write:
        """Makes bytes of values of this kind."""

    def message_of(self, found: Registered, value: Value) -> bytes:
        """What stands behind the id: Protobuf's message indexes."""

    def reader(self, key: framing.SchemaKey, registry: Registry) -> Read:
        """Reads what was written with the schema of this id."""


@dataclass(frozen=True, slots=True)
class Writing:
    """How schemas of what is written come into the registry."""

    auto_register: bool = True
    use_latest_version: bool = False  # write with the subject's newest schema, whatever the value's own would be
    normalize: bool = False
    subject: SubjectStrategy = "topic"
    ids_in_headers: bool = False


@dataclass(frozen=True, slots=True)
class _Writer:
    prefix: bytes
    write: Write
    header: tuple[str, bytes] | None


class SchemaSerializer:
    """Made by Registry.avro, .json_schema and .protobuf; serves producers and consumers, for keys and for values."""

    def __init__(self, registry: Registry, form: Format, options: Writing) -> None:
        self.registry = registry
        self._form = form
        self._options = options
        self._kind_of = form.kind_of
        self._subject = subject_namer(options.subject)
        self._writers: Cache[tuple[str, Part, object], _Writer] = Cache()
        self._readers: Cache[framing.SchemaKey, Read] = Cache()
        self._failures: Cache[framing.SchemaKey, tuple[float, BarnabasError]] = Cache()
        self._known_reader = self._readers.get

    # --- writing -----------------------------------------------------------------------------------------------------

    def encode(self, value: Value, topic: str, part: Part) -> Encoded:
        kind = self._kind_of(value)
        made = self._writers.get((topic, part, kind))
        if made is None:
            made = self._writers.put((topic, part, kind), self._make_writer(value, topic, part))
        return made.prefix + made.write(value), made.header

    def is_ready(self, value: Value, topic: str, part: Part) -> bool:
        return self._writers.get((topic, part, self._kind_of(value))) is not None

    def _make_writer(self, value: Value, topic: str, part: Part) -> _Writer:
        found = self._registered(value, topic, part)
        write = self._form.writer(found, value, self.registry)
        if not self._options.ids_in_headers:
            return _Writer(framing.prefix(found.id) + self._form.message_of(found, value), write, None)
        if not found.guid:
            raise BadSetting(
                f"the registry {self.registry} gives schemas no GUIDs: ids cannot be in headers (ids_in_headers)"
            )
        told = framing.guid_header(found.guid) + self._form.message_of(found, value)
        return _Writer(b"", write, (framing.HEADER_NAMES[part], told))

    def _registered(self, value: Value, topic: str, part: Part) -> Registered:
        options, form = self._options, self._form
        if options.use_latest_version:
            subject = self._subject(topic, part, form.name_of(value, None) if options.subject != "topic" else "")
            found = self.registry.version(subject)
            if form.schema_type is not None and found.schema.type != form.schema_type:
                raise BadSetting(f"the newest schema of {subject!r} is {found.schema.type}, not {form.schema_type}")
            return found
        schema = form.schema_of(value, self._publish)
        if schema is None:
            raise BadSetting(
                f"a {part} of type {type(value).__name__} has no schema of its own: give one (schema=...), or"
                " use_latest_version=True"
            )
        return self._publish(self._subject(topic, part, form.name_of(value, schema)), schema)

    def _publish(self, subject: str, schema: Schema) -> Registered:
        normalize = self._options.normalize
        if not self._options.auto_register:
            return self.registry.lookup(subject, schema, normalize=normalize)
        found = self.registry.register(subject, schema, normalize=normalize)
        if found.version and (found.guid or not self._options.ids_in_headers):
            return found
        return self.registry.lookup(subject, schema, normalize=normalize)  # older registries answer with the id only

    # --- reading -----------------------------------------------------------------------------------------------------

    def decode(self, data: bytes, topic: str, part: Part, headers: RecordHeaders | None) -> Value:
        framed = framing.read(data, headers, part)
        read = self._known_reader(framed.key)
        if read is None:
            read = self._make_reader(framed.key)
        return read(framed.data, framed.start)

    def prepare(self, data: bytes, topic: str, part: Part, headers: RecordHeaders | None) -> None:
        """Asks for what `decode` will need. What goes wrong is told by `decode`."""
        try:
            key = framing.read(data, headers, part).key
            if self._known_reader(key) is None:
                self._make_reader(key)
        except (BarnabasError, ValueError):
            return

    def _make_reader(self, key: framing.SchemaKey) -> Read:
        failed = self._failures.get(key)
        if failed is not None and time.monotonic() < failed[0]:
            raise failed[1].with_traceback(None)
        try:
            return self._readers.put(key, self._form.reader(key, self.registry))
        except BarnabasError as error:
            if isinstance(error, RegistryError) and error.error_code == NO_SCHEMA:
                error = RegistryError(
                    f"the registry {self.registry} has no schema {key}: was it written with another registry?",
                    error.status,
                    error.error_code,
                )
            self._failures.put(key, (time.monotonic() + ASK_AGAIN_S, error))
            raise error from None
