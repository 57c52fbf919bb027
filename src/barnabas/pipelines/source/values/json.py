"""JSON values. Arrow's reader takes a whole chunk of them at once; when one does not fit, they are read one by one.

Arrow reads lines, so values are joined by newlines. That every line is one value is certain: each begins with { and
ends with }, so each gives at least one row, and the number of rows is compared. Fields that the schema does not name
are left out, fields that are missing are null unless the schema says NOT NULL, and a field of another type makes the
record bad. Where Arrow is more lenient than that (NaN, a decimal that is too long) its answer is not used; dates, which
it takes only from numbers, and bytes, which it takes as they are, are read as texts and made here.
"""

from __future__ import annotations

import base64
import json
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from barnabas.pipelines.source.decoding import Records
from barnabas.pipelines.source.values.bad import Bad
from barnabas.pipelines.source.values.coerce import coerce

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

_OPEN, _CLOSE = ord("{"), ord("}")
_FROM_TEXT = ("date", "binary")
_FIRST_DAY = date.min.toordinal() - date(1970, 1, 1).toordinal()  # as Arrow counts days


class JsonDecoder:
    def __init__(self, kind: StructType, arrow: pa.DataType, *, milliseconds: bool = False) -> None:
        """`kind` is the StructType of a value; a field in it that is not nullable must be there."""
        self._kind = kind
        self._arrow = arrow
        self._milliseconds = milliseconds
        self._fields = pa.schema([_read_as(field, milliseconds) for field in arrow])
        self._at_once = len(self._fields) > 0 and _may_be_read_at_once(kind, milliseconds)
        self._required = [field.name for field in kind.fields if not field.nullable]

    def decode(self, records: Records, values: pa.Array) -> pa.Array | None:
        """All of them at once; None when that cannot be."""
        if values.null_count or not len(values) or not self._at_once:
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
        if len(table) != len(values) or any(table.column(name).null_count for name in self._required):
            return None
        columns = [table.column(field.name).combine_chunks() for field in self._fields]
        if not all(_is_sound(column) for column in columns):
            return None
        try:
            columns = [_made(column, field.type) for column, field in zip(columns, self._arrow, strict=True)]
        except ValueError:  # one of them is no date or no base64; pa.ArrowInvalid is one too
            return None
        return pa.StructArray.from_arrays(columns, fields=list(self._arrow))

    def decode_one(self, value: bytes) -> object:
        try:
            found = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise Bad(f"not JSON: {error}") from None
        if not isinstance(found, dict):
            raise Bad(f"a JSON object is wanted, not {type(found).__name__}")
        return coerce(found, self._kind, "", self._milliseconds)


def _may_be_read_at_once(kind: DataType, milliseconds: bool, depth: int = 0) -> bool:
    """Whether Arrow reads values of this type by the same rules as `coerce`, as far as a type tells."""
    name = kind.typeName()
    if depth > 1 and (name in _FROM_TEXT or (milliseconds and name.startswith("timestamp"))):
        return False  # `_read_as` and `_made` are for columns
    inner = [getattr(kind, each) for each in ("elementType", "keyType", "valueType") if hasattr(kind, each)]
    for field in getattr(kind, "fields", ()):
        if depth and not field.nullable:
            return False
        inner.append(field.dataType)
    return all(_may_be_read_at_once(each, milliseconds, depth + 1) for each in inner)


def _read_as(field: pa.Field, milliseconds: bool) -> pa.Field:
    if pa.types.is_date(field.type) or pa.types.is_binary(field.type):
        return field.with_type(pa.string())
    return field.with_type(pa.int64()) if milliseconds and pa.types.is_timestamp(field.type) else field


def _made(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """What was read as another type, as its own: milliseconds as times, texts as dates and bytes."""
    if column.type == kind:
        return column
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("ms", kind.tz)).cast(kind)
    if pa.types.is_date(kind):
        found = column.cast(kind)  # takes YYYY-MM-DD and nothing else
        first = pc.min(found.cast(pa.int32())).as_py()
        if first is not None and first < _FIRST_DAY:
            raise ValueError("there is no year 0")
        return found
    return pa.array(
        [None if text is None else base64.b64decode(text, validate=True) for text in column.to_pylist()], kind
    )


def _is_sound(column: pa.Array) -> bool:
    """No number that is none, and no decimal with more digits than its type has."""
    if pa.types.is_floating(column.type):
        return bool(pc.all(pc.is_finite(column)).as_py() is not False)
    if pa.types.is_decimal(column.type):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            return False
        return True
    if pa.types.is_struct(column.type):
        return all(_is_sound(inner) for inner in column.flatten())
    if pa.types.is_list(column.type):
        return _is_sound(column.flatten())
    return True
