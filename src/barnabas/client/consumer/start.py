"""Where reading starts, and where a seek goes: as words, offsets or moments, resolved to offsets.

"beginning" ("earliest"), "end" ("latest"), an offset (the end, where it lies past it), a negative number (that many
before the end), or a moment: the first record written then or later. "committed" is for groups: where the group left
off, or the beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaException
from confluent_kafka import TopicPartition as Place

from barnabas.client.common.connection import logger
from barnabas.client.common.rdkafka import ConsumerHandle
from barnabas.client.common.times import epoch_ms
from barnabas.client.errors import BadSetting, translate
from barnabas.model.ids import TopicPartition

Where = str | int | datetime
LOOKUP_S = 10.0
LATEST_TIMESTAMP = -1  # ListOffsets' way to ask for the end
_WORDS = {"earliest": OFFSET_BEGINNING, "beginning": OFFSET_BEGINNING, "latest": OFFSET_END, "end": OFFSET_END}


def check(where: Where, doing: str, committed: bool = False) -> Where:
    """Refuses what is no place to read from, before anything is asked of the cluster."""
    if isinstance(where, bool) or not isinstance(where, (str, int, datetime)):
        raise BadSetting(f"{doing}: {where!r} is no place to read from")
    if isinstance(where, str) and where not in _WORDS and not (committed and where == "committed"):
        words = ", ".join([*_WORDS, *(["committed"] if committed else [])])
        raise BadSetting(f"{doing}: {where!r} is none of {words}; else give an offset or a datetime")
    return where


def reset_policy(where: Where) -> str:
    """librdkafka's auto.offset.reset: where to go when there is no offset, or it is gone."""
    return "latest" if isinstance(where, str) and _WORDS.get(where) == OFFSET_END else "earliest"


def resolve(handle: ConsumerHandle, partitions: Sequence[TopicPartition], where: Where, address: str) -> list[Place]:
    """Each partition with the offset to go to. The end is looked up now: what is written after this call is read, where
    librdkafka would look later. The beginning does not move, and is left to librdkafka."""
    if where == "committed":
        where = "earliest"
    try:
        if isinstance(where, datetime):
            return _at_moment(handle, partitions, epoch_ms(where))
        if isinstance(where, str) and _WORDS[where] == OFFSET_END:
            return _at_moment(handle, partitions, LATEST_TIMESTAMP)
        if isinstance(where, int) and where < 0:
            return [_before_end(handle, each, -where) for each in partitions]
    except KafkaException as error:
        raise translate(error, f"find where {where} is", address) from None
    if isinstance(where, int):
        return _not_past_end(handle, partitions, where)
    return [Place(each.topic, each.partition, _WORDS[where]) for each in partitions]


def _not_past_end(handle: ConsumerHandle, partitions: Sequence[TopicPartition], offset: int) -> list[Place]:
    """Past the end of a partition means: at its end. librdkafka would take the offset for one that is gone, and read
    the whole partition. Without an answer the offset stays: an outage is waited out by reading, not here."""
    try:
        ends = {(each.topic, each.partition): each.offset for each in _at_moment(handle, partitions, LATEST_TIMESTAMP)}
    except KafkaException as error:
        logger.info("cannot look up the ends of partitions: %s", error)
        ends = {}
    known = {each: ends.get((each.topic, each.partition), OFFSET_END) for each in partitions}
    return [Place(each.topic, each.partition, min(offset, end) if end >= 0 else offset) for each, end in known.items()]


def _at_moment(handle: ConsumerHandle, partitions: Sequence[TopicPartition], moment_ms: int) -> list[Place]:
    if not partitions:
        return []
    asked = [Place(each.topic, each.partition, moment_ms) for each in partitions]
    found = handle.offsets_for_times(asked, timeout=LOOKUP_S)
    return [Place(each.topic, each.partition, each.offset if each.offset >= 0 else OFFSET_END) for each in found]


def _before_end(handle: ConsumerHandle, partition: TopicPartition, records: int) -> Place:
    place = Place(partition.topic, partition.partition)
    low, high = handle.get_watermark_offsets(place, timeout=LOOKUP_S)
    return Place(partition.topic, partition.partition, max(low, high - records))
