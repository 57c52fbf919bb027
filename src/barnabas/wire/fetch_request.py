"""The Fetch request of a follower, version 17, by hand: it is sent with every round of replication.

Only what a follower says is in it: its own id and its broker's epoch (tag 1, KIP-903), its session, the partitions that
are news and those to forget. Compared with the compiled writer in the tests.
"""

from collections.abc import Iterable, Mapping, Sequence
from struct import Struct
from typing import NamedTuple

from barnabas.wire.varints import uvarint_bytes

VERSION = 17

_HEAD = Struct(">iiiBii")  # max wait, min bytes, max bytes, isolation level, session id, session epoch
_PARTITION = Struct(">iiqiqiB")  # index, leader epoch, offset, last fetched epoch, log start, max bytes, no tags
_INDEX = Struct(">i")
_TAIL = Struct(">BBBBiqB")  # no rack; one tag, number 1, its size: replica id, broker epoch, no tags of its own
_REPLICA_STATE_BYTES = 13


class Wanted(NamedTuple):
    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int


def follower_fetch(
    replica_id: int,
    broker_epoch: int,
    session: tuple[int, int],
    topics: Mapping[bytes, Sequence[Wanted]],
    forgotten: Mapping[bytes, Iterable[int]],
    *,
    max_wait_ms: int,
    min_bytes: int,
    max_bytes: int,
) -> bytes:
    """The body; `session` is its id and epoch."""
    out = bytearray(_HEAD.pack(max_wait_ms, min_bytes, max_bytes, 0, *session))
    out += uvarint_bytes(len(topics) + 1)
    for topic_id, wanted in topics.items():
        out += topic_id
        out += uvarint_bytes(len(wanted) + 1)
        for item in wanted:
            out += _PARTITION.pack(*item, 0)
        out.append(0)
    out += uvarint_bytes(len(forgotten) + 1)
    for topic_id, gone in forgotten.items():
        indexes = list(gone)
        out += topic_id
        out += uvarint_bytes(len(indexes) + 1)
        for index in indexes:
            out += _INDEX.pack(index)
        out.append(0)
    out += _TAIL.pack(1, 1, 1, _REPLICA_STATE_BYTES, replica_id, broker_epoch, 0)
    return bytes(out)
