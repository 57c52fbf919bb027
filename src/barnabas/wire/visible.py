"""Which batches of an answer a reader may see: not the control records, and not what a transaction took back.

An answer read with read_committed ends at the last stable offset and lists the aborted transactions that reach into it
(producer id, first offset). From that offset on, the producer's transactional batches are dropped until its abort
marker (KIP-98). The list belongs to the answer: nothing is carried over to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from barnabas.wire.batch import BatchHeader, Buffer, crc_matches, iter_batches
from barnabas.wire.errors import ProtocolError
from barnabas.wire.markers import read_marker


def visible_batches(
    records: Buffer, aborted: Sequence[tuple[int, int]], start: int, end: int, *, check_crc: bool = True
) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each batch with records between the offsets `start` and `end` that may be seen. A damaged
    one raises, unless the caller checks by itself, to go on behind it."""
    waiting = sorted(aborted, key=lambda each: each[1], reverse=True)
    dropped: set[int] = set()
    for position, header in iter_batches(records):
        if header.base_offset >= end:
            return
        while waiting and waiting[-1][1] <= header.last_offset:
            dropped.add(waiting.pop()[0])
        if header.is_control:
            if header.producer_id in dropped:
                marker = read_marker(memoryview(records)[position : position + header.size])
                if marker is not None and not marker[0]:
                    dropped.discard(header.producer_id)
            continue
        if header.last_offset < start or header.record_count == 0:
            continue
        if header.is_transactional and header.producer_id in dropped:
            continue
        if check_crc and not crc_matches(records, position, header.size):
            raise ProtocolError(f"the batch at offset {header.base_offset} is damaged: its checksum does not match")
        yield position, header


def next_offset(records: Buffer, offset: int) -> int:
    """Where to go on after this answer; `offset` itself when it holds no whole batch."""
    for _, header in iter_batches(records):
        offset = max(offset, header.next_offset)
    return offset
