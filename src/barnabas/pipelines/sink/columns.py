"""The columns of a write, as in Spark's Kafka connector: value, and if wanted key, headers, topic, partition.

`value` and `key` are strings or bytes, `headers` an array of (key string, value binary), `topic` a string, `partition`
an int. Anything else is refused before the job starts, with what was found. `Rows` is one Arrow batch seen through
these columns, strings turned to bytes without a Python object for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.values.settings import RECORD_COLUMNS, SinkValue

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_WANTED = {
    "value": ("string", "binary"),
    "key": ("string", "binary"),
    "topic": ("string",),
    "partition": ("int",),
    "headers": ("array<struct<key:string,value:binary>>",),
}

Header = tuple[str, bytes | None]


def check_schema(schema: StructType, topic: str | None, value: SinkValue | None = None) -> None:
    """`schema` is Spark's StructType; `topic` the option, without which a topic column is needed. With `value` the
    columns that are not the record's own are the value's fields."""
    found = {field.name.lower(): field.dataType.simpleString() for field in schema.fields}
    if value is not None:
        found = _of_record(found, value)
    for name, kind in found.items():
        if name not in _WANTED:
            known = ", ".join(_WANTED)
            raise PipelineError(
                f"column {name!r} means nothing to a topic: the columns are {known}. Select those first"
            )
        if kind not in _WANTED[name]:
            raise PipelineError(f"column {name!r} is {' or '.join(_WANTED[name])}, not {kind}: cast it")
    if value is None and "value" not in found:
        raise PipelineError("a write needs a column 'value' (string or binary)")
    if topic is None and "topic" not in found:
        raise PipelineError('say where to write: .option("topic", "name"), or a column \'topic\'')


def _of_record(found: dict[str, str], value: SinkValue) -> dict[str, str]:
    """Those columns that are not the value's fields."""
    if value.column is not None:
        return {name: kind for name, kind in found.items() if name != value.column.lower()}
    return {name: kind for name, kind in found.items() if name in RECORD_COLUMNS}


@dataclass(frozen=True)
class Rows:
    count: int
    value: pa.Array  # binary
    key: pa.Array | None  # binary
    topic: pa.Array | None  # dictionary of strings
    partition: pa.Array | None
    headers: pa.Array | None


def rows_of(batch: pa.RecordBatch, encode: Callable[[pa.RecordBatch], pa.Array] | None = None) -> Rows:
    """`encode` makes the values of a batch whose columns are the value's fields."""
    columns = {name.lower(): column for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    key, topic = columns.get("key"), columns.get("topic")
    return Rows(
        count=batch.num_rows,
        value=_as_bytes(columns["value"]) if encode is None else encode(batch),
        key=None if key is None else _as_bytes(key),
        topic=None if topic is None else pc.dictionary_encode(topic),
        partition=columns.get("partition"),
        headers=columns.get("headers"),
    )


def _as_bytes(column: pa.Array) -> pa.Array:
    """Spark may hand over the small or the large kind of either; a view on the same memory."""
    if pa.types.is_string(column.type):
        return column.cast(pa.binary())
    if pa.types.is_large_string(column.type):
        return column.cast(pa.large_binary())
    return column


def headers_of(column: pa.Array) -> list[list[Header]]:
    """A row's headers; null means none. A header without a name has no place in a record."""
    found: list[list[Header]] = []
    for headers in column.to_pylist():
        if not headers:
            found.append([])
            continue
        pairs = [(each["key"], each["value"]) for each in headers if each is not None]
        if any(name is None for name, _ in pairs):
            raise PipelineError("a header without a key cannot be written: drop it from the column 'headers'")
        found.append(pairs)
    return found
