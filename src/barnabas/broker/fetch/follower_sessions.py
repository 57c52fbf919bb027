"""The fetch sessions of followers (KIP-227), one for each broker that follows partitions led here.

A follower names its partitions once. From then on a partition is read only when something changed: the follower names
it (its log has grown, or starts anew), bytes were appended, the high watermark moved, or this node no longer leads it.
So ten thousand idle partitions cost nothing, however often their followers fetch.

| a slot is        | until                                                                                          |
|------------------|------------------------------------------------------------------------------------------------|
| ready            | it was read for an answer, and nothing is left to send                                         |
| awaiting         | the follower names it again: it was sent bytes, an error or a diverging epoch                  |
| neither          | something changes; bytes wake a parked fetch, a high watermark is sent with the next answer    |

A second fetch may arrive while the first is parked, because the follower has to name a partition. The first is answered
at once then.

A follower that is far away would be sent nothing while its next fetch is on its way, and a write would wait for up to
two round trips instead of one. So it sends several fetches ahead, which say that they continue: whatever was sent
before, it appends, or it names the partition in a fetch that does not continue. They wait behind each other, the oldest
is answered first, and a slot that was sent everything up to the end of the log is not awaiting: the next answer goes on
at `sent_to`, before the follower has named what it was sent. Its fetch offset counts as before, so what is committed
does not depend on any of this.
"""

import random
from collections import deque
from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.fetch.refill import FollowerDelay
from barnabas.broker.fetch.sessions import Wanted
from barnabas.broker.partition.partition import HostedPartition
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import FOLLOWER_SESSION_PARTITIONS_MAX

if TYPE_CHECKING:
    from barnabas.wire.messages import FetchRequest, FetchRequestFetchPartition

_FINAL_EPOCH, _INITIAL_EPOCH = -1, 0
_EPOCH_MAX = 0x7FFFFFFF
NO_SESSION = 0
NOTHING_AHEAD = -1
WAITING_MAX = 6  # fetches of one session; with one more, the oldest is answered: a follower may send no further

SlotKey = tuple[str | bytes, int]


class Parked(Protocol):
    """A fetch that waits for bytes."""

    def wake(self) -> None: ...
    def look(self) -> None: ...
    def finish(self) -> None: ...
    def finish_with_nothing(self) -> None: ...


class Slot(Wanted):
    """One partition of a follower, as it last named it."""

    __slots__ = ("awaiting", "follower_log_start", "named", "partition", "sent_to", "session")

    def __init__(
        self, session: "FollowerSession", topic: str, topic_id: bytes, asked: "FetchRequestFetchPartition"
    ) -> None:
        self.session = session
        self.partition: HostedPartition | None = None
        super().__init__(topic, topic_id, asked)

    def update(self, asked: "FetchRequestFetchPartition") -> None:
        super().update(asked)
        self.follower_log_start: int = asked.log_start_offset
        self.awaiting = False
        self.sent_to = NOTHING_AHEAD
        self.named = True  # not yet read since
        self.session.ready[self] = None

    def follow_on(self, asked: "FetchRequestFetchPartition") -> None:
        """Named by a follower that appends all that it was sent. Where nothing has changed, it was named before the
        last answer arrived, and will be again."""
        if asked.fetch_offset < self.fetch_offset:
            self.update(asked)
            return
        same = asked.fetch_offset == self.fetch_offset
        awaiting, sent_to = self.awaiting, self.sent_to
        self.update(asked)
        self.awaiting = awaiting and same
        if sent_to > self.fetch_offset:
            self.sent_to = sent_to

    @property
    def next_offset(self) -> int:
        """Of the first record that it was not sent."""
        return max(self.fetch_offset, self.sent_to)

    def attach(self, partition: HostedPartition | None) -> None:
        if self.partition is partition:
            return
        if self.partition is not None:
            self.partition.leadership.slots.remove(self)
        self.partition = partition
        if partition is not None:
            partition.leadership.slots.append(self)

    @property
    def is_filling(self) -> bool:
        """Is the replica neither in sync nor about to be, so that no commit waits for it?"""
        if self.partition is None:
            return False
        state = self.partition.leadership.state
        return self.session.replica_id not in (self.partition.image.isr if state is None else state.maximal_isr)

    # --- called by the partition --------------------------------------------------------------------------------------

    def appended(self) -> None:
        if not self.awaiting:
            session = self.session
            session.ready[self] = None
            session.unread = True
            if session.waiting:
                session.waiting[0].wake()

    def watermark_moved(self) -> None:
        if not self.awaiting:
            self.session.ready[self] = None

    def log_cut(self) -> None:
        """What it was sent beyond its fetch offset may be another log by now: it has to name where it is."""
        if self.sent_to != NOTHING_AHEAD:
            self.sent_to, self.awaiting = NOTHING_AHEAD, True

    def changed(self) -> None:
        self.named = True  # its fetch offset counts once more: the leader may not have been able to record it
        self.appended()


class FollowerSession:
    __slots__ = (
        "broker_epoch",
        "came_back",
        "continues",
        "delay",
        "epoch",
        "id",
        "last_fetch_ms",
        "ready",
        "replica_id",
        "slots",
        "unread",
        "waiting",
    )

    def __init__(self, replica_id: int, session_id: int, now_ms: int) -> None:
        self.replica_id = replica_id
        self.broker_epoch = -1
        self.id = session_id
        self.epoch = 1
        self.last_fetch_ms = now_ms
        self.slots: dict[SlotKey, Slot] = {}
        self.ready: dict[Slot, None] = {}
        self.unread = False  # bytes were appended since the slots were last read
        self.delay = FollowerDelay()
        self.came_back = False  # does the last fetch name a partition that was sent records to fill it?
        self.continues = False  # does the follower send fetches ahead?
        self.waiting: deque[Parked] = deque()  # oldest first; more than one only where fetches continue

    def answer_waiting(self) -> None:
        """The oldest reads what is ready. Each may take its time to read, so the others do not."""
        if self.waiting:
            self.waiting[0].finish()
        while self.waiting:
            self.waiting[0].finish_with_nothing()

    def serve(self) -> None:
        """Another fetch has come to wait behind the others: what it names may be news for the oldest."""
        if len(self.waiting) > WAITING_MAX:
            self.waiting[0].finish()
        elif self.waiting:
            self.waiting[0].look()

    def name(self, request: "FetchRequest", by_id: bool) -> None:
        """Update the slots by what the follower names."""
        self.came_back = False
        for topic in request.topics:
            name: str | bytes = topic.topic_id if by_id else topic.topic
            for asked in topic.partitions:
                slot = self.slots.get((name, asked.partition))
                if slot is not None and slot.awaiting and slot.is_filling:
                    self.came_back = self.came_back or asked.fetch_offset > slot.fetch_offset
                if slot is not None and request.continues:
                    slot.follow_on(asked)
                elif slot is not None:
                    slot.update(asked)
                else:
                    self.slots[name, asked.partition] = Slot(self, topic.topic, topic.topic_id, asked)
        for forgotten in request.forgotten_topics_data:
            name = forgotten.topic_id if by_id else forgotten.topic
            for index in forgotten.partitions:
                slot = self.slots.pop((name, index), None)
                if slot is not None:
                    self._forget(slot)

    def _forget(self, slot: Slot) -> None:
        slot.attach(None)
        self.ready.pop(slot, None)

    def close(self) -> None:
        self.answer_waiting()
        for slot in self.slots.values():
            slot.attach(None)
        self.slots.clear()
        self.ready.clear()


class FollowerSessions:
    """One for each registered broker that fetches from this one; those are few, so none is ever evicted."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._by_replica: dict[int, FollowerSession] = {}
        self.last_fetches: dict[int, int] = {}  # replica id: when it last fetched, in steady milliseconds

    def __iter__(self) -> Iterator[FollowerSession]:
        return iter(self._by_replica.values())

    def session_for(
        self,
        request: "FetchRequest",
        by_id: bool,
        replica_id: int,
        broker_epoch: int,
        now_ms: int,
        *,
        may_keep: bool = True,
    ) -> FollowerSession:
        """The session this fetch belongs to, updated by what it names. Raises KafkaError when it has none."""
        epoch: int = request.session_epoch
        known = self._by_replica.get(replica_id)
        if epoch in (_FINAL_EPOCH, _INITIAL_EPOCH):
            if known is not None:
                del self._by_replica[replica_id]
                known.close()
            keep = epoch == _INITIAL_EPOCH and may_keep
            session = FollowerSession(replica_id, self._rng.randrange(1, _EPOCH_MAX) if keep else NO_SESSION, now_ms)
            if keep:
                self._by_replica[replica_id] = session
        elif known is None or known.id != request.session_id:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        elif known.epoch != epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        else:
            session = known
            session.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
            if request.continues:
                session.continues = True
            else:
                session.answer_waiting()
        session.broker_epoch = broker_epoch
        self._behind(session)
        session.last_fetch_ms = now_ms
        if may_keep:
            self.last_fetches[replica_id] = now_ms
        session.name(request, by_id)
        if len(session.slots) > FOLLOWER_SESSION_PARTITIONS_MAX:
            self._by_replica.pop(replica_id, None)
            session.close()
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, "too many partitions for a session")
        return session

    def _behind(self, session: FollowerSession) -> None:
        """Before this fetch counts: what it has not been sent since its last one, it has not had since then."""
        for slot in session.ready:
            if slot.partition is not None:
                slot.partition.leadership.follower_behind(session.replica_id, session.last_fetch_ms)

    def keep_only(self, brokers: Container[int]) -> None:
        """Drop the sessions of brokers that left the cluster."""
        self.drop([known for known in self._by_replica if known not in brokers])

    def drop(self, brokers: Iterable[int]) -> None:
        """Whoever of these fetches again names all its partitions anew."""
        for replica_id in brokers:
            if (session := self._by_replica.pop(replica_id, None)) is not None:
                session.close()
            self.last_fetches.pop(replica_id, None)

    def close(self) -> None:
        for session in self._by_replica.values():
            session.close()
        self._by_replica.clear()
