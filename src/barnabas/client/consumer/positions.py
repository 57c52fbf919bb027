"""A consumer's places: where each partition is read, where it could be, how far that is from its end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as Place

from barnabas.client.common.rdkafka import ConsumerHandle
from barnabas.client.consumer.buffer import Offsets
from barnabas.client.consumer.start import LOOKUP_S, Where, reset_policy
from barnabas.client.errors import BarnabasError, CannotReach, translate
from barnabas.model.ids import TopicPartition

# Of a partition that was read: it is there, and its leader is away; or just lost, with librdkafka's handle of it.
_DESTROY_BROKER = -137  # librdkafka 2.12 and later; older clients have no name for it
_NO_LEADER = (KafkaError._UNKNOWN_PARTITION, KafkaError._DESTROY, _DESTROY_BROKER)
SEEK_WAIT_S = 10.0  # a partition that was assigned a moment ago refuses a seek until its first offset is known


def seek_all(handle: ConsumerHandle, places: Sequence[Place], address: str) -> None:
    deadline = time.monotonic() + SEEK_WAIT_S
    for place in places:
        while True:
            try:
                handle.seek(place)
                break
            except KafkaException as error:
                early = error.args[0].code() in (KafkaError._STATE, KafkaError._IN_PROGRESS)
                if not early or time.monotonic() >= deadline:
                    raise translate(error, f"seek in {place.topic}-{place.partition}", address) from None
                time.sleep(0.01)


def positions(
    handle: ConsumerHandle, partitions: Iterable[TopicPartition], start: Where, group: bool, address: str
) -> Offsets:
    """The next offset librdkafka would give. Where it has not begun, the offset where it will: the committed one, or
    the end that `start` chose."""
    asked = sorted(partitions)
    try:
        found = {
            TopicPartition(each.topic, each.partition): each.offset
            for each in handle.position([Place(*each) for each in asked])
        }
        unknown = [each for each in asked if found.get(each, -1) < 0]
        if unknown and group:
            found.update((each, offset) for each, offset in committed(handle, unknown, address).items() if offset)
        for each in unknown:
            if found.get(each, -1) < 0:
                low, high = _watermarks(handle, each, address)
                found[each] = high if reset_policy(start) == "latest" else low
    except KafkaException as error:
        raise translate(error, "look up positions", address) from None
    return found


def committed(
    handle: ConsumerHandle, partitions: Iterable[TopicPartition], address: str
) -> dict[TopicPartition, int | None]:
    asked = [Place(*each) for each in sorted(partitions)]
    if not asked:
        return {}
    try:
        found = handle.committed(asked, timeout=LOOKUP_S)
    except KafkaException as error:
        raise translate(error, "look up committed offsets", address) from None
    return {TopicPartition(each.topic, each.partition): each.offset if each.offset >= 0 else None for each in found}


def ends(handle: ConsumerHandle, partitions: Iterable[TopicPartition], address: str) -> Offsets:
    return {each: _watermarks(handle, each, address)[1] for each in sorted(partitions)}


def _watermarks(handle: ConsumerHandle, partition: TopicPartition, address: str) -> tuple[int, int]:
    doing = f"look up the end of {partition}"
    try:
        low, high = handle.get_watermark_offsets(Place(*partition), timeout=LOOKUP_S)
    except KafkaException as error:
        if error.args[0].code() in _NO_LEADER:
            raise CannotReach(address, f"{doing}: its leader is away. Is a node up?") from None
        raise translate(error, doing, address) from None
    return low, high


def store(handle: ConsumerHandle, offsets: Offsets) -> None:
    """Marks offsets for librdkafka's next automatic commit. A partition that has just left is not ours to mark."""
    for each, offset in offsets.items():
        try:
            handle.store_offsets(offsets=[Place(*each, offset)])
        except KafkaException as error:
            if error.args[0].code() not in (KafkaError._STATE, KafkaError._UNKNOWN_PARTITION):
                raise translate(error, f"store the offset of {each}") from None


def no_group(what: str) -> BarnabasError:
    return BarnabasError(f'{what} needs a group: Consumer(..., group="name")')
