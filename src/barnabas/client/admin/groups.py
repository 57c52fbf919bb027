"""Consumer groups seen from outside: who is in, how far each partition is read, how far behind; and moving them.

Lag in seconds is the age of the next unread record: the question people have is "how old is what we have not seen yet",
and a count of records does not answer it. No API tells a record's time by its offset, so one record is read from each
partition that lags, all at once, and not waited for longer than `READ_WAIT_S`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, TopicPartition

from barnabas.client.admin.connection import AdminConnection
from barnabas.client.admin.descriptions import (
    GroupDescription,
    GroupInfo,
    GroupMember,
    GroupPartition,
    NodeInfo,
    OffsetReset,
)
from barnabas.client.admin.rdkafka import OffsetSpec
from barnabas.client.common.connection import open_handle
from barnabas.client.common.times import epoch_ms, milliseconds
from barnabas.client.errors import BadSetting, BarnabasError, GroupNotEmpty, UnknownGroup, translate
from barnabas.model.errors import ErrorCode

READ_WAIT_S = 3.0
Partition = tuple[str, int]

_STATES = {
    "PREPARING_REBALANCING": "PreparingRebalance",
    "COMPLETING_REBALANCING": "CompletingRebalance",
    "STABLE": "Stable",
    "DEAD": "Dead",
    "EMPTY": "Empty",
}


def list_groups(connection: AdminConnection) -> list[GroupInfo]:
    found = connection.call(connection.client.list_consumer_groups, "list groups")
    if found.errors:  # a node that could not be asked may know groups that no other does
        raise translate(found.errors[0], "list groups")
    infos = [
        GroupInfo(
            each.group_id, _STATES.get(each.state.name, "Unknown"), _protocol(each), each.is_simple_consumer_group
        )
        for each in found.valid
    ]
    return sorted(infos, key=lambda each: each.name)


def lags(connection: AdminConnection, names: Sequence[str]) -> dict[str, int]:
    """Records that each group has yet to read, of those that have committed something. All are asked at once."""
    doing = "look up the groups' offsets"
    asked = {
        name: connection.ask_one(
            connection.client.list_consumer_group_offsets, doing, [ConsumerGroupTopicPartitions(name)]
        )
        for name in names
    }
    committed = {
        name: {(each.topic, each.partition): each.offset for each in answer().topic_partitions if each.offset >= 0}
        for name, answer in asked.items()
    }
    every = {place for places in committed.values() for place in places}
    ends = connection.offsets({place: OffsetSpec.latest() for place in every})
    return {
        name: sum(max(0, ends.get(place, offset) - offset) for place, offset in places.items())
        for name, places in committed.items()
        if places
    }


def describe_group(connection: AdminConnection, name: str, with_seconds: bool) -> GroupDescription:
    doing = f"describe group {name!r}"
    found = connection.call_one(connection.client.describe_consumer_groups, doing, [name])
    state = _STATES.get(found.state.name, "Unknown")
    committed = committed_offsets(connection, name, doing)
    if state == "Dead" and not committed:
        raise UnknownGroup(f"{doing}: no such group", ErrorCode.GROUP_ID_NOT_FOUND)
    members = [
        GroupMember(
            each.member_id,
            each.client_id,
            each.host.lstrip("/"),
            each.group_instance_id,
            sorted((part.topic, part.partition) for part in each.assignment.topic_partitions),
        )
        for each in found.members
    ]
    node = found.coordinator
    return GroupDescription(
        name=name,
        state=state,
        protocol=_protocol(found),
        assignor=found.partition_assignor or "",
        coordinator=NodeInfo(node.id, node.host, node.port, node.rack) if node is not None else None,
        members=sorted(members, key=lambda each: (each.client_id, each.id)),
        partitions=partition_rows(connection, committed, members, with_seconds),
    )


def committed_offsets(connection: AdminConnection, name: str, doing: str) -> dict[Partition, int]:
    answer = connection.call_one(
        connection.client.list_consumer_group_offsets, doing, [ConsumerGroupTopicPartitions(name)]
    )
    return {(each.topic, each.partition): each.offset for each in answer.topic_partitions if each.offset >= 0}


def partition_rows(
    connection: AdminConnection, committed: dict[Partition, int], members: Sequence[GroupMember], with_seconds: bool
) -> list[GroupPartition]:
    """How far a group is that has committed these offsets."""
    owners = {partition: member for member in members for partition in member.partitions}
    topics = {topic for topic, _ in [*committed, *owners]}
    everything = sorted(set(committed) | set(owners) | connection.partitions(topics))
    ends = connection.offsets({partition: OffsetSpec.latest() for partition in everything})
    unread = {part: offset for part, offset in committed.items() if ends.get(part, 0) > offset}
    written_ms = _write_times_ms(connection, unread) if with_seconds and unread else {}
    now_ms = time.time() * 1000
    rows = []
    for partition in everything:
        offset, end, owner = committed.get(partition), ends.get(partition), owners.get(partition)
        lag = max(0, end - offset) if end is not None and offset is not None else None
        seconds: float | None = 0.0 if lag == 0 else None
        if partition in written_ms:
            seconds = max(0.0, (now_ms - written_ms[partition]) / 1000)
        rows.append(
            GroupPartition(
                *partition, offset, end, lag, seconds, owner.id if owner else None, owner.host if owner else None
            )
        )
    return rows


def _write_times_ms(connection: AdminConnection, unread: Mapping[Partition, int]) -> dict[Partition, int]:
    """The timestamp of the first record at or after each offset, for the partitions that answer in time."""
    settings = {
        **connection.settings,
        "group.id": "barnabas-lag",  # librdkafka wants a name; nothing joins and nothing is committed under it
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",  # the unread record may be gone already: then the oldest one left tells
        "queued.min.messages": 1,
        "fetch.message.max.bytes": 1,  # one batch of each partition is enough
        "fetch.wait.max.ms": 10,
        "fetch.queue.backoff.ms": 1,  # else a second goes by for each partition
        "enable.partition.eof": True,  # what is left may be markers of transactions only: do not wait for a record
    }
    consumer = open_handle(Consumer, settings, "read lag")
    found: dict[Partition, int] = {}
    waiting = set(unread)
    deadline = time.monotonic() + READ_WAIT_S
    try:
        consumer.assign([TopicPartition(*partition, offset) for partition, offset in unread.items()])
        while waiting and (left := deadline - time.monotonic()) > 0:
            message = consumer.poll(min(left, 0.2))
            if message is None or message.topic() is None:
                continue
            partition = (message.topic(), message.partition())
            if message.error() is None and partition in waiting:
                found[partition] = message.timestamp()[1]
            waiting.discard(partition)
    finally:
        consumer.close()
    return {partition: stamp for partition, stamp in found.items() if stamp >= 0}


def reset_group(
    connection: AdminConnection,
    name: str,
    topic: str,
    indexes: Sequence[int],
    to: str | int | datetime | timedelta,
    dry_run: bool,
) -> list[OffsetReset]:
    doing = f"reset group {name!r} on {topic!r}"
    before = committed_offsets(connection, name, doing)
    starts = connection.offsets({(topic, index): OffsetSpec.earliest() for index in indexes})
    ends = connection.offsets({(topic, index): OffsetSpec.latest() for index in indexes})
    moments: dict[Partition, int] = {}
    if isinstance(to, (datetime, timedelta)):
        stamp = epoch_ms(to) if isinstance(to, datetime) else int(time.time() * 1000) - milliseconds(to)
        spec = OffsetSpec.for_timestamp(max(0, stamp))
        moments = connection.all_offsets({(topic, index): spec for index in indexes}, doing)
    plan = []
    for index in indexes:
        partition = (topic, index)
        if partition not in starts or partition not in ends:
            raise BadSetting(f"{doing}: partition {index} does not exist or has no leader")
        start, end, old = starts[partition], ends[partition], before.get(partition)
        new = _target(doing, to, start, end, old, moments.get(partition, -1))
        plan.append(OffsetReset(topic, index, old, min(max(new, start), end)))
    if not dry_run:
        targets = [TopicPartition(each.topic, each.partition, each.after) for each in plan]
        request = [ConsumerGroupTopicPartitions(name, targets)]
        answer = connection.call_one(connection.client.alter_consumer_group_offsets, doing, request)
        for each in answer.topic_partitions:
            if each.error is not None:
                raise _not_moved(doing, each.error, connection.bootstrap)
    return plan


def _not_moved(doing: str, error: KafkaError, address: str) -> BarnabasError:
    """A broker refuses an outside commit to a live group as one from a member that it does not know."""
    refusal = translate(error, doing, address)
    if isinstance(refusal, GroupNotEmpty):
        return GroupNotEmpty(f"{doing}: the group has members; stop them first", refusal.code)
    return refusal


def _target(
    doing: str, to: str | int | datetime | timedelta, start: int, end: int, old: int | None, at_moment: int
) -> int:
    if isinstance(to, (datetime, timedelta)):
        return at_moment if at_moment >= 0 else end
    if isinstance(to, int):
        return to
    if to in ("earliest", "beginning"):
        return start
    if to in ("latest", "end"):
        return end
    if to[:1] in ("+", "-") and to[1:].isdigit():
        if old is None:
            raise BadSetting(f"{doing}: nothing is committed, so there is nothing to move by {to}")
        return old + int(to)
    if to.isdigit():
        return int(to)
    raise BadSetting(f"{doing}: {to!r} is neither earliest, latest, an offset, +N, -N nor a time")


def _protocol(found: object) -> str:
    return str(getattr(getattr(found, "type", None), "name", "CLASSIC")).lower().replace("unknown", "classic")
