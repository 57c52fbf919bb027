"""Reading a topic in batches from one place to another: used by `consume`.

Without a group every partition gets a span of offsets [start, stop); the stop is fixed when reading begins, so that a
busy topic does not keep the command from ending. A partition is done at its stop, or when librdkafka reports its end:
the last offsets may hold no record (compaction, markers of transactions), and then the stop itself is never seen.
With a group the broker hands out the partitions and the place in them; offsets are stored after a batch was written.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cli.common.failure import Failure
from barnabas.cli.common.leaderless import Leaderless
from barnabas.cli.common.moments import Position

if TYPE_CHECKING:
    from barnabas.client.admin.rdkafka import OffsetSpec
    from barnabas.client.common.rdkafka import ConsumerHandle, RawMessage

BATCH = 2_000  # measured: 1.3 million records/s; 10,000 at once leave the CPU's cache and give 0.8
WAIT_S = 0.1  # how late a Ctrl-C may be noticed
SETTINGS: dict[str, object] = {
    "enable.partition.eof": True,
    "fetch.queue.backoff.ms": 10,  # librdkafka's 1,000 lets a fast reader wait four fifths of its time
    "queued.min.messages": 200_000,
    "fetch.wait.max.ms": 100,
    "auto.offset.reset": "error",
}
WAITS = "Its records are read as soon as it has one."
GIVE_UP_S = 30.0  # a script that reads to the end has to come to one; as long as `produce` waits for a leader
WAITS_A_WHILE = f"Its records are read as soon as it has one, within {GIVE_UP_S:.0f} s."
NO_GROUP = "barnabas-cli"  # librdkafka wants a name; nothing joins and nothing is committed under it
_PARTITION_EOF = -191
_GROUP_REFUSED = 30  # GROUP_AUTHORIZATION_FAILED


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets of one partition from `start` up to, not including, `stop`; None is for ever."""

    partition: int
    start: int
    stop: int | None


def offsets(bootstrap: str, topic: str, partitions: Sequence[int], place: Position) -> dict[int, int]:
    """The offset that a place means in each partition, inside what the log keeps."""
    from barnabas.client.admin.connection import AdminConnection
    from barnabas.client.admin.rdkafka import OffsetSpec

    connection = AdminConnection(bootstrap, 10.0, None, None, {"client_id": "barnabas-cli"})

    def ask(spec: OffsetSpec) -> dict[int, int]:
        found = connection.offsets({(topic, partition): spec for partition in partitions})
        # librdkafka gives -1001, and no error, when the connection broke; -1 is "nothing so late" of a time.
        known = {partition: offset for (_, partition), offset in found.items() if offset >= -1}
        missing = set(partitions) - set(known)
        if missing:
            raise Failure(
                f"partition {min(missing)} of {topic} does not tell its offsets",
                "It may have no leader: barnabas cluster status",
            )
        return known

    if place.kind == "beginning":
        return ask(OffsetSpec.earliest())
    ends = ask(OffsetSpec.latest())
    if place.kind == "end":
        return ends
    if place.kind == "time":
        found = ask(OffsetSpec.for_timestamp(place.value))
        return {partition: ends[partition] if at < 0 else at for partition, at in found.items()}
    starts = ask(OffsetSpec.earliest())
    wanted = {part: place.value if place.kind == "offset" else ends[part] - place.value for part in partitions}
    return {part: min(max(at, starts[part]), ends[part]) for part, at in wanted.items()}


def read_spans(handle: ConsumerHandle, topic: str, spans: Sequence[Span]) -> Iterator[list[RawMessage]]:
    """The records of these spans, in batches, until every span with a stop is done."""
    from confluent_kafka import TopicPartition

    spans = [span for span in spans if span.stop is None or span.stop > span.start]
    if not spans:
        return
    stops = {span.partition: span.stop for span in spans}
    open_ended = all(stop is None for stop in stops.values())
    waiting = {partition for partition, stop in stops.items() if stop is not None}
    handle.assign([TopicPartition(topic, span.partition, span.start) for span in spans])
    leaderless = Leaderless(handle, topic, WAITS if open_ended else WAITS_A_WHILE)
    while waiting or open_ended:
        batch = []
        leaderless.look(stops if open_ended else waiting)
        if not open_ended:
            leaderless.give_up(GIVE_UP_S)
        for message in _next_batch(handle):
            partition = message.partition()
            if message.error() is not None:
                if not _is_of_group(message) and _is_end(message):
                    waiting.discard(partition)
                continue
            stop = stops.get(partition)
            if stop is not None:
                at = message.offset()
                if at >= stop - 1:
                    waiting.discard(partition)
                if at >= stop:
                    continue
            batch.append(message)
        if batch:
            yield batch
            leaderless.progress()


def read_group(handle: ConsumerHandle, topic: str, *, follow: bool) -> Iterator[list[RawMessage]]:
    """The records that the group gives this member; without `follow` until it has caught up with all of them."""
    from confluent_kafka import TopicPartition

    mine: set[int] = set()
    behind: set[int] = set()
    assigned = False

    def on_assign(_: object, partitions: list[TopicPartition]) -> None:
        nonlocal assigned
        assigned = True
        mine.update(part.partition for part in partitions)
        behind.update(part.partition for part in partitions)

    def on_revoke(_: object, partitions: list[TopicPartition]) -> None:
        for part in partitions:
            mine.discard(part.partition)
            behind.discard(part.partition)

    handle.subscribe([topic], on_assign=on_assign, on_revoke=on_revoke)
    leaderless = Leaderless(handle, topic, WAITS if follow else WAITS_A_WHILE)
    give_up_at = time.monotonic() + GIVE_UP_S
    while follow or not assigned or behind:
        batch = []
        if mine:
            leaderless.look(mine if follow else behind)
        if not follow:
            leaderless.give_up(GIVE_UP_S)
            if not assigned and time.monotonic() > give_up_at:
                raise Failure(
                    f"gave up after {GIVE_UP_S:.0f} s: the group has given no partitions to this member",
                    "Its coordinator may have no leader: barnabas cluster status",
                )
        for message in _next_batch(handle):
            if message.error() is None:
                batch.append(message)
            elif _is_end(message):
                behind.discard(message.partition())
        if batch:
            yield batch
            after = {message.partition(): message.offset() + 1 for message in batch}
            kept = [
                TopicPartition(topic, partition, offset) for partition, offset in after.items() if partition in mine
            ]
            if kept:
                handle.store_offsets(offsets=kept)
            if follow or behind.intersection(after):  # new records of others do not bring the end nearer
                leaderless.progress()
    if not mine:
        raise Failure(f"every partition of {topic} belongs to another member of the group", "Use --follow to wait.")


def _next_batch(handle: ConsumerHandle) -> list[RawMessage]:
    """At once what is there, or the first that comes: a trickle is shown without delay, a flood in large batches."""
    first = handle.poll(WAIT_S)
    if first is None:
        return []
    return [first, *handle.consume(BATCH, 0)]


def _is_of_group(message: RawMessage) -> bool:
    """librdkafka looks for the coordinator of the group that nothing joins (NO_GROUP), which not everybody may do."""
    error = message.error()
    return error is not None and error.code() == _GROUP_REFUSED


def _is_end(message: RawMessage) -> bool:
    """Whether this event says that a partition ends here; any other error that does not heal is raised."""
    error = message.error()
    assert error is not None
    if error.code() == _PARTITION_EOF:
        return True
    if error.retriable() or error.code() in (-195, -187, -185):  # transport, all down, timed out: librdkafka goes on
        return False
    from barnabas.client.errors import translate

    raise translate(error, f"read {message.topic() or 'the topic'}")
