"""JSON values. Arrow's reader takes a whole chunk of them at once; when one does not fit, they are read one by one.

Arrow reads lines, so values are joined by newlines. That every line is one value is certain: each begins with { and
ends with }, so each gives at least one row, and the number of rows is compared. Fields that the schema does not name
are left out, fields that are missing are null, and a field of another type makes the record bad.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from barnabas.pipelines.source.decoding import Records
from barnabas.pipelines.source.values.bad import Bad
from barnabas.pipelines.source.values.coerce import coerce

_OPEN, _CLOSE = ord("{"), ord("}")


class JsonDecoder:
    def __init__(self, kind: Any, arrow: pa.DataType) -> None:
        self._kind = kind
        self._arrow = arrow
        self._fields = pa.schema(list(arrow))

    def decode(self, records: Records, values: pa.Array) -> pa.Array | None:
        """All of them at once; None when that cannot be."""
        if values.null_count or not len(values) or not len(self._fields):
            return None
        ends = records.value_starts + records.value_sizes
        if (records.value_sizes < 2).any():
            return None
        data = records.buffer
        if not ((data[records.value_starts] == _OPEN) & (data[ends - 1] == _CLOSE)).all():
            return None
        lines = pc.binary_join(pa.ListArray.from_arrays(np.array([0, len(values)], np.int32), values), b"\n")
        buffer = lines[0].as_buffer()
        try:
            table = pj.read_json(
                pa.BufferReader(buffer),
                read_options=pj.ReadOptions(use_threads=False, block_size=max(1 << 16, len(buffer) + 1)),
                parse_options=pj.ParseOptions(
                    explicit_schema=self._fields, newlines_in_values=True, unexpected_field_behavior="ignore"
                ),
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError):
            return None
        if len(table) != len(values):
            return None
        columns = [table.column(field.name).combine_chunks() for field in self._fields]
        return pa.StructArray.from_arrays(columns, fields=list(self._arrow))

    def decode_one(self, value: bytes) -> Any:
        try:
            found = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise Bad(f"not JSON: {error}") from None
        if not isinstance(found, dict):
            raise Bad(f"a JSON object is wanted, not {type(found).__name__}")
        return coerce(found, self._kind, "")
