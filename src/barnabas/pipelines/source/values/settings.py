"""The options `value*`: what format, what schema, what to do with a record that does not fit.

The schema is read where the query is made, and its text travels with the options, so that executors need no file. It is
for JSON the DDL of the columns; for Avro the schema's JSON, or a path to it; for Protobuf the path of a descriptor set
(`protoc --include_imports --descriptor_set_out=FILE`), with the message's full name in `valueMessage`. With a schema
registry (`registry`) the schema is a version of a subject there, the latest at the start of the query (../../registry).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.registry.options import (
    LATEST,
    RegistryOptions,
    parse_registry,
    subject_of,
    version_of,
)
from barnabas.pipelines.source.values.texts import ISO, TIMESTAMPS, WITH_MILLISECONDS

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

JSON_SCHEMA = "json-schema"
FORMATS = ("json", "avro", "protobuf", JSON_SCHEMA)
PERMISSIVE, FAILFAST, DROPMALFORMED = MODES = ("PERMISSIVE", "FAILFAST", "DROPMALFORMED")
BAD_COLUMN = "_bad"
_ONLY_WITH_FORMAT = ("valueSchema", "valueMessage", "valueMode", "valueFraming", "valueColumn", "valueTimestamps")


@dataclass(frozen=True)
class ValueOptions:
    format: str
    schema: str | bytes  # empty for JSON when the reader is given a schema
    message: str | None = None
    mode: str = PERMISSIVE
    confluent: bool = False
    column: str | None = None
    milliseconds: bool = False  # JSON: a number may stand for a timestamp
    registry: RegistryOptions | None = None  # who knows the schemas that records were written with


def parse_value_options(options: Mapping[str, str], topic: str | None = None) -> ValueOptions | None:
    """None when values stay bytes. `options` by lower-case name; `topic`: the one that is read, if it is one."""
    form = options.get("valueformat", "").lower()
    if not form:
        for name in (*_ONLY_WITH_FORMAT, "valueSubject", "schemaVersion"):
            if name.lower() in options:
                raise PipelineError(f"{name} needs valueFormat: one of {', '.join(FORMATS)}")
        return None
    if form not in FORMATS:
        raise PipelineError(f"valueFormat is {', '.join(FORMATS)}, not {form!r}")
    mode = options.get("valuemode", PERMISSIVE).upper()
    if mode not in MODES:
        raise PipelineError(f"valueMode is {', '.join(MODES)}, not {mode!r}")
    registry = parse_registry(options)
    if registry is not None:
        return _by_registry(form, mode, options, registry, topic)
    if form == JSON_SCHEMA:
        raise PipelineError("valueFormat json-schema needs registry, the address of a schema registry")
    framing = options.get("valueframing", "none").lower()
    if framing not in ("none", "confluent"):
        raise PipelineError(f"valueFraming is none or confluent, not {framing!r}")
    if form == "json" and framing != "none":
        raise PipelineError("valueFraming is for avro and protobuf")
    timestamps = options.get("valuetimestamps", ISO).lower()
    if timestamps not in TIMESTAMPS:
        raise PipelineError(f"valueTimestamps is {' or '.join(TIMESTAMPS)}, not {timestamps!r}")
    if form != "json" and timestamps != ISO:
        raise PipelineError("valueTimestamps is for json: the schemas of avro and protobuf say what a number means")
    message = options.get("valuemessage")
    if form == "protobuf" and not message:
        raise PipelineError("valueFormat protobuf needs valueMessage, the full name of the message")
    return ValueOptions(
        form,
        _schema(form, options),
        message,
        mode,
        framing == "confluent",
        options.get("valuecolumn") or None,
        timestamps == WITH_MILLISECONDS,
    )


def _by_registry(
    form: str, mode: str, options: Mapping[str, str], registry: RegistryOptions, topic: str | None
) -> ValueOptions:
    if form == "json":
        raise PipelineError("with a registry the schema of JSON is a JSON Schema: valueFormat is json-schema")
    for name in ("valueSchema", "valueFraming", "valueTimestamps"):
        if name.lower() in options:
            raise PipelineError(f"{name} is for values without a registry: the schema comes from there")
    from barnabas.pipelines.registry.reader import travelling, version

    message = options.get("valuemessage")
    found = version(registry, subject_of(options, topic), version_of(options) or LATEST, form)
    schema, name = travelling(registry, found, form, message)
    column = options.get("valuecolumn") or None
    return ValueOptions(form, schema, name or None, mode, True, column, registry=registry)


def _schema(form: str, options: Mapping[str, str]) -> str | bytes:
    text = options.get("valueschema", "").strip()
    if not text and form != "json":
        raise PipelineError(f"valueFormat {form} needs valueSchema")
    if form == "json" or (form == "avro" and text[0] in '{["'):
        return text
    path = Path(text)
    try:
        return path.read_bytes() if form == "protobuf" else path.read_text()
    except OSError as error:
        raise PipelineError(f"valueSchema: cannot read {text}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise PipelineError(f"valueSchema: {text} is not text") from None


def own_type(options: ValueOptions) -> StructType:
    """The StructType that a schema says; for JSON without a registry the columns themselves say it."""
    if options.format == "avro":
        from barnabas.pipelines.source.values.avro import avro_type

        return avro_type(str(options.schema))
    if options.format == JSON_SCHEMA:
        from pyspark.sql.types import StructType

        return StructType.fromJson(json.loads(options.schema))
    from barnabas.pipelines.source.values.protobuf import protobuf_type

    return protobuf_type(options)
