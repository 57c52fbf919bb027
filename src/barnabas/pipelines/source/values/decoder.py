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
from barnabas.pipelines.source.record_headers import header_values
from barnabas.pipelines.source.values.bad import Bad, shown
from barnabas.pipelines.source.values.ddl import without_not_null
from barnabas.pipelines.source.values.settings import DROPMALFORMED, FAILFAST, ValueOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_FRAME_BYTES = 5  # Confluent's: a zero and the number of the schema
VALUE_HEADER = "__value_schema_id"  # Confluent's, of clients that do not put the id before the value
_DOES_NOT_FIT = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError)
_BAD_TYPE = pa.struct([("reason", pa.string()), ("value", pa.binary())])


class _Format(Protocol):
    def decode_one(self, value: bytes) -> object: ...


@runtime_checkable
class _Framed(Protocol):
    """A format that looks at the schema's id of each value, before it or in a header."""

    def decode_framed(self, value: bytes, header: bytes | None = None) -> object: ...


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
        if options.registry is not None:
            from barnabas.pipelines.source.values.registry import registry_format

            self._format = registry_format(options, kind)
        elif options.format == "json":
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
        given = values.to_pylist()
        rows, reasons = self._decoded(records, given)
        made = self._array(rows, reasons)
        wrong = [at for at, reason in enumerate(reasons) if reason is not None]
        if wrong and self.options.mode == FAILFAST:
            place = f"{self._where} at offset {records.offsets[wrong[0]]}"
            raise PipelineError(f"{place}: {reasons[wrong[0]]}; the value is {shown(given[wrong[0]])}")
        if wrong and self.options.mode == DROPMALFORMED:
            stay = np.ones(len(rows), bool)
            stay[wrong] = False
            kept = records.pick(stay)
            return kept, made.filter(pa.array(stay)), pa.nulls(len(kept), _BAD_TYPE)
        bad = [None if reasons[at] is None else {"reason": reasons[at], "value": given[at]} for at in range(len(rows))]
        return records, made, pa.array(bad, _BAD_TYPE)

    def _decoded(self, records: Records, values: list[bytes | None]) -> tuple[list[object], list[str | None]]:
        """A row for each value, or why there is none."""
        read = self._format.decode_one
        if isinstance(self._format, _Framed):
            headers = header_values(records, VALUE_HEADER)
            read = self._format.decode_framed
            if headers is not None:
                return self._decoded_by_headers(values, headers)
        elif self.options.confluent:
            read = self._decode_unframed
        rows: list[object] = []
        reasons: list[str | None] = []
        for value in values:
            row = reason = None
            if value is not None:
                try:
                    row = read(value)
                except Bad as problem:
                    reason = str(problem)
            rows.append(row)
            reasons.append(reason)
        return rows, reasons

    def _decoded_by_headers(
        self, values: list[bytes | None], headers: list[bytes | None]
    ) -> tuple[list[object], list[str | None]]:
        assert isinstance(self._format, _Framed)
        rows: list[object] = [None] * len(values)
        reasons: list[str | None] = [None] * len(values)
        for at, (value, header) in enumerate(zip(values, headers, strict=True)):
            if value is not None:
                try:
                    rows[at] = self._format.decode_framed(value, header)
                except Bad as problem:
                    reasons[at] = str(problem)
        return rows, reasons

    def _array(self, rows: list[object], reasons: list[str | None]) -> pa.Array:
        """All rows at once. Where one does not fit its columns they are tried one by one, to find it."""
        try:
            return pa.array(rows, self.arrow)
        except _DOES_NOT_FIT:
            for at, row in enumerate(rows):
                try:
                    pa.array([row], self.arrow)
                except _DOES_NOT_FIT as problem:
                    rows[at], reasons[at] = None, str(problem)
            return pa.array(rows, self.arrow)

    def _decode_unframed(self, value: bytes) -> object:
        return self._format.decode_one(self._unframed(value))

    def _unframed(self, value: bytes) -> bytes:
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
