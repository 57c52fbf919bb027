"""A segment, batch by batch, and with --records record by record.

Follows the lengths in the headers, so one bad checksum does not hide what comes after it; a header that cannot be one
ends the walk, because nothing after it can be found. Memory stays at one batch, however large the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from barnabas.cli.log.meaning import meaning
from barnabas.cli.log.rows import Row, base_offset, damage, partition_name, text_of
from barnabas.storage.damage import Damaged
from barnabas.storage.disk import DISK
from barnabas.storage.walk import scan
from barnabas.wire.batch import BatchHeader, crc_matches
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import Record, iter_records


def rows(path: Path, *, records: bool, verify: bool, secrets: bool = False) -> Iterator[Row]:
    base = base_offset(path) or 0 if path.suffix == ".log" else 0
    topic = partition_name(path)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        end = os.fstat(descriptor).st_size
        try:
            for at, header, batch in scan(DISK, descriptor, str(path), 0, end, lowest_offset=base, check_crc=False):
                yield Row("batch", _batch(at, header))
                if not crc_matches(batch, 0, header.size):
                    yield damage(at, "the checksum does not match the bytes")
                elif records or verify:
                    yield from _records(at, header, batch, topic, show=records, secrets=secrets)
        except Damaged as error:
            yield damage(error.damage.position, _tail(error.damage.reason, error.damage.position, end))
    finally:
        os.close(descriptor)


def _tail(reason: str, position: int, end: int) -> str:
    return f"{reason}; {end - position:,} bytes from here on cannot be read"


def _batch(position: int, header: BatchHeader) -> dict[str, object]:
    fields: dict[str, object] = {
        "position": position,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records": header.record_count,
        "size": header.size,
        "codec": _codec(header),
        "leader_epoch": header.leader_epoch,
        "max_timestamp": header.max_timestamp,
    }
    if header.log_append_time:
        fields["log_append_time"] = True
    if header.producer_id >= 0:
        fields |= {
            "producer_id": header.producer_id,
            "producer_epoch": header.producer_epoch,
            "base_sequence": header.base_sequence,
        }
    if header.is_transactional:
        fields["transactional"] = True
    if header.is_control:
        fields["control"] = True
    return fields


def _codec(header: BatchHeader) -> str:
    try:
        return header.codec.name.lower()
    except (ValueError, ProtocolError):
        return f"unknown ({header.attributes & 7})"


def _records(
    position: int, header: BatchHeader, batch: memoryview, topic: str, *, show: bool, secrets: bool
) -> Iterator[Row]:
    last = header.base_offset - 1
    try:
        for record in iter_records(batch):
            if not last < record.offset <= header.last_offset:
                yield damage(position, f"record offset {record.offset} out of its place")
            last = record.offset
            if show:
                yield Row("record", _record(record, topic, header, secrets))
    except (ProtocolError, ValueError) as error:
        yield damage(position, f"the records cannot be read: {error}")


def _record(record: Record, topic: str, header: BatchHeader, secrets: bool) -> dict[str, object]:
    fields: dict[str, object] = {"offset": record.offset, "timestamp": record.timestamp}
    decoded = meaning(topic, record.key, record.value, control=header.is_control, secrets=secrets)
    if decoded is not None:
        return fields | {"decoded": decoded}
    fields["key"] = text_of(record.key)
    fields["value"] = text_of(record.value)
    if record.headers:
        fields["headers"] = {name: text_of(value) for name, value in record.headers}
    return fields
