"""From a chunk of values to columns, good and bad records apart.

A decoder of a format may take a whole chunk at once (`decode`); what it declines, and formats that cannot, go one by
one (`decode_one`). A null value (a tombstone) is no bad record: its columns are null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.source.decoding import Records
from barnabas.pipelines.source.values.bad import Bad, shown
from barnabas.pipelines.source.values.ddl import without_not_null
from barnabas.pipelines.source.values.settings import DROPMALFORMED, FAILFAST, ValueOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_FRAME_BYTES = 5  # Confluent's: a zero and the number of the schema
_BAD_TYPE = pa.struct([("reason", pa.string()), ("value", pa.binary())])


class _Format(Protocol):
    def decode_one(self, value: bytes) -> object: ...


@runtime_checkable
class _AtOnce(Protocol):
    """A format that may take a whole chunk at once."""

    def decode(self, records: Records, values: pa.Array) -> pa.Array | None: ...


class ValueDecoder:
    def __init__(self, options: ValueOptions, kind: StructType, where: str) -> None:
        """`kind` is the StructType of a value; `where` names the partition in messages."""
        from pyspark.sql.pandas.types import to_arrow_type

        self.options = options
        self._where = where
        self.arrow = to_arrow_type(kind, timezone="UTC")
        self._format: _Format
        if options.format == "json":
            from barnabas.pipelines.source.values.json import JsonDecoder

            self._format = JsonDecoder(_with_required(kind, options), self.arrow, milliseconds=options.milliseconds)
        elif options.format == "avro":
            from barnabas.pipelines.source.values.avro import AvroDecoder

            self._format = AvroDecoder(str(options.schema))
        else:
            from barnabas.pipelines.source.values.protobuf import ProtobufDecoder

            self._format = ProtobufDecoder(options)

    def decode(self, records: Records) -> tuple[Records, pa.Array, pa.Array]:
        """The records that stay, their values as structs, and what was bad about them."""
        values = records.values()
        if isinstance(self._format, _AtOnce):
            at_once = self._format.decode(records, values)
            if at_once is not None:
                return records, at_once, pa.nulls(len(records), _BAD_TYPE)
        return self._one_by_one(records, values)

    def _one_by_one(self, records: Records, values: pa.Array) -> tuple[Records, pa.Array, pa.Array]:
        rows: list[object] = []
        bad: list[object] = []
        for at, value in enumerate(values.to_pylist()):
            row = reason = None
            if value is not None:
                try:
                    row = self._checked(self._unframed(value))
                except Bad as problem:
                    reason = str(problem)
                    if self.options.mode == FAILFAST:
                        raise PipelineError(
                            f"{self._where} at offset {records.offsets[at]}: {reason}; the value is {shown(value)}"
                        ) from None
            rows.append(row)
            bad.append(None if reason is None else {"reason": reason, "value": value})
        if self.options.mode == DROPMALFORMED and any(each is not None for each in bad):
            stay = np.array([each is None for each in bad])
            records = records.pick(stay)
            rows = [row for row, kept in zip(rows, stay, strict=True) if kept]
            bad = [None] * len(rows)
        return records, pa.array(rows, self.arrow), pa.array(bad, _BAD_TYPE)

    def _checked(self, value: bytes) -> object:
        row = self._format.decode_one(value)
        try:
            pa.array([row], self.arrow)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError) as problem:
            raise Bad(str(problem)) from None
        return row

    def _unframed(self, value: bytes) -> bytes:
        if not self.options.confluent:
            return value
        if len(value) < _FRAME_BYTES or value[0] != 0:
            raise Bad("no schema number before the value (valueFraming is confluent)")
        if self.options.format == "avro":
            return value[_FRAME_BYTES:]
        return _after_indexes(value)


def _with_required(kind: StructType, options: ValueOptions) -> StructType:
    """The columns are nullable, whatever the schema said; the decoder has to know what must be there."""
    from pyspark.sql.types import StructField, StructType

    if options.column is not None:
        return kind
    _, required = without_not_null(str(options.schema))
    return StructType(
        [StructField(each.name, each.dataType, each.nullable and each.name not in required) for each in kind.fields]
    )


def _after_indexes(value: bytes) -> bytes:
    """Confluent writes before a Protobuf value which message of the file it is: a count and so many indexes."""
    from barnabas.wire.varints import read_varint

    try:
        count, position = read_varint(value, _FRAME_BYTES)
        for _ in range(count):
            _, position = read_varint(value, position)
    except IndexError:
        raise Bad("the message indexes before the value are cut") from None
    return value[position:]
