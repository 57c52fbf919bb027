"""A Fetch answer from what was read: bytes of ours with slices of segment files between them."""

from collections.abc import Callable, Sequence

from barnabas.broker.fetch.reader import PartitionRead
from barnabas.broker.fetch.sessions import Wanted
from barnabas.broker.network.connection import Reply
from barnabas.broker.network.writer import Piece
from barnabas.model.errors import ErrorCode
from barnabas.wire.fetch.answer import FetchedPartition, FetchedTopic, fetch_response_pieces

_BY_ID_SINCE = 13
_NOT_LOOKED_AT = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)


def pack(
    version: int,
    correlation_id: int,
    reads: Sequence[PartitionRead],
    session_id: int,
    *,
    incremental: bool,
    served: Callable[[Wanted], None],
    to_follower: bool = False,
) -> Reply:
    """`incremental`: leave out what has not changed. `served` is called with each partition that gave data."""
    by_id = version >= _BY_ID_SINCE
    topics: list[FetchedTopic] = []
    slices: list[Piece] = []
    last_topic: str | bytes | None = None
    fetched: list[FetchedPartition] = []
    for read in reads:
        wanted = read.wanted
        if read.partition is not None:
            read.partition.counts.fetches += 1
        is_news = read.is_news
        wanted.remember(read.high_watermark, read.log_start_offset)
        if incremental and not is_news:
            continue
        topic: str | bytes = wanted.topic_id if by_id else wanted.topic
        if topic != last_topic:
            last_topic, fetched = topic, []
            topics.append((wanted.topic, wanted.topic_id, fetched))
        if read.slice is not None:
            assert read.partition is not None
            slices.append(read.slice)
            if to_follower:
                read.partition.counts.replication_bytes_out += read.slice.length
            else:
                read.partition.counts.bytes_out += read.slice.length
            served(wanted)
        fetched.append(
            FetchedPartition(
                wanted.index,
                read.error_code,
                read.high_watermark,
                read.last_stable_offset,
                read.log_start_offset,
                read.slice.length if read.slice is not None else 0,
                [] if read.error_code in _NOT_LOOKED_AT else read.aborted,
                read.preferred_replica,
                read.diverging_epoch,
            )
        )
    pieces = fetch_response_pieces(version, correlation_id, topics, session_id=session_id)
    assert len(pieces) == len(slices) + 1  # the frame's length counts each of them
    if not slices:
        return pieces[0]
    out: list[Piece] = []
    for piece, piece_slice in zip(pieces, slices, strict=False):
        out += (piece, piece_slice)
    out.append(pieces[-1])
    return out
