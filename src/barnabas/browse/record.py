"""A record as people are shown it, made from the batches of a Fetch.

A record in a page, a tail or a search result has at most SHOWN_VALUE_MAX_BYTES of its value (and less of key and
headers): `truncated` names what was cut, `key_bytes` and `value_bytes` are the whole sizes.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from barnabas.model.limits import (
    SHOWN_HEADERS_MAX,
    SHOWN_HEADERS_MAX_BYTES,
    SHOWN_KEY_MAX_BYTES,
    SHOWN_VALUE_MAX_BYTES,
)
from barnabas.wire.batch import BatchHeader, crc_matches
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import Headers, iter_records
from barnabas.wire.records import Record as WireRecord

TimestampType = Literal["create", "append"]
NO_BYTES = -1  # the size of a null
_FEW_BYTES = 64  # what a record without key, value and headers costs in a page


Part = Literal["key", "value"]


class DecodedPart(NamedTuple):
    """A key or a value that was made JSON by a registry's schema."""

    part: Part
    schema: str  # its id or GUID
    bytes: int  # the size as it was written


class Record(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp: int  # milliseconds since 1970; -1: none
    timestamp_type: TimestampType  # set by the producer, or by the broker at the append
    key: bytes | None
    value: bytes | None
    headers: Headers
    leader_epoch: int = -1
    producer_id: int = -1  # -1: not idempotent
    key_bytes: int = NO_BYTES
    value_bytes: int = NO_BYTES
    truncated: tuple[str, ...] = ()  # of "key", "value", "headers"
    decoded: tuple[DecodedPart, ...] = ()

    @property
    def weight(self) -> int:
        """Bytes that it takes here."""
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return _FEW_BYTES + len(self.key or b"") + len(self.value or b"") + headers

    @property
    def place(self) -> str:
        return f"{self.topic}-{self.partition}-{self.offset}"


class Unreadable(NamedTuple):
    """A batch whose records cannot be read: damaged, or not what the format says. It was left out."""

    partition: int
    first_offset: int
    last_offset: int
    reason: str


def shown(topic: str, partition: int, header: BatchHeader, record: WireRecord, *, whole: bool = False) -> Record:
    """The record as it is shown; `whole`: uncut."""
    key, value, headers = record.key, record.value, record.headers
    key_bytes = NO_BYTES if key is None else len(key)
    value_bytes = NO_BYTES if value is None else len(value)
    truncated: tuple[str, ...] = ()
    if not whole:
        if value is not None and value_bytes > SHOWN_VALUE_MAX_BYTES:
            value, truncated = value[:SHOWN_VALUE_MAX_BYTES], ("value",)
        if key is not None and key_bytes > SHOWN_KEY_MAX_BYTES:
            key, truncated = key[:SHOWN_KEY_MAX_BYTES], ("key", *truncated)
        if headers:
            kept = _some(headers)
            if kept is not headers:
                headers, truncated = kept, (*truncated, "headers")
    kind: TimestampType = "append" if header.log_append_time else "create"
    return Record(
        topic,
        partition,
        record.offset,
        record.timestamp,
        kind,
        key,
        value,
        headers,
        header.leader_epoch,
        header.producer_id,
        key_bytes,
        value_bytes,
        truncated,
    )


def _some(headers: Headers) -> Headers:
    """The headers themselves when they are few and small, else as many as fit."""
    if len(headers) <= SHOWN_HEADERS_MAX:
        size = sum(len(name) + len(value or b"") for name, value in headers)
        if size <= SHOWN_HEADERS_MAX_BYTES:
            return headers
    kept: list[tuple[str, bytes | None]] = []
    room = SHOWN_HEADERS_MAX_BYTES
    for name, value in headers[:SHOWN_HEADERS_MAX]:
        room -= len(name)
        if room < 0:
            break
        kept.append((name, None if value is None else value[:room]))
        room -= len(value or b"")
    return tuple(kept)


def records_within(batch: memoryview, header: BatchHeader, start: int, end: int) -> Iterator[WireRecord]:
    """Those of a batch between two offsets; ProtocolError when it is damaged."""
    if not crc_matches(batch, 0, header.size):
        raise ProtocolError("its checksum does not match")
    for record in iter_records(batch):
        if start <= record.offset < end:
            yield record


def first_of(records: Iterable[WireRecord], most: int) -> tuple[list[WireRecord], bool]:
    """So many from the beginning, and whether more follow. Reads to the end: what is damaged there is to be known."""
    kept: list[WireRecord] = []
    more = False
    for record in records:
        if len(kept) < most:
            kept.append(record)
        else:
            more = True
    return kept, more


def last_of(records: Iterable[WireRecord], most: int) -> tuple[list[WireRecord], bool]:
    """So many from the end, in their order, and whether there are more before them."""
    kept: deque[WireRecord] = deque(maxlen=most)
    count = 0
    for record in records:
        kept.append(record)
        count += 1
    return list(kept), count > most
