"""The Fetch request of a follower, version 17, by hand: it is sent with every round of replication.

Only what a follower says is in it: its own id and its broker's epoch (tag 1, KIP-903), its session, the partitions that
are news and those to forget. A link's fetches have no id: to the source it is a consumer. Those may be of any version
from 13 on. Compared with the compiled writer in the tests.
"""

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import NamedTuple, Protocol

from barnabas.wire.varints import uvarint_bytes

VERSION = 17
FIRST_VERSION = 13  # topics by id
_REPLICA_TAGGED_SINCE = 15  # before, the replica's id came first

_HEAD = Struct(">iiiBii")  # max wait, min bytes, max bytes, isolation level, session id, session epoch
_PARTITION = Struct(">iiqiqiB")  # index, leader epoch, offset, last fetched epoch, log start, max bytes, no tags
_INDEX = Struct(">i")
_TAIL = Struct(">BBBBiqB")  # no rack; the number of tags; tag 1, its size: replica id, broker epoch, no tags of its own
_REPLICA_STATE_BYTES = 13
_CONTINUES = uvarint_bytes(10_000) + bytes((1, 1))  # a tag of our own, its size: true
_CONSUMERS_TAIL = bytes((1, 0))  # no rack, no tags


class Wanted(NamedTuple):
    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int


class Limits(Protocol):
    """Of one fetch."""

    @property
    def wait_ms(self) -> int: ...
    @property
    def min_bytes(self) -> int: ...
    @property
    def max_bytes(self) -> int: ...


def fetch_body(
    session: tuple[int, int],
    topics: Mapping[bytes, Sequence[Wanted]],
    forgotten: Mapping[bytes, Sequence[int]],
    limits: Limits,
    replica: tuple[int, int] | None,
    version: int = VERSION,
    *,
    continues: bool = False,
) -> bytes:
    """`session` is its id and epoch; `replica` the id and the broker epoch of a follower, None for a consumer.
    `continues`: a follower's fetch that is sent ahead (broker/fetch/follower_sessions.py)."""
    out = bytearray(b"" if version >= _REPLICA_TAGGED_SINCE else _INDEX.pack(-1))
    out += _HEAD.pack(limits.wait_ms, limits.min_bytes, limits.max_bytes, 0, *session)
    out += uvarint_bytes(len(topics) + 1)
    for topic_id, wanted in topics.items():
        out += topic_id
        out += uvarint_bytes(len(wanted) + 1)
        for item in wanted:
            out += _PARTITION.pack(*item, 0)
        out.append(0)
    out += uvarint_bytes(len(forgotten) + 1)
    for topic_id, gone in forgotten.items():
        out += topic_id
        out += uvarint_bytes(len(gone) + 1)
        for index in gone:
            out += _INDEX.pack(index)
        out.append(0)
    if replica is None:
        out += _CONSUMERS_TAIL
    else:
        assert version >= _REPLICA_TAGGED_SINCE
        out += _TAIL.pack(1, 2 if continues else 1, 1, _REPLICA_STATE_BYTES, *replica, 0)
        if continues:
            out += _CONTINUES
    return bytes(out)
