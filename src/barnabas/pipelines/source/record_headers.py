"""The headers of records, when asked for (`includeHeaders`): null where a record has none, as in the connector.

Most records have none, and that is seen for all at once by the byte after the value. Only the others are opened.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from barnabas.pipelines.source.decoding import Records
from barnabas.wire.errors import ProtocolError
from barnabas.wire.varints import read_varint


def headers_of(records: Records, kind: pa.DataType) -> pa.Array:
    if records.headers is not None:
        given = [[{"key": name, "value": value} for name, value in row] if row else None for row in records.headers]
        return pa.array(given, kind)
    at = records.value_starts + np.maximum(records.value_sizes, 0)
    if len(at) == 0 or not records.buffer[at].any():
        return pa.nulls(len(records), kind)
    data = records.buffer.data
    rows: list[object] = [None] * len(at)
    for row in np.flatnonzero(records.buffer[at]):
        rows[row] = _open(data, int(at[row]), int(records.ends[row]))
    return pa.array(rows, kind)


def header_values(records: Records, name: str) -> list[bytes | None] | None:
    """The last header of that name of each record; None when no record has a header at all."""
    if records.headers is not None:
        return [None if not row else dict(row).get(name) for row in records.headers] if any(records.headers) else None
    at = records.value_starts + np.maximum(records.value_sizes, 0)
    if len(at) == 0 or not records.buffer[at].any():
        return None
    found: list[bytes | None] = [None] * len(at)
    for row in np.flatnonzero(records.buffer[at]):
        for each in _open(records.buffer.data, int(at[row]), int(records.ends[row])):
            if each["key"] == name and isinstance(each["value"], bytes):
                found[row] = each["value"]
    return found


def _open(data: memoryview, position: int, end: int) -> list[dict[str, str | bytes | None]]:
    found: list[dict[str, str | bytes | None]] = []
    try:
        count, position = read_varint(data, position)
        if count < 0 or count * 2 > end - position:
            raise ProtocolError(f"{count} headers where {end - position} bytes remain")
        for _ in range(count):
            size, position = read_varint(data, position)
            if not 0 <= size <= end - position:
                raise ProtocolError(f"a header name of {size} bytes")
            name = str(data[position : position + size], "utf-8", "replace")
            position += size
            size, position = read_varint(data, position)
            if not -1 <= size <= end - position:
                raise ProtocolError(f"a header of {size} bytes")
            value = None if size < 0 else bytes(data[position : position + size])
            position += max(size, 0)
            found.append({"key": name, "value": value})
    except IndexError:
        raise ProtocolError("a header is cut") from None
    return found
