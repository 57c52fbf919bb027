"""The schema that rows are written with, decided once, where the query is made; executors need not ask for it.

With `schemaVersion` it is that version of the subject. Without it the latest version, if its columns are those of the
rows; else one that is made from the columns and registered, which the registry refuses where it is not compatible. It
keeps what the latest version says of fields that have not changed: their names and numbers, their defaults.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types

from barnabas.client.errors import BarnabasError, RegistryError
from barnabas.client.serde.registry.framing import prefix
from barnabas.client.serde.registry.registry import Registry
from barnabas.client.serde.registry.schema import Registered, Schema
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.registry.client import registry_client
from barnabas.pipelines.registry.options import FORMATS, RegistryOptions
from barnabas.pipelines.registry.reader import avro_text, message_descriptor, travelling, version
from barnabas.pipelines.sink.values.avro import avro_schema
from barnabas.pipelines.sink.values.json_schema import json_schema
from barnabas.pipelines.sink.values.protobuf import indexes_of, protobuf_schema
from barnabas.pipelines.sink.values.same import same_type
from barnabas.pipelines.sink.values.settings import RECORD_COLUMNS, SinkValue
from barnabas.pipelines.source.values.settings import ValueOptions, own_type

_NO_SUBJECT, _NO_VERSION = 40401, 40402


@dataclass(frozen=True)
class Wanted:
    """What the options say."""

    format: str
    subject: str
    version: int | str | None
    message: str | None  # of Protobuf, its full name; None: the first of the file


def chosen(options: RegistryOptions, wanted: Wanted, rows: types.StructType, column: str | None) -> SinkValue:
    kind = _value_type(rows, column)
    found, is_made = _schema(options, wanted, kind)
    schema, name = travelling(options, found, wanted.format, None if is_made else wanted.message)
    if not is_made:
        _check_columns(_columns(wanted.format, schema, name), kind, wanted.subject)
    indexes = indexes_of(schema, name) if wanted.format == "protobuf" else b""
    checked = (options, found.id) if wanted.format == "json-schema" and not is_made else None
    return SinkValue(wanted.format, schema, prefix(found.id) + indexes, kind.json(), column, name, checked)


def _value_type(rows: types.StructType, column: str | None) -> types.StructType:
    """Of the columns that are not the record's own, or of the one that holds the value's fields."""
    if column is not None:
        held = rows[column].dataType if column in rows.names else None
        if not isinstance(held, types.StructType):
            raise PipelineError(f"valueColumn {column!r} is not a column with a struct of the value's fields")
        return held
    found = types.StructType([each for each in rows.fields if each.name.lower() not in RECORD_COLUMNS])
    if not found.fields:
        raise PipelineError("there is no column beside key, headers, topic and partition: a value needs fields")
    return found


def _schema(options: RegistryOptions, wanted: Wanted, kind: types.StructType) -> tuple[Registered, bool]:
    """The schema, and whether it was made from the columns."""
    if wanted.version is not None:
        return version(options, wanted.subject, wanted.version, wanted.format), False
    registry = registry_client(options)
    try:
        latest = _latest(registry, wanted)
        if latest is not None:
            schema, name = travelling(options, latest, wanted.format, wanted.message)
            if same_type(_columns(wanted.format, schema, name), kind):
                return latest, False
        return registry.register(wanted.subject, _made(wanted, kind, registry, latest)), True
    except BarnabasError as error:
        raise PipelineError(f"registry: {error}") from None


def _latest(registry: Registry, wanted: Wanted) -> Registered | None:
    try:
        found = registry.version(wanted.subject)
    except RegistryError as error:
        if error.error_code in (_NO_SUBJECT, _NO_VERSION):
            return None
        raise
    if found.schema.type != FORMATS[wanted.format]:
        raise PipelineError(
            f"valueFormat is {wanted.format}, and the schema of {wanted.subject!r} is {found.schema.type}"
        )
    return found


def _made(wanted: Wanted, kind: types.StructType, registry: Registry, latest: Registered | None) -> Schema:
    subject = wanted.subject
    if wanted.format == "avro":
        return Schema("AVRO", avro_schema(kind, subject, None if latest is None else avro_text(registry, latest)))
    if wanted.format == "json-schema":
        return Schema("JSON", json_schema(kind, subject, None if latest is None else latest.schema.text))
    old = None if latest is None else message_descriptor(registry, latest, wanted.message)
    return Schema("PROTOBUF", protobuf_schema(kind, subject, old))


def _columns(form: str, schema: str | bytes, message: str) -> types.StructType:
    """The columns that a schema of the registry has."""
    return own_type(ValueOptions(form, schema, message or None))


def _check_columns(has: types.StructType, rows: types.StructType, subject: str) -> None:
    """A column that the schema does not know would be left out without a word."""
    known = set(has.names)
    stranger = next((name for name in rows.names if name not in known), None)
    if stranger is not None:
        raise PipelineError(
            f"column {stranger!r} is not in the schema of {subject!r}, which has {', '.join(has.names)}"
        )
