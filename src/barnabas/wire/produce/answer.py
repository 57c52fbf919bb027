"""The usual answers to Produce, versions 3-13, without an error: for one partition packed in one or two calls, for
several with one call each.

What versions added: 5 log start offset, 8 errors of single records, 9 flexible, 10 the current leader as a tag, 13
topic id in place of the name. An answer with an error goes through `headers.encode_response_frame`.
"""

from collections.abc import Iterable
from struct import Struct

from barnabas.wire.varints import uvarint_bytes

FIRST_FLEXIBLE = 9
FIRST_WITH_TOPIC_ID = 13

_FLEXIBLE_NAMED = Struct(">iiBBB")  # frame length, correlation id, header tags, topics + 1, name length + 1
_FLEXIBLE_BY_ID = Struct(">iiBB16sBihqqqBBBBiB")
_FLEXIBLE_PARTITION = Struct(">BihqqqBBBBiB")  # see produce_success_frame
_FLEXIBLE_BY_ID_BYTES = _FLEXIBLE_BY_ID.size - 4  # a frame's length does not count itself
_FLEXIBLE_NAMED_BYTES = _FLEXIBLE_NAMED.size + _FLEXIBLE_PARTITION.size - 4
_FLEXIBLE_BY_NAME: dict[int, Struct] = {}  # the whole answer, by the length of the topic's name
_LEGACY_NAMED = Struct(">iiih")  # frame length, correlation id, topics, name length
_LEGACY_PARTITION = {
    **dict.fromkeys((3, 4), Struct(">iihqqi")),
    **dict.fromkeys((5, 6, 7), Struct(">iihqqqi")),
    8: Struct(">iihqqqihi"),
}
_OLD_PARTITION = _LEGACY_PARTITION[3]
_OLD_PARTITION_BYTES = 10 + _OLD_PARTITION.size


def produce_success_frame(
    version: int,
    correlation_id: int,
    name: str | None,
    topic_id: bytes | None,
    index: int,
    base_offset: int,
    log_start_offset: int,
    log_append_time_ms: int = -1,
    throttle_time_ms: int = 0,
) -> bytes:
    """The whole answer, frame length and header included, to a request for one partition that was appended.

    Any other answer goes through `headers.encode_response_frame`.
    """
    if version >= FIRST_WITH_TOPIC_ID:
        return _FLEXIBLE_BY_ID.pack(
            _FLEXIBLE_BY_ID_BYTES,
            correlation_id,
            0,  # header tags
            2,  # one topic
            topic_id,
            2,  # one partition
            index,
            0,  # error code
            base_offset,
            log_append_time_ms,
            log_start_offset,
            1,  # no record errors
            0,  # no error message
            0,  # tags of the partition
            0,  # tags of the topic
            throttle_time_ms,
            0,  # tags of the response
        )
    text = name.encode() if name is not None else b""
    length = len(text)
    if version < 5:
        return (
            _LEGACY_NAMED.pack(length + _OLD_PARTITION_BYTES, correlation_id, 1, length)
            + text
            + _OLD_PARTITION.pack(1, index, 0, base_offset, log_append_time_ms, throttle_time_ms)
        )
    if version >= FIRST_FLEXIBLE and length < 127:
        answer = _FLEXIBLE_BY_NAME.get(length)
        if answer is None:
            answer = _FLEXIBLE_BY_NAME[length] = Struct(f">iiBBB{length}sBihqqqBBBBiB")
        return answer.pack(
            length + _FLEXIBLE_NAMED_BYTES,
            correlation_id,
            0,  # header tags
            2,  # one topic
            length + 1,
            text,
            2,  # one partition
            index,
            0,  # error code
            base_offset,
            log_append_time_ms,
            log_start_offset,
            1,  # no record errors
            0,  # no error message
            0,  # tags of the partition
            0,  # tags of the topic
            throttle_time_ms,
            0,  # tags of the response
        )
    return _other_success_frame(
        version, correlation_id, text, index, base_offset, log_start_offset, log_append_time_ms, throttle_time_ms
    )


def _other_success_frame(
    version: int,
    correlation_id: int,
    name: bytes,
    index: int,
    base_offset: int,
    log_start_offset: int,
    log_append_time_ms: int,
    throttle_time_ms: int,
) -> bytes:
    length = len(name)
    if version >= FIRST_FLEXIBLE:  # a name of 127 bytes or more: its length takes two
        head = _FLEXIBLE_NAMED.pack(
            length + 1 + _FLEXIBLE_NAMED_BYTES, correlation_id, 0, 2, (length + 1) & 0x7F | 0x80
        )
        tail = _FLEXIBLE_PARTITION.pack(
            2, index, 0, base_offset, log_append_time_ms, log_start_offset, 1, 0, 0, 0, throttle_time_ms, 0
        )
        return head + bytes(((length + 1) >> 7,)) + name + tail
    partition = _LEGACY_PARTITION[version]
    values = [1, index, 0, base_offset, log_append_time_ms]
    if version >= 5:
        values.append(log_start_offset)
    if version >= 8:
        values += (0, -1)  # no record errors, no error message
    head = _LEGACY_NAMED.pack(10 + length + partition.size, correlation_id, 1, length)
    return head + name + partition.pack(*values, throttle_time_ms)


_ITEM = {
    **dict.fromkeys((3, 4), Struct(">ihqq")),
    **dict.fromkeys((5, 6, 7), Struct(">ihqqq")),
    8: Struct(">ihqqqih"),
    **dict.fromkeys(range(FIRST_FLEXIBLE, 14), Struct(">ihqqqBBB")),
}
_FIRST_WITH_LOG_START = 5
_FIRST_WITH_RECORD_ERRORS = 8
_HEAD_AND_TAGS = Struct(">iiB")
_HEAD_AND_COUNT = Struct(">iii")
_INT32 = Struct(">i")

Item = tuple[int, int, int, int]
"""Partition, base offset, log append time, log start offset."""


def produce_success_answer(
    version: int, correlation_id: int, topics: Iterable[tuple[str | None, bytes | None, list[Item]]]
) -> bytes:
    """The whole answer to a request of which every batch was appended."""
    pack = _ITEM[version].pack
    flexible, by_id = version >= FIRST_FLEXIBLE, version >= FIRST_WITH_TOPIC_ID
    parts: list[bytes] = []
    count = 0
    for name, topic_id, items in topics:
        count += 1
        text = (topic_id or bytes(16)) if by_id else (name or "").encode()
        if flexible:
            if not by_id:
                parts.append(uvarint_bytes(len(text) + 1))
            parts += (text, uvarint_bytes(len(items) + 1))
            parts += [pack(index, 0, base, time, start, 1, 0, 0) for index, base, time, start in items]
            parts.append(b"\0")  # tags of the topic
        else:
            parts += (len(text).to_bytes(2), text, _INT32.pack(len(items)))
            if version < _FIRST_WITH_LOG_START:
                parts += [pack(index, 0, base, time) for index, base, time, _ in items]
            elif version < _FIRST_WITH_RECORD_ERRORS:
                parts += [pack(index, 0, base, time, start) for index, base, time, start in items]
            else:
                parts += [pack(index, 0, base, time, start, 0, -1) for index, base, time, start in items]
    body = b"".join(parts)
    if flexible:
        counted = uvarint_bytes(count + 1)
        length = 10 + len(counted) + len(body)  # with correlation id, tags of the header, throttle time, last tags
        return b"".join((_HEAD_AND_TAGS.pack(length, correlation_id, 0), counted, body, bytes(5)))
    return b"".join((_HEAD_AND_COUNT.pack(12 + len(body), correlation_id, count), body, bytes(4)))
