"""A coordinator's records as batches that fit their topic.

The records of one step go into one batch where they fit, so that they are there together or not at all. A step that
writes more (the tombstones of 100,000 expired offsets, the targets of a very large group) writes several, in order:
each record stands for itself when it is replayed. A single record that does not fit is a defect of whoever decided on
it: it is not written, since no follower would take it, and the shard goes back to what its log says.
"""

from collections.abc import Iterator, Sequence

Records = Sequence[tuple[bytes, bytes | None]]

_AT_LEAST_BYTES = 1_048_588  # Kafka's default: a smaller message.max.bytes is meant for clients, not for coordinators
_BATCH_BYTES = 100  # the header of a batch, rounded up
_RECORD_BYTES = 32  # lengths, timestamp and offset of one record, rounded up


class RecordTooLarge(Exception):
    """A record that its topic cannot hold."""


def batches_of(records: Records, max_bytes: int) -> Iterator[Records]:
    sizes = [len(key) + len(value or b"") + _RECORD_BYTES for key, value in records]
    room = max(max_bytes, _AT_LEAST_BYTES) - _BATCH_BYTES
    if sum(sizes) <= room:
        yield records
        return
    if max(sizes) > room:
        raise RecordTooLarge(f"a record of {max(sizes)} bytes, and batches of this topic have at most {max_bytes}")
    start, size = 0, 0
    for index, each in enumerate(sizes):
        if size + each > room:
            yield records[start:index]
            start, size = index, 0
        size += each
    yield records[start:]
