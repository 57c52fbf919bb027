"""Values that name their schema in a registry: each is read with the schema it was written with, and given as the
reader's, which is the one that the columns were made from.

Avro resolves the two schemas (a field that is new has its default), Protobuf goes by the numbers of fields, JSON by
their names. One look-up for an id in a Python process: Spark keeps its workers, and this module what they know. An id
that the registry does not have makes the record bad; a registry that does not answer fails the task, which Spark tries
again.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from barnabas.client.errors import BadSetting, BarnabasError, RegistryError
from barnabas.client.serde.registry import framing
from barnabas.client.serde.registry.avro.format import AvroFormat
from barnabas.client.serde.registry.cache import Cache
from barnabas.client.serde.registry.protobuf.format import ProtobufFormat
from barnabas.client.serde.registry.serializer import NO_SCHEMA, Format, Read
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.registry.client import registry_client
from barnabas.pipelines.source.decoding import Records
from barnabas.pipelines.source.record_headers import header_values
from barnabas.pipelines.source.values.bad import Bad
from barnabas.pipelines.source.values.json import JsonDecoder
from barnabas.pipelines.source.values.protobuf import message_class, row_of
from barnabas.pipelines.source.values.settings import JSON_SCHEMA, ValueOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_KEPT_MAX = 16  # formats of one process; a query has one
_kept: dict[tuple[int, ValueOptions], RegistryFormat | JsonByRegistry] = {}


def registry_format(options: ValueOptions, kind: StructType) -> RegistryFormat | JsonByRegistry:
    key = (os.getpid(), options)
    found = _kept.get(key)
    if found is None:
        if len(_kept) >= _KEPT_MAX:
            _kept.clear()
        found = JsonByRegistry(kind) if options.format == JSON_SCHEMA else RegistryFormat(options)
        _kept[key] = found
    return found


class RegistryFormat:
    """Avro and Protobuf."""

    def __init__(self, options: ValueOptions) -> None:
        assert options.registry is not None
        self._registry = registry_client(options.registry)
        self._is_protobuf = options.format == "protobuf"
        self._form: Format
        if self._is_protobuf:
            self._form = ProtobufFormat(message_class(options))
        else:
            self._form = AvroFormat(str(options.schema))
        self._readers: Cache[framing.SchemaKey, Read] = Cache()

    def decode_one(self, value: bytes) -> object:
        return self.decode_framed(value)

    def decode_framed(self, value: bytes, header: bytes | None = None) -> object:
        framed = _framed(value, header)
        read = self._readers.get(framed.key)
        if read is None:
            read = self._readers.put(framed.key, self._reader(framed.key))
        try:
            found = read(framed.data, framed.start)
        except Exception as error:  # fastavro and protobuf raise whatever damaged bytes lead to
            raise Bad(f"not a value of schema {framed.key}: {error or type(error).__name__}") from None
        return row_of(found) if self._is_protobuf else found

    def _reader(self, key: framing.SchemaKey) -> Read:
        try:
            return self._form.reader(key, self._registry)
        except BadSetting as error:
            raise Bad(str(error)) from None
        except RegistryError as error:
            if error.error_code == NO_SCHEMA:
                raise Bad(f"the registry has no schema {key}") from None
            raise PipelineError(f"registry: {error}") from None
        except BarnabasError as error:
            raise PipelineError(f"registry: {error}") from None


class JsonByRegistry:
    """JSON goes by name, so the schema that a record was written with is not asked for."""

    def __init__(self, kind: StructType) -> None:
        from pyspark.sql.pandas.types import to_arrow_type

        self._json = JsonDecoder(kind, to_arrow_type(kind, timezone="UTC"))

    def decode(self, records: Records, values: pa.Array) -> pa.Array | None:
        """All at once, where each has its id before it."""
        sizes = records.value_sizes
        if values.null_count or not len(values) or (sizes <= framing.PREFIX_BYTES).any():
            return None
        if records.buffer[records.value_starts].any() or header_values(records, framing.HEADER_NAMES["value"]):
            return None
        behind = replace(
            records, value_starts=records.value_starts + framing.PREFIX_BYTES, value_sizes=sizes - framing.PREFIX_BYTES
        )
        return self._json.decode(behind, behind.values())

    def decode_one(self, value: bytes) -> object:
        return self.decode_framed(value)

    def decode_framed(self, value: bytes, header: bytes | None = None) -> object:
        framed = _framed(value, header)
        return self._json.decode_one(framed.data[framed.start :])


def _framed(value: bytes, header: bytes | None) -> framing.Framed:
    try:
        headers = None if header is None else [(framing.HEADER_NAMES["value"], header)]
        return framing.read(value, headers, "value")
    except ValueError as error:
        raise Bad(str(error)) from None
