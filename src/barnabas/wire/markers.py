"""Control records: what a coordinator or a leader writes into a log beside the data (KIP-98).

A transaction ends with one of them: a batch of its own, marked control and transactional, with one record whose key
says commit or abort and whose value carries the coordinator's epoch.
"""

from struct import Struct

from barnabas.wire.batch import Buffer
from barnabas.wire.records import Record, build_batch, iter_records

ABORT, COMMIT = 0, 1
_KEY = Struct(">hh")  # version, type
_VALUE = Struct(">hi")  # version, coordinator epoch


def build_marker(
    *,
    offset: int,
    timestamp_ms: int,
    leader_epoch: int,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    commit: bool,
) -> bytearray:
    key = _KEY.pack(0, COMMIT if commit else ABORT)
    return build_batch(
        [Record(offset, timestamp_ms, key, _VALUE.pack(0, coordinator_epoch), ())],
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def read_marker(batch: Buffer) -> tuple[bool, int] | None:
    """(commit, coordinator epoch) of a control batch, None when it is another kind of control record."""
    for record in iter_records(batch):
        if record.key is None or record.value is None or len(record.key) < _KEY.size or len(record.value) < _VALUE.size:
            return None
        kind = _KEY.unpack_from(record.key)[1]
        if kind in (ABORT, COMMIT):
            return kind == COMMIT, _VALUE.unpack_from(record.value)[1]
    return None
