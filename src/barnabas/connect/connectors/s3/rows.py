"""Records as rows, and rows as records again.

A value that is a structure is a row as it is. With `metadata`, the row has columns for where the record stood, by names
that begin with a prefix which values must not use: `_topic`, `_partition`, `_offset`, `_timestamp`, `_key`, `_headers`;
`_value` for a value that is no structure; `_deleted` for a tombstone. By these the source makes the same records again.
Without `metadata`, a value that is no structure is in a column `value`, and tombstones are left out.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from datetime import UTC, datetime

import msgspec

from barnabas.connect.contract import Delivered, Headers, Record, Value

JSON = msgspec.json.Encoder(decimal_format="number")
NOT_JSON = (TypeError, ValueError, OverflowError, RecursionError)  # what encoding raises for a value that JSON has not
NAMES = ("topic", "partition", "offset", "timestamp", "key", "headers", "value", "deleted")
_BASE64 = "_base64"  # the end of a column's name in JSON for bytes that are no text


class Columns:
    """Names of the columns that are not of values."""

    def __init__(self, metadata: bool, prefix: str) -> None:
        self.metadata = metadata
        self.topic, self.partition, self.offset, self.timestamp, self.key, self.headers, self.value, self.deleted = (
            f"{prefix}{name}" for name in NAMES
        )
        self.reserved = frozenset(f"{prefix}{name}" for name in NAMES) if metadata else frozenset()
        self.reserved |= {f"{name}{_BASE64}" for name in (self.key, self.value)} if metadata else set()
        if not metadata:
            self.value = "value"

    def row(self, record: Delivered) -> dict[str, Value] | None:
        """The part of a row that is of the value. None: nothing is written. Raises ValueError."""
        value = record.value
        if isinstance(value, dict):
            if self.reserved and not self.reserved.isdisjoint(value):
                taken = min(self.reserved.intersection(value))
                raise ValueError(f"its field {taken!r} is a name of 'metadata'; give another 'metadata_prefix'")
            return value
        if value is None:
            return {self.deleted: True} if self.metadata else None
        return {self.value: value}

    def as_json(self, record: Delivered, row: dict[str, Value]) -> bytes:
        """A whole row as a line. Raises one of NOT_JSON."""
        if self.value in row and row is not record.value:
            row = _text(self.value, row[self.value])
        if not self.metadata:
            return JSON.encode(row)
        more = {self.topic: record.topic, self.partition: record.partition, self.offset: record.offset}
        row = {**row, **more, self.timestamp: record.timestamp_ms}
        if record.key is not None:
            row |= _text(self.key, record.key)
        if record.headers:
            row[self.headers] = [
                [name, None if each is None else b64encode(each).decode()] for name, each in record.headers
            ]
        return JSON.encode(row)

    def record(self, row: dict[str, Value], restore: frozenset[str]) -> Record:
        """Of a row that was read; `restore` says which of NAMES to use."""
        if not self.metadata:
            return Record(row)
        found = {name: row.pop(name, None) for name in self.reserved}
        value = _plain(found, self.value)
        record = Record(row if value is None else value)
        if found[self.deleted]:
            record.value = None
        if "key" in restore:
            record.key = _plain(found, self.key)
        if "timestamp" in restore:
            record.timestamp_ms = _milliseconds(found[self.timestamp])
        if "headers" in restore:
            record.headers = _headers(found[self.headers])
        if "partition" in restore and isinstance(found[self.partition], int):
            record.partition = found[self.partition]
        if "topic" in restore and isinstance(found[self.topic], str):
            record.topic = found[self.topic]
        return record


def _text(name: str, value: Value) -> dict[str, Value]:
    """JSON has no bytes: as text if they are text, else in a column of another name."""
    if not isinstance(value, bytes | bytearray | memoryview):
        return {name: value}
    data = bytes(value)
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {name + _BASE64: b64encode(data).decode()}


def _plain(found: dict[str, Value], name: str) -> Value:
    coded = found[name + _BASE64]
    return b64decode(coded) if isinstance(coded, str) else found[name]


def _milliseconds(value: Value) -> int | None:
    if isinstance(value, datetime):
        return round((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000)
    return value if isinstance(value, int) else None


def _headers(value: Value) -> Headers:
    """Pairs as they are in JSON, or structures as they are in Parquet."""
    if not isinstance(value, list):
        return ()
    if value and isinstance(value[0], dict):
        return [(str(each["name"]), each["value"]) for each in value]
    return [(str(name), None if data is None else b64decode(data)) for name, data in value]
