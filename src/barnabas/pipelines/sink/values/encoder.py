"""An Arrow batch to values, row by row: what fastavro and protobuf take are Python's own objects."""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import types

from barnabas.client.errors import BarnabasError
from barnabas.model.json_values import Json
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.values.settings import SinkValue


class ValueEncoder:
    def __init__(self, value: SinkValue) -> None:
        self._column = value.column
        kind = types.StructType.fromJson(json.loads(value.columns))
        self._names = kind.names
        self._has_maps = _has_maps(kind)
        self._kind = kind
        self._format = value.format
        try:
            self._write = _writer(value)
        except BarnabasError as error:
            raise PipelineError(f"registry: {error}") from None

    def encode(self, batch: pa.RecordBatch) -> pa.Array:
        """The values of the rows. A null struct in `valueColumn` is a null value, a tombstone."""
        if self._column is not None:
            rows = batch.column(self._column).to_pylist()
        else:
            rows = pa.StructArray.from_arrays(
                [batch.column(name) for name in self._names], names=self._names
            ).to_pylist()
        found = []
        for row in rows:
            if row is not None and self._has_maps:
                row = _with_maps(row, self._kind)
            try:
                found.append(None if row is None else self._write(row))
            except Exception as error:  # fastavro, protobuf and jsonschema-rs raise what a value leads them to
                reason = (str(error) or type(error).__name__).partition("\n")[0]
                raise PipelineError(f"a row does not fit the schema ({self._format}): {reason}") from None
        return pa.array(found, pa.binary())


def _writer(value: SinkValue) -> Callable[[Json], bytes]:
    if value.format == "avro":
        from barnabas.pipelines.sink.values.avro import avro_writer

        return avro_writer(str(value.schema), value.prefix)
    if value.format == "protobuf":
        from barnabas.pipelines.sink.values.protobuf import protobuf_writer

        return protobuf_writer(value.schema, value.message, value.prefix)
    from barnabas.pipelines.sink.values.json_schema import json_writer

    return json_writer(value.prefix, value.checked)


def _has_maps(kind: types.DataType) -> bool:
    if isinstance(kind, types.StructType):
        return any(_has_maps(each.dataType) for each in kind.fields)
    return isinstance(kind, types.MapType) or (isinstance(kind, types.ArrayType) and _has_maps(kind.elementType))


def _with_maps(value: Json, kind: types.DataType) -> Json:
    """Arrow gives a map as pairs."""
    if value is None:
        return None
    if isinstance(kind, types.StructType):
        return {each.name: _with_maps(value[each.name], each.dataType) for each in kind.fields}
    if isinstance(kind, types.ArrayType):
        return [_with_maps(each, kind.elementType) for each in value]
    if isinstance(kind, types.MapType):
        return {key: _with_maps(each, kind.valueType) for key, each in value}
    return value
