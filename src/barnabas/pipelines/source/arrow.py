"""Records as the Arrow batches that Spark wants, column by column; what no column asks for is never made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import types
from pyspark.sql.pandas.types import to_arrow_schema

from barnabas.pipelines.registry.options import RegistryOptions
from barnabas.pipelines.source.columns import value_kind
from barnabas.pipelines.source.decoding import Records
from barnabas.pipelines.source.record_headers import headers_of
from barnabas.pipelines.source.values.decoder import ValueDecoder
from barnabas.pipelines.source.values.settings import BAD_COLUMN, ValueOptions

if TYPE_CHECKING:
    from barnabas.pipelines.source.values.as_json import JsonTexts


class ColumnMaker:
    """Makes the Arrow batches of one split."""

    def __init__(
        self,
        wanted: types.StructType,
        topic: str,
        partition: int,
        value: ValueOptions | None,
        as_json: RegistryOptions | None = None,
    ) -> None:
        self.schema = to_arrow_schema(wanted, timezone="UTC")
        self._constants = {"topic": pa.scalar(topic, pa.string()), "partition": pa.scalar(partition, pa.int32())}
        self._repeated: dict[str, pa.Array] = {}
        self._as_json: JsonTexts | None = None
        if as_json is not None:
            from barnabas.pipelines.source.values.as_json import json_texts

            self._as_json = json_texts(as_json)
        self._decoder: ValueDecoder | None = None
        self._value_column: str | None = None
        if value is not None:
            self._decoder = ValueDecoder(value, value_kind(wanted, value), f"{topic}-{partition}")
            self._value_column = value.column

    def batch(self, records: Records) -> pa.RecordBatch:
        decoded: dict[str, pa.Array] = {}
        if self._decoder is not None:
            records, rows, bad = self._decoder.decode(records)
            decoded = {BAD_COLUMN: bad}
            if self._value_column is not None:
                decoded[self._value_column] = rows
            else:
                decoded |= dict(zip((field.name for field in rows.type), rows.flatten(), strict=True))
        arrays = [decoded[name] if name in decoded else self._column(name, records) for name in self.schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _column(self, name: str, records: Records) -> object:
        match name:
            case "key":
                return records.keys()
            case "value":
                return records.values() if self._as_json is None else self._as_json.values(records)
            case "offset":
                return pa.array(records.offsets)
            case "timestamp":
                micros = records.timestamps * 1000
                return pa.array(micros).view(pa.timestamp("us", tz="UTC"))
            case "timestampType":
                return pa.array(records.log_append.astype(np.int32))
            case "headers":
                return headers_of(records, self.schema.field("headers").type)
            case _:
                return self._constant(name, len(records))

    def _constant(self, name: str, count: int) -> pa.Array:
        """The same value in every row; the longest that was made serves all shorter ones."""
        made = self._repeated.get(name)
        if made is None or len(made) < count:
            made = self._repeated[name] = pa.repeat(self._constants[name], count)
        return made.slice(0, count)
