"""Fetch answers, versions 4-18, by hand: the bytes between the records, so that the records can leave by sendfile.

`fetch_response_pieces` gets the length of each partition's records, never the records, and returns the pieces of the
answer around them: piece, records, piece, records, ..., piece. The first piece begins with the frame's length, which
counts the records too. A partition without records has no gap of its own.

What versions added: 5 log start offset, 7 sessions and an error for the whole answer, 11 the preferred replica, 12
flexible with tags for a diverging epoch, the current leader and a snapshot, 13 topic id in place of the name, 16 the
addresses of the leaders named.
"""

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from barnabas.wire.fetch.tags import endpoint_tags, partition_tags
from barnabas.wire.varints import uvarint_bytes

FIRST_FLEXIBLE = 12
FIRST_WITH_TOPIC_ID = 13
FIRST_WITH_ENDPOINTS = 16


class FetchedPartition(NamedTuple):
    """What a Fetch says of one partition; `records_bytes` is how many bytes of records will be put in the gap.

    The pairs are tags, left out when None: diverging_epoch (epoch, end offset), current_leader (id, epoch), snapshot_id
    (end offset, epoch). Aborted transactions are (producer id, first offset), None when nobody asked for them.
    """

    partition_index: int
    error_code: int = 0
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records_bytes: int = 0
    aborted_transactions: Sequence[tuple[int, int]] | None = None
    preferred_read_replica: int = -1
    diverging_epoch: tuple[int, int] | None = None
    current_leader: tuple[int, int] | None = None
    snapshot_id: tuple[int, int] | None = None


class NodeEndpoint(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None = None


FetchedTopic = tuple[str | None, bytes | None, Sequence[FetchedPartition]]  # name, topic id, partitions

_FLEXIBLE_HEAD = Struct(">iiBihi")  # frame length, correlation id, header tags, throttle time, error, session
_SESSION_HEAD = Struct(">iiihi")  # 7-11: no tags
_OLD_HEAD = Struct(">iii")  # 4-6: no error, no session
_FLEXIBLE_PARTITION = Struct(">ihqqq")  # index, error, high watermark, last stable offset, log start offset
_FIRST_PARTITION = Struct(">ihqq")  # 4: no log start offset
_ONE_BY_ID = Struct(">iiBihiB16sBihqqqBi")
_ONE_NAMED_HEAD = Struct(">iiBihiBB")
_ONE_NAMED_PARTITION = Struct(">BihqqqBi")
_TRANSACTION = Struct(">qq")
_INT16 = Struct(">h")
_INT32 = Struct(">i")

_ONE_TAIL = bytes(3)  # no tags of the partition, the topic, the answer
_ONE_BY_ID_BYTES = _ONE_BY_ID.size + len(_ONE_TAIL) - 4  # a frame's length does not count itself
_ONE_NAMED_BYTES = _ONE_NAMED_HEAD.size + _ONE_NAMED_PARTITION.size + len(_ONE_TAIL) - 4


def fetch_response_pieces(
    version: int,
    correlation_id: int,
    topics: Sequence[FetchedTopic],
    *,
    throttle_time_ms: int = 0,
    error_code: int = 0,
    session_id: int = 0,
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> list[bytes]:
    """The answer around its records: the k-th partition with records goes between pieces k and k + 1."""
    if version < FIRST_FLEXIBLE:
        return _legacy_pieces(version, correlation_id, topics, throttle_time_ms, error_code, session_id)
    if len(topics) == 1 and not node_endpoints and len(topics[0][2]) == 1:
        one = _one_partition(version, correlation_id, topics[0], throttle_time_ms, error_code, session_id)
        if one is not None:
            return one
    pieces = []
    piece = bytearray(_FLEXIBLE_HEAD.pack(0, correlation_id, 0, throttle_time_ms, error_code, session_id))
    piece += uvarint_bytes(len(topics) + 1)
    records_bytes = 0
    for name, topic_id, partitions in topics:
        if version >= FIRST_WITH_TOPIC_ID:
            piece += _checked_id(topic_id)
        else:
            text = _checked_name(name)
            piece += uvarint_bytes(len(text) + 1)
            piece += text
        piece += uvarint_bytes(len(partitions) + 1)
        for part in partitions:
            piece += _FLEXIBLE_PARTITION.pack(*part[:5])
            aborted = part.aborted_transactions
            piece += uvarint_bytes(0 if aborted is None else len(aborted) + 1)
            for transaction in aborted or ():
                piece += _TRANSACTION.pack(*transaction)
                piece.append(0)
            piece += _INT32.pack(part.preferred_read_replica)
            piece += uvarint_bytes(part.records_bytes + 1)
            if part.records_bytes:
                records_bytes += part.records_bytes
                pieces.append(bytes(piece))
                piece = bytearray()
            piece += partition_tags(part.diverging_epoch, part.current_leader, part.snapshot_id)
        piece.append(0)
    piece += endpoint_tags(node_endpoints) if version >= FIRST_WITH_ENDPOINTS else b"\x00"
    pieces.append(bytes(piece))
    return _with_length(pieces, records_bytes)


def _one_partition(
    version: int, correlation_id: int, topic: FetchedTopic, throttle_time_ms: int, error_code: int, session_id: int
) -> list[bytes] | None:
    """The usual answer, packed in one or two calls; None when something unusual is in it."""
    name, topic_id, partitions = topic
    (
        index,
        partition_error,
        high_watermark,
        last_stable_offset,
        log_start_offset,
        records_bytes,
        aborted,
        replica,
        diverging,
        leader,
        snapshot,
    ) = partitions[0]
    if aborted or diverging or leader or snapshot:
        return None
    no_aborted = 0 if aborted is None else 1
    size = uvarint_bytes(records_bytes + 1)
    if version >= FIRST_WITH_TOPIC_ID:
        head = (
            _ONE_BY_ID.pack(
                _ONE_BY_ID_BYTES + len(size) + records_bytes,
                correlation_id,
                0,
                throttle_time_ms,
                error_code,
                session_id,
                2,  # one topic
                _checked_id(topic_id),
                2,  # one partition
                index,
                partition_error,
                high_watermark,
                last_stable_offset,
                log_start_offset,
                no_aborted,
                replica,
            )
            + size
        )
    else:
        text = _checked_name(name)
        length = len(text)
        if length > 126:
            return None
        total = _ONE_NAMED_BYTES + length + len(size) + records_bytes
        head = b"".join(
            (
                _ONE_NAMED_HEAD.pack(total, correlation_id, 0, throttle_time_ms, error_code, session_id, 2, length + 1),
                text,
                _ONE_NAMED_PARTITION.pack(
                    2,
                    index,
                    partition_error,
                    high_watermark,
                    last_stable_offset,
                    log_start_offset,
                    no_aborted,
                    replica,
                ),
                size,
            )
        )
    return [head, _ONE_TAIL] if records_bytes else [head + _ONE_TAIL]


def _legacy_pieces(
    version: int,
    correlation_id: int,
    topics: Sequence[FetchedTopic],
    throttle_time_ms: int,
    error_code: int,
    session_id: int,
) -> list[bytes]:
    pieces = []
    if version >= 7:
        piece = bytearray(_SESSION_HEAD.pack(0, correlation_id, throttle_time_ms, error_code, session_id))
    else:
        piece = bytearray(_OLD_HEAD.pack(0, correlation_id, throttle_time_ms))
    piece += _INT32.pack(len(topics))
    records_bytes = 0
    for name, _topic_id, partitions in topics:
        text = _checked_name(name)
        piece += _INT16.pack(len(text))
        piece += text
        piece += _INT32.pack(len(partitions))
        for part in partitions:
            piece += _FLEXIBLE_PARTITION.pack(*part[:5]) if version >= 5 else _FIRST_PARTITION.pack(*part[:4])
            aborted = part.aborted_transactions
            piece += _INT32.pack(-1 if aborted is None else len(aborted))
            for transaction in aborted or ():
                piece += _TRANSACTION.pack(*transaction)
            if version >= 11:
                piece += _INT32.pack(part.preferred_read_replica)
            piece += _INT32.pack(part.records_bytes)
            if part.records_bytes:
                records_bytes += part.records_bytes
                pieces.append(bytes(piece))
                piece = bytearray()
    pieces.append(bytes(piece))
    return _with_length(pieces, records_bytes)


def _with_length(pieces: list[bytes], records_bytes: int) -> list[bytes]:
    total = sum(map(len, pieces)) + records_bytes - 4
    pieces[0] = _INT32.pack(total) + pieces[0][4:]
    return pieces


def _checked_name(name: str | None) -> bytes:
    if name is None:
        raise TypeError("Fetch before version 13 names its topics")
    return name.encode()


def _checked_id(topic_id: bytes | None) -> bytes:
    if topic_id is None or len(topic_id) != 16:
        raise TypeError(f"Fetch from version 13 on needs topic ids of 16 bytes, not {topic_id!r}")
    return topic_id
