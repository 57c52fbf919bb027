"""Produce, versions 3-13, by hand: where each partition's records lie in the frame.

The records are neither copied nor sliced: the parser gives their first byte and the byte after their last, and the
broker works on the connection's buffer. Refused is a request for more partitions than can be answered in one go. What
versions added: 3 transactional id, 9 flexible, 13 topic id in place of the name. The answer is answer.py's.
"""

from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from barnabas.model.limits import PRODUCE_PARTITIONS_MAX
from barnabas.wire.errors import ProtocolError
from barnabas.wire.produce.answer import FIRST_FLEXIBLE, FIRST_WITH_TOPIC_ID
from barnabas.wire.varints import long_uvarint, skip_tags

Topics = list[tuple[str | None, bytes | None, list[tuple[int, int, int]]]]
"""(name or None, topic id or None, partitions); partitions are (index, start, end), start -1 for null."""


class ProduceRequest(NamedTuple):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: Topics


_FLEXIBLE_HEAD = Struct(">hiB").unpack_from  # acks, timeout, topics + 1
_PARTITIONS_INDEX_SIZE = Struct(">iBB").unpack_from  # index, first two bytes of the records' length
_LEGACY_HEAD = Struct(">hii").unpack_from  # acks, timeout, topics
_INT16 = Struct(">h").unpack_from
_INT32 = Struct(">i").unpack_from
_INDEX_SIZE = Struct(">ii").unpack_from


class SingleProduce(NamedTuple):
    """The usual request: no transaction, one topic (by name or by id), one partition with records."""

    acks: int
    timeout_ms: int
    name: str | None
    topic_id: bytes | None
    partition: int
    start: int
    end: int


_SINGLE_LEGACY = Struct(">hhiih").unpack_from  # no transactional id, acks, timeout, topics, name length
_SINGLE_LEGACY_BYTES = 14
_SINGLE_LEGACY_PARTITION = Struct(">iii").unpack_from  # partitions, index, size of the records
_SINGLE_LEGACY_PARTITION_BYTES = 12
_SINGLE_FLEXIBLE = Struct(">BhiBB").unpack_from  # no transactional id, acks, timeout, topics + 1, name length + 1
_SINGLE_FLEXIBLE_BYTES = 9
_SINGLE_PARTITION = Struct(">BiBB").unpack_from  # partitions + 1, index, first two bytes of the records' size
_SINGLE_PARTITION_BYTES = 6  # with one byte of size
_TOPIC_ID_BYTES = 16
_new_single = tuple.__new__


def parse_single(data: bytes | bytearray | memoryview, position: int, version: int) -> SingleProduce | None:
    """The same as `parse_produce`, quicker, when the request is the usual one; None when it has to be read in full.

    Whatever is odd about it, it is not judged here: the full reader finds it again and says what it is.
    """
    try:
        if version < FIRST_FLEXIBLE:
            return _single_legacy(data, position)
        null, acks, timeout_ms, topics, length = _SINGLE_FLEXIBLE(data, position)
        if null or topics != 2:
            return None
        if version >= FIRST_WITH_TOPIC_ID:
            position += _SINGLE_FLEXIBLE_BYTES - 1
            after = position + _TOPIC_ID_BYTES
        elif 0 < length < 128:
            position += _SINGLE_FLEXIBLE_BYTES
            after = position + length - 1
        else:
            return None
        partitions, index, size, high = _SINGLE_PARTITION(data, after)
        if partitions != 2 or size < 2:
            return None
        start = after + _SINGLE_PARTITION_BYTES
        if size > 127:
            if 0 < high < 128:
                size += (high << 7) - 128
                start += 1
            else:
                size, start = long_uvarint(data, start, size)
                if size < 2:  # in more bytes than it takes
                    return None
        end = start + size - 1
        if data[end] or data[end + 1] or data[end + 2]:  # tags of the partition, the topic, the request
            return None
        if version >= FIRST_WITH_TOPIC_ID:
            topic_id = bytes(data[position:after])
            return _new_single(SingleProduce, (acks, timeout_ms, None, topic_id, index, start, end))
        name = str(data[position:after], "utf-8")
        return _new_single(SingleProduce, (acks, timeout_ms, name, None, index, start, end))
    except (StructError, IndexError, UnicodeDecodeError, ProtocolError):
        return None


def _single_legacy(data: bytes | bytearray | memoryview, position: int) -> SingleProduce | None:
    null, acks, timeout_ms, topics, length = _SINGLE_LEGACY(data, position)
    if null != -1 or topics != 1 or length < 0:
        return None
    position += _SINGLE_LEGACY_BYTES
    after = position + length
    partitions, index, size = _SINGLE_LEGACY_PARTITION(data, after)
    start = after + _SINGLE_LEGACY_PARTITION_BYTES
    if partitions != 1 or size <= 0 or start + size > len(data):
        return None
    name = str(data[position:after], "utf-8")
    return _new_single(SingleProduce, (acks, timeout_ms, name, None, index, start, start + size))


def parse_produce(data: bytes | bytearray | memoryview, position: int, version: int) -> ProduceRequest:
    """The request body at `position` of a frame that ends where `data` does."""
    try:
        if version >= FIRST_FLEXIBLE:
            return _parse_flexible(data, position, version >= FIRST_WITH_TOPIC_ID)
        return _parse_legacy(data, position)
    except (StructError, IndexError, UnicodeDecodeError) as problem:
        raise ProtocolError(f"produce v{version} request: {problem}") from None


def _parse_flexible(data: bytes | bytearray | memoryview, p: int, by_id: bool) -> ProduceRequest:
    end = len(data)
    transactional_id = None
    length = data[p]
    p += 1
    if length:
        if length > 127:
            length, p = long_uvarint(data, p, length)
        q = p + length - 1
        if q > end:
            raise ProtocolError("the transactional id is cut")
        transactional_id = str(data[p:q], "utf-8")
        p = q
    acks, timeout_ms, count = _FLEXIBLE_HEAD(data, p)
    p += 7
    if count > 127:
        count, p = long_uvarint(data, p, count)
    if not 0 < count <= min(PRODUCE_PARTITIONS_MAX, (end - p) // 3 + 1):
        raise ProtocolError(f"{count - 1} topics in {end - p} bytes")
    topics = []
    left = PRODUCE_PARTITIONS_MAX - count
    while count > 1:
        count -= 1
        name = topic_id = None
        if by_id:
            q = p + 16
            if q > end:
                raise ProtocolError("a topic id is cut")
            topic_id = bytes(data[p:q])
        else:
            length = data[p]
            p += 1
            if length > 127:
                length, p = long_uvarint(data, p, length)
            q = p + length - 1
            if not length or q > end:
                raise ProtocolError(f"a topic name of {length - 1} bytes")
            name = str(data[p:q], "utf-8")
        parts = data[q]
        p = q + 1
        if parts > 127:
            parts, p = long_uvarint(data, p, parts)
        left -= parts
        if not parts or left < 0 or parts > (end - p) // 6 + 1:
            raise ProtocolError(f"{parts - 1} partitions in {end - p} bytes")
        partitions = []
        while parts > 1:
            parts -= 1
            index, length, high = _PARTITIONS_INDEX_SIZE(data, p)
            if length < 128:
                p += 5
            elif high < 128:
                length += (high << 7) - 128
                p += 6
            else:
                length, p = long_uvarint(data, p + 5, length)
            if length:
                q = p + length - 1
                if q >= end:  # at least the tags follow
                    raise ProtocolError(f"{length - 1} bytes of records where {end - p} remain")
                partitions.append((index, p, q))
                p = q
            else:
                partitions.append((index, -1, -1))
            tags = data[p]
            p += 1
            if tags:
                p = skip_tags(data, p, tags)
        topics.append((name, topic_id, partitions))
        tags = data[p]
        p += 1
        if tags:
            p = skip_tags(data, p, tags)
    tags = data[p]
    if tags:
        skip_tags(data, p + 1, tags)
    return tuple.__new__(ProduceRequest, (transactional_id, acks, timeout_ms, topics))


def _parse_legacy(data: bytes | bytearray | memoryview, p: int) -> ProduceRequest:
    end = len(data)
    transactional_id = None
    length = _INT16(data, p)[0]
    p += 2
    if length >= 0:
        q = p + length
        if q > end:
            raise ProtocolError("the transactional id is cut")
        transactional_id = str(data[p:q], "utf-8")
        p = q
    elif length != -1:
        raise ProtocolError(f"a transactional id of {length} bytes")
    acks, timeout_ms, count = _LEGACY_HEAD(data, p)
    p += 10
    left = PRODUCE_PARTITIONS_MAX - count
    if count < 0 or left < 0 or count > (end - p) // 6:
        raise ProtocolError(f"{count} topics in {end - p} bytes")
    topics: Topics = []
    for _ in range(count):
        length = _INT16(data, p)[0]
        p += 2
        q = p + length
        if length < 0 or q > end:
            raise ProtocolError(f"a topic name of {length} bytes")
        name = str(data[p:q], "utf-8")
        parts = _INT32(data, q)[0]
        p = q + 4
        left -= parts
        if parts < 0 or left < 0 or parts > (end - p) // 8:
            raise ProtocolError(f"{parts} partitions in {end - p} bytes")
        partitions = []
        for _ in range(parts):
            index, length = _INDEX_SIZE(data, p)
            p += 8
            if length >= 0:
                q = p + length
                if q > end:
                    raise ProtocolError(f"{length} bytes of records where {end - p} remain")
                partitions.append((index, p, q))
                p = q
            elif length == -1:
                partitions.append((index, -1, -1))
            else:
                raise ProtocolError(f"{length} bytes of records")
        topics.append((name, None, partitions))
    return tuple.__new__(ProduceRequest, (transactional_id, acks, timeout_ms, topics))
