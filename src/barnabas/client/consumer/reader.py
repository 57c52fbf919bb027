"""The engine under both consumers: fetches, hands out, and knows what is finished. It waits only where it is told to.

`take` gives what is here, `fetch` gets more. Between the two lies the promise of the library: a message is finished
when the next one is asked for, not when it was fetched. In the states of one message: fetched (in the buffer), in hand
(given to the program), finished (its offset may be committed).

A slow program keeps its place in the group: `keep_alive` polls once a second even while the buffer is full, since a
member that does not poll is given up (max.poll.interval.ms).
"""

from __future__ import annotations

import threading
import time

from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as Place

from barnabas.client.common.connection import logger
from barnabas.client.common.exit_hooks import never_free
from barnabas.client.common.rdkafka import ConsumerHandle, RawMessage
from barnabas.client.consumer import positions as places
from barnabas.client.consumer.buffer import Buffer, Offsets
from barnabas.client.consumer.committing import COMMIT_WAIT_S, Committer
from barnabas.client.consumer.feed import Feed
from barnabas.client.consumer.membership import Membership, Partitions
from barnabas.client.consumer.message import Message, MessageMaker
from barnabas.client.consumer.settings import Commit
from barnabas.client.consumer.start import Where, resolve
from barnabas.client.errors import BarnabasError, CannotReach, Closed, NotAllowed, Refused, TimedOut
from barnabas.model.ids import TopicPartition

WAIT_SLICE_S = 0.2  # the longest stay inside librdkafka: Ctrl-C and stop() are noticed after it
KEEP_ALIVE_S = 1.0
CLOSE_WAIT_S = 10.0  # what a container is given to end: a short outage is waited out, a long one not
JOIN_WAIT_S = 30.0  # a group that has given no partitions by then never will


class Reader:
    def __init__(
        self,
        handle: ConsumerHandle,
        address: str,
        maker: MessageMaker,
        commit_mode: Commit | None,
        batch_records: int,
        start: Where,
    ) -> None:
        """`commit_mode` None: there is no group, and nothing is recorded. `attach` completes it."""
        self._handle = handle
        self._address = address
        self._committer = Committer(handle, address)
        self._maker = maker
        self.commit_mode = commit_mode
        self._batch_records = batch_records
        self._start = start
        self._buffer = Buffer(keeps_beginning=commit_mode == "manual")
        self.taken_away: set[TopicPartition] = set()  # partitions that left with messages handed out and not recorded
        self._in_hand = False
        self._fetched_at = time.monotonic()
        self.closed = False

    def attach(self, membership: Membership) -> None:
        self.membership = membership
        self._feed = Feed(self._handle, membership, self._address)
        membership.begin()

    # --- messages ----------------------------------------------------------------------------------------------------

    def take(self) -> Message | None:
        """The next message that is here, or None. Asking finishes the message before."""
        if self.closed:
            raise closed()
        take, make = self._buffer.take, self._maker.make
        while (raw := take()) is not None:
            self._in_hand = True
            try:
                message = make(raw)
            except (CannotReach, NotAllowed):  # of a registry: the record is read when it is asked for again
                self._buffer.put_back()
                self._in_hand = False
                raise
            if message is not None:
                return message
        self._in_hand = False
        return None

    def is_overdue(self, now: float) -> bool:
        """Time for `keep_alive`: messages are waiting, but the last poll was long ago."""
        return now - self._fetched_at > KEEP_ALIVE_S and self._buffer.waiting > 0

    def finish(self) -> None:
        """The message in hand is done with, though nobody asks for another."""
        self._in_hand = False

    def fetch(self, wait_s: float) -> int:
        """Gets the next batch into the buffer when it is empty, and says how many messages it holds."""
        if self._buffer.waiting:  # a fetch that nobody waited for any more has filled it meanwhile
            return self._buffer.waiting
        self._store_progress()
        batch = self._feed.fetch(self._batch_records, wait_s)
        self._fetched_at = time.monotonic()
        self._maker.prepare(batch)
        self._buffer.refill(batch)
        if self.commit_mode == "before" and batch:
            self._commit_before()
        return self._buffer.waiting

    def keep_alive(self) -> None:
        """A poll between two messages; the one before is finished."""
        self._in_hand = False
        self._store_progress()
        self._append(self._feed.fetch(1, 0))

    def at_end(self) -> bool:
        return self._buffer.waiting == 0 and self._feed.at_end()

    def _append(self, batch: list[RawMessage]) -> None:
        self._maker.prepare(batch)
        for raw in batch:
            self._buffer.append(raw)
        self._fetched_at = time.monotonic()

    # --- what is finished --------------------------------------------------------------------------------------------

    def commit(self, message: Message | None, wait: bool, timeout: float = COMMIT_WAIT_S) -> None:
        self._check_open()
        if message is not None:
            done = {TopicPartition(message.topic, message.partition): message.offset + 1}
            self._committer.commit(done, wait, timeout)
            return
        self._committer.commit(self.uncommitted(), wait, timeout)
        self.settle()

    def _store_progress(self) -> None:
        if self.commit_mode == "auto":
            places.store(self._handle, self._buffer.progress(finished_only=self._in_hand))
            self._buffer.forget_progress(keep_in_hand=self._in_hand)

    def _commit_before(self) -> None:
        """At most once: recorded, or not handed out. What could not be recorded is read again by whoever owns it."""
        try:
            self._committer.commit(self._buffer.last_waiting())
        except (Refused, TimedOut):
            back = self._buffer.first_waiting()
            self._buffer.drop(set(back))
            ours = [Place(*each, offset) for each, offset in back.items() if each in self.membership.assigned]
            places.seek_all(self._handle, ours, self._address)

    def leaving(self, partitions: Partitions) -> None:
        self._store_progress()

    def gone(self, partitions: Partitions) -> None:
        if self.commit_mode == "manual":
            self.taken_away |= set(partitions) & self.uncommitted().keys()
        self._buffer.drop(set(partitions))

    # --- for transactions --------------------------------------------------------------------------------------------

    def uncommitted(self) -> Offsets:
        """The next offset of each partition, of what was handed out since the last commit."""
        return self._buffer.progress(finished_only=False)

    def group_metadata(self) -> object | None:
        """Who commits, for the coordinator; None when the group has thrown this member out."""
        metadata = self._handle.consumer_group_metadata()  # first: what is true of it now is checked after
        member_id = self._handle.memberid()
        return metadata if member_id and member_id == self.membership.member_id else None

    def settle(self) -> None:
        """What was handed out is recorded."""
        self._buffer.forget_progress(keep_in_hand=False)
        self.taken_away.clear()

    def rewind(self, ask: bool) -> None:
        """Back to the first message that is not recorded; `ask` the group when somebody may have recorded more."""
        back = {each: at for each, at in self._buffer.beginning.items() if each in self.membership.assigned}
        if ask:
            known = places.committed(self._handle, back, self._address)
            back = {each: max(at, known.get(each) or 0) for each, at in back.items()}
        self._in_hand = False
        self.taken_away.clear()
        self._buffer.drop(set(self._buffer.beginning))
        self._feed.restart(set(back))
        places.seek_all(self._handle, [Place(*each, at) for each, at in sorted(back.items())], self._address)

    # --- places ------------------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self.closed:
            raise closed()

    def assignment(self) -> list[TopicPartition]:
        self._check_open()
        return sorted(self.membership.assigned)

    def seek(self, where: Where, topic: str | None, partition: int | None) -> None:
        self.await_assignment()
        chosen = {
            each
            for each in self.membership.assigned
            if (partition is None or each.partition == partition) and (topic is None or each.topic == topic)
        }
        if not chosen:
            mine = ", ".join(map(str, self.assignment())) or "none"
            raise BarnabasError(f"seek: no partition of mine fits; I have {mine}")
        self._store_progress()
        targets = resolve(self._handle, sorted(chosen), where, self._address)
        self._buffer.drop(chosen)
        self._feed.restart(chosen)
        places.seek_all(self._handle, targets, self._address)

    def await_assignment(self) -> None:
        """A group takes its time to give partitions. Without them a lag would look like none."""
        self._check_open()
        deadline = time.monotonic() + JOIN_WAIT_S
        while self.membership.joined_at is None:
            if time.monotonic() > deadline:
                raise TimedOut(f"the group gave no partitions within {JOIN_WAIT_S:.0f} s")
            self._append(self._feed.fetch(1, WAIT_SLICE_S))

    def positions(self) -> Offsets:
        self.await_assignment()
        assigned, grouped = self.membership.assigned, self.commit_mode is not None
        found = places.positions(self._handle, assigned, self._start, grouped, self._address)
        found.update(self._buffer.first_waiting())
        return found

    def committed(self) -> dict[TopicPartition, int | None]:
        self.await_assignment()
        return places.committed(self._handle, self.membership.assigned, self._address)

    def lag(self) -> Offsets:
        here = self.positions()
        return {each: max(0, end - here[each]) for each, end in places.ends(self._handle, here, self._address).items()}

    # --- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        try:
            self._store_progress()
        finally:
            self._leave()

    def _leave(self) -> None:
        """librdkafka's close commits what is finished, and waits for a coordinator that is away as long as the session
        timeout (45 s). This waits for it CLOSE_WAIT_S, then gives up: the group finds out by itself, and what was
        finished and not recorded is read again."""
        self._committer.end()
        if self._committer.is_idle(0) and (self.commit_mode != "auto" or self._coordinator_answers()):
            self._handle.close()
            return
        logger.warning("%s does not answer: left the group without a commit", self._address)
        self.membership.abandon()
        try:
            threading.Thread(target=self._close_handle, name="barnabas-close", daemon=True).start()
        except RuntimeError:  # the interpreter is ending, and has no new threads; freeing it would wait as close does
            never_free(self._handle)

    def _close_handle(self) -> None:
        self._committer.is_idle(None)  # librdkafka's objects are gone after close; a commit must not find them so
        self._handle.close()

    def _coordinator_answers(self) -> bool:
        ours = [Place(*each) for each in sorted(self.membership.assigned)[:1]]
        if not ours:  # nothing to commit: close does not wait
            return True
        try:
            self._handle.committed(ours, timeout=CLOSE_WAIT_S)
        except KafkaException as error:
            return bool(error.args[0].code() >= 0)  # a broker's own: it refused, but it was there
        return True


def closed() -> Closed:
    return Closed("this consumer is closed")
