"""The consumer: an iterable of messages that waits for more, for ever, unless told when to stop.

    for message in Consumer("orders", group="billing"):
        charge(message.value)

With a group, members share the partitions and the group remembers how far it got. When that is recorded is `commit`:
"auto" (at least once: a message counts as finished when the loop comes back for the next one), "manual" (at least once:
`commit()` when you say so), "before" (at most once: recorded first, handed out then). Without a group all partitions
are read and nothing is recorded.

Reading starts where the group left off, or at the beginning: a first try shows what is there, and nothing is missed.
`start` moves that for whoever has no recorded place. One consumer belongs to one thread; only `stop` may be called from
another one, or from a signal handler.
"""

from __future__ import annotations

import contextlib
import time as clock
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Literal, Self, cast

from confluent_kafka import Consumer as Librdkafka

from barnabas.client.common.connection import (
    CONNECT_TIMEOUT_S,
    Troubles,
    bootstrap_or_default,
    ensure_reachable,
    open_handle,
)
from barnabas.client.common.exit_hooks import ForkedHandle, never_free, register
from barnabas.client.consumer import positions as places
from barnabas.client.consumer.buffer import Offsets
from barnabas.client.consumer.committing import COMMIT_WAIT_S
from barnabas.client.consumer.membership import AllPartitions, GroupMembership, RebalanceCallback
from barnabas.client.consumer.message import Message, MessageMaker, OnError
from barnabas.client.consumer.reader import JOIN_WAIT_S, WAIT_SLICE_S, Reader, closed
from barnabas.client.consumer.settings import Commit, Protocol, check_options, consumer_settings, is_incremental
from barnabas.client.consumer.start import Where, check
from barnabas.client.errors import BarnabasError
from barnabas.client.serde.serializers import DeserializerLike
from barnabas.client.serde.shorthands import RegistryLike, SchemaLike, with_registry
from barnabas.model.ids import TopicPartition

BATCH_RECORDS = 500  # taken from librdkafka at once; it holds many more, so this only spreads the cost of a call


class Consumer:
    """Reads topics: `for message in Consumer("orders")` goes on for ever, until it is told when to stop.

    `timeout`, `max_records`, `follow=False`, `stop()` end the loop. `start`: "earliest", "latest", an offset or a
    datetime. `group` shares the partitions with the other members and remembers the place; `commit` "auto", "manual" or
    "before" says when a message counts as done. `key_deserializer`, `value_deserializer`: "json", "string", "bytes",
    Avro(...), Protobuf(...) or a function; with a schema registry (`registry`, its address) "avro", "json-schema" or
    "protobuf". `on_error` "raise", "skip" or a function: what happens to a record that they
    cannot read. docs/python.md has examples of each.
    """

    def __init__(
        self,
        *topics: str,
        bootstrap: str | None = None,
        group: str | None = None,
        pattern: str | None = None,
        partitions: Sequence[int] | None = None,
        start: Where | None = None,
        commit: Commit = "auto",
        key_deserializer: DeserializerLike = None,
        value_deserializer: DeserializerLike = None,
        registry: RegistryLike = None,
        schema: SchemaLike = None,
        key_schema: SchemaLike = None,
        on_error: OnError = "raise",
        timeout: float | None = None,
        max_records: int | None = None,
        follow: bool = True,
        batch_records: int | None = None,
        isolation_level: Literal["read_committed", "read_uncommitted"] = "read_committed",
        protocol: Protocol = "classic",
        instance_id: str | None = None,
        on_assign: RebalanceCallback | None = None,
        on_revoke: RebalanceCallback | None = None,
        on_lost: RebalanceCallback | None = None,
        connect_timeout: float | None = CONNECT_TIMEOUT_S,
        config: Mapping[str, object] | None = None,
        **librdkafka: object,
    ) -> None:
        """`timeout`: the loop ends after so many seconds without a message. `max_records`: it ends after so many
        messages. `follow=False`: it ends when everything there was has been read. A topic that begins with ^ is a
        pattern, as is `pattern`. `partitions` reads only these (without a group)."""
        wanted = [*topics, *([pattern if pattern.startswith("^") else f"^{pattern}"] if pattern else [])]
        check_options(wanted, group, partitions, commit, batch_records, max_records)
        start = check("committed" if start is None else start, "start", committed=True)
        key_deserializer, value_deserializer = with_registry(
            key_deserializer, value_deserializer, registry, key_schema, schema, "deserializer"
        )
        maker = MessageMaker(key_deserializer, value_deserializer, on_error)
        self.bootstrap = bootstrap = bootstrap_or_default(bootstrap)
        self.group = group
        self._timeout, self._max_records, self._follow = timeout, max_records, follow
        self._stopped = False
        self._iterator: Iterator[Message] | None = None
        troubles = Troubles()
        settings = consumer_settings(
            bootstrap, group, start, commit, follow, isolation_level, protocol, instance_id, config, librdkafka
        )
        handle = open_handle(Librdkafka, {**settings, "error_cb": troubles}, "consumer", Consumer)
        mode = commit if group is not None else None
        records = batch_records or (1 if mode == "before" else BATCH_RECORDS)
        self._reader = Reader(handle, bootstrap, maker, mode, records, start)
        try:
            if connect_timeout is not None:
                ensure_reachable(handle, bootstrap, connect_timeout, troubles, settings)
            if group is None:
                self._reader.attach(AllPartitions(handle, wanted, start, bootstrap, partitions, creates=follow))
            else:
                hooks = (self._reader.leaving, self._reader.gone, on_assign, on_revoke, on_lost)
                way = is_incremental(settings)
                self._reader.attach(GroupMembership(handle, wanted, start, way, bootstrap, *hooks, creates=follow))
        except BaseException:
            self._reader.closed = True
            handle.close()
            raise
        register(self)

    # --- reading -----------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Message]:
        left = self._max_records
        since = clock.monotonic()
        if self._reader.closed:
            raise closed()
        while left is None or left > 0:
            if self._stopped:
                return
            reader = self._reader
            if reader.is_overdue(since):
                reader.keep_alive()
            message = reader.take()
            if message is None:
                if not self._follow and reader.at_end():
                    return
                if reader.fetch(self._wait_s(since)) == 0 and self._is_quiet(since):
                    return
                continue
            if left is not None:
                left -= 1
            yield message
            reader.finish()
            since = clock.monotonic()

    def __next__(self) -> Message:
        """One message. StopIteration when the consumer was told to stop; asking again goes on."""
        if self._iterator is None:
            self._iterator = iter(self)
        try:
            return next(self._iterator)
        except BaseException:
            self._iterator = None
            raise

    def poll(self, timeout: float = 0) -> Message | None:
        """The next message, or None when none came within `timeout` seconds."""
        deadline = clock.monotonic() + timeout
        if self._reader.is_overdue(clock.monotonic()):
            self._reader.keep_alive()
        while (message := self._reader.take()) is None:
            left = deadline - clock.monotonic()
            if self._reader.fetch(max(0.0, min(left, WAIT_SLICE_S))) == 0 and (left <= 0 or self._stopped):
                return None
        return message

    def stop(self) -> None:
        """Ends the loop soon, from anywhere: another thread, a signal handler."""
        self._stopped = True

    def _wait_s(self, since: float) -> float:
        if self._timeout is None:
            return WAIT_SLICE_S
        return max(0.0, min(WAIT_SLICE_S, self._quiet_at(since) - clock.monotonic()))

    def _is_quiet(self, since: float) -> bool:
        return self._timeout is not None and clock.monotonic() >= self._quiet_at(since)

    def _quiet_at(self, since: float) -> float:
        """When `timeout` is over. A group takes its time to give partitions; that is not silence yet."""
        timeout, joined_at = self._timeout or 0.0, self._reader.membership.joined_at
        return since + max(timeout, JOIN_WAIT_S) if joined_at is None else max(since, joined_at) + timeout

    # --- what is finished --------------------------------------------------------------------------------------------

    def commit(self, message: Message | None = None, wait: bool = True, timeout: float = COMMIT_WAIT_S) -> None:
        """Records that everything handed out so far (or everything up to `message` in its partition) is finished,
        the message in hand included. With `wait=False` the answer is not waited for. TimedOut when the group's
        coordinator has not answered within `timeout` seconds: the offsets may be recorded or not, commit again."""
        if self.group is None:
            raise places.no_group("commit")
        self._reader.commit(message, wait, timeout)

    def committed(self) -> dict[TopicPartition, int | None]:
        """What the group has recorded for my partitions; None where nothing is. It waits for partitions, if the group
        has not given any yet; so do `positions` and `lag`."""
        if self.group is None:
            raise places.no_group("committed")
        return self._reader.committed()

    # --- places ------------------------------------------------------------------------------------------------------

    def assignment(self) -> list[TopicPartition]:
        """The partitions that are mine now."""
        return self._reader.assignment()

    def seek(
        self,
        to: Where | None = None,
        *,
        offset: int | None = None,
        time: datetime | None = None,
        partition: int | None = None,
        topic: str | None = None,
    ) -> None:
        """Goes to "beginning", "end", an offset (negative: so many before the end) or a moment, in all my partitions,
        or those of one topic or number. A group member waits for its partitions first."""
        given = [each for each in (to, offset, time) if each is not None]
        if len(given) != 1:
            raise BarnabasError("seek: give one place: an offset, a time, 'beginning' or 'end'")
        self._reader.seek(check(given[0], "seek"), topic, partition)

    def positions(self) -> Offsets:
        """The offset of the next message of each partition."""
        return self._reader.positions()

    def lag(self) -> Offsets:
        """How many records each partition holds past its position."""
        return self._reader.lag()

    # --- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Leaves the group. With commit="auto" the message in hand is not counted as finished; a `with` block that
        ends without an error counts it. A cluster that does not answer is waited for ten seconds."""
        self._stopped = True
        self._iterator = None
        self._reader.close()

    def at_exit(self) -> None:
        self.close()

    def after_fork(self, forked: ForkedHandle) -> None:
        never_free(self._reader)
        self._reader, self._iterator = cast(Reader, forked), None

    def __del__(self) -> None:
        """Nobody holds it any more: `for message in Consumer(...)` has ended. Its group need not wait for a timeout."""
        if hasattr(self, "_reader"):
            with contextlib.suppress(BarnabasError):
                self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self._reader.finish()
        self.close()
