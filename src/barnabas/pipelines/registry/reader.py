"""The schema that a read is made with: a version of a subject, fetched where the query is made.

It travels to the executors as text: Avro's with what it refers to put in its place, Protobuf's as a descriptor set, and
of a JSON Schema the columns that follow from it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from barnabas.client.errors import BarnabasError
from barnabas.client.serde.registry.avro.parsing import parse
from barnabas.client.serde.registry.protobuf.files import messages_of
from barnabas.client.serde.registry.registry import Registry
from barnabas.client.serde.registry.schema import Registered
from barnabas.client.serde.serializers import Value
from barnabas.model.json_values import Json
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.registry.client import registry_client
from barnabas.pipelines.registry.options import FORMATS, RegistryOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def version(options: RegistryOptions, subject: str, wanted: int | str, form: str) -> Registered:
    """A version of the subject, which has to be of this format."""
    try:
        found = registry_client(options).version(subject, wanted)
    except BarnabasError as error:
        raise PipelineError(f"registry: {error}") from None
    if found.schema.type != FORMATS[form]:
        raise PipelineError(f"valueFormat is {form}, and the schema of {subject!r} is {found.schema.type}")
    return found


def travelling(options: RegistryOptions, found: Registered, form: str, message: str | None) -> tuple[str | bytes, str]:
    """The schema as ValueOptions has it, and of Protobuf the full name of the message."""
    registry = registry_client(options)
    try:
        if form == "avro":
            return avro_text(registry, found), ""
        if form == "protobuf":
            described = message_descriptor(registry, found, message)
            return descriptor_set(described.file), str(described.full_name)
        return json_columns(registry, found).json(), ""
    except BarnabasError as error:
        raise PipelineError(f"registry: {error}") from None


def avro_text(registry: Registry, found: Registered) -> str:
    if not found.schema.references:
        return found.schema.text
    return json.dumps(_plain(parse(found.schema, registry)))


def _plain(parsed: Json) -> Json:
    """Without what fastavro notes in a schema that it has parsed."""
    if isinstance(parsed, dict):
        return {name: _plain(each) for name, each in parsed.items() if not name.startswith("__")}
    return [_plain(each) for each in parsed] if isinstance(parsed, list) else parsed


def message_descriptor(registry: Registry, found: Registered, message: str | None) -> Value:
    """The message of that name, or the first of the file."""
    first = messages_of(found.id, registry)((0,)).DESCRIPTOR
    if message is None:
        return first
    known: dict[str, Value] = {}
    waiting = list(first.file.message_types_by_name.values())
    while waiting:
        each = waiting.pop()
        known[each.full_name] = each
        waiting += each.nested_types
    if message not in known:
        names = ", ".join(sorted(known))[:200]
        raise PipelineError(f"valueMessage {message} is not in the schema of {found.subject!r}: it has {names}")
    return known[message]


def descriptor_set(file: Value) -> bytes:
    """The file and all that it imports, each behind what it imports itself."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

    files: dict[str, FileDescriptorProto] = {}

    def add(each: Value) -> None:
        if each.name not in files:
            for imported in each.dependencies:
                add(imported)
            files[each.name] = FileDescriptorProto.FromString(each.serialized_pb)

    add(file)
    return FileDescriptorSet(file=files.values()).SerializeToString()


def json_columns(registry: Registry, found: Registered) -> StructType:
    from barnabas.pipelines.source.values.json_schema import columns_of

    references = {name: _json(each.text) for name, each in registry.references(found.schema)}
    return columns_of(_json(found.schema.text), references)


def _json(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise PipelineError("the registry's JSON Schema is not JSON") from None
