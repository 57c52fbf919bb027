"""The followers of the partitions this node leads, one fetch session each (KIP-227), and what each has to be told.

A follower names its partitions once. From then on a partition is looked at only when there is a reason to: the
follower names it (it has got further, or begins anew), bytes were appended, the high watermark moved, or this node
ceased to lead it. So ten thousand partitions that nobody writes to cost nothing, however often their followers ask.

| a slot is        | until                                                                                          |
|------------------|------------------------------------------------------------------------------------------------|
| ready            | it was looked at for an answer, and told all there is                                          |
| awaiting         | the follower names it again: it was sent bytes, an error or a place to cut its log to          |
| neither          | something happens; bytes wake a parked fetch, a moved watermark only rides along               |

A second fetch may arrive while the first is parked: the follower has something to say and does not want to wait. The
first is answered then and there, with what it has.
"""

import random
from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.fetch.sessions import Wanted
from barnabas.broker.partition.partition import HostedPartition
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import FOLLOWER_SESSION_PARTITIONS_MAX

if TYPE_CHECKING:
    from barnabas.wire.messages import FetchRequest, FetchRequestFetchPartition

_FINAL_EPOCH, _INITIAL_EPOCH = -1, 0
_EPOCH_MAX = 0x7FFFFFFF
NO_SESSION = 0

SlotKey = tuple[str | bytes, int]


class Parked(Protocol):
    """A fetch that waits for bytes."""

    def wake(self) -> None: ...
    def finish(self) -> None: ...


class Slot(Wanted):
    """One partition of a follower, as it last named it."""

    __slots__ = ("awaiting", "follower_log_start", "named", "partition", "session")

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
        self.named = True  # not yet looked at since
        self.session.ready[self] = None

    def attach(self, partition: HostedPartition | None) -> None:
        if self.partition is partition:
            return
        if self.partition is not None:
            self.partition.listeners.remove(self)
        self.partition = partition
        if partition is not None:
            partition.listeners.append(self)

    # --- what the partition tells -------------------------------------------------------------------------------------

    def appended(self) -> None:
        if not self.awaiting:
            session = self.session
            session.ready[self] = None
            session.unread = True
            if session.parked is not None:
                session.parked.wake()

    def watermark_moved(self) -> None:
        if not self.awaiting:
            self.session.ready[self] = None

    def changed(self) -> None:
        self.named = True  # what the follower said counts once more: the leader may have had no place to note it
        self.appended()


class FollowerSession:
    __slots__ = ("broker_epoch", "epoch", "id", "last_fetch_ms", "parked", "ready", "replica_id", "slots", "unread")

    def __init__(self, replica_id: int, session_id: int, now_ms: int) -> None:
        self.replica_id = replica_id
        self.broker_epoch = -1
        self.id = session_id
        self.epoch = 1
        self.last_fetch_ms = now_ms
        self.slots: dict[SlotKey, Slot] = {}
        self.ready: dict[Slot, None] = {}
        self.unread = False  # bytes came since the slots were last looked at
        self.parked: Parked | None = None

    def name(self, request: "FetchRequest", by_id: bool) -> None:
        """Take over what the follower says of its partitions."""
        for topic in request.topics:
            name: str | bytes = topic.topic_id if by_id else topic.topic
            for asked in topic.partitions:
                slot = self.slots.get((name, asked.partition))
                if slot is not None:
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
        if self.parked is not None:
            self.parked.finish()
        for slot in self.slots.values():
            slot.attach(None)
        self.slots.clear()
        self.ready.clear()


class FollowerSessions:
    """One for each registered broker that fetches from this one; those are few, so none is ever evicted."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._by_replica: dict[int, FollowerSession] = {}
        self.heard: dict[int, int] = {}  # replica id: when it last fetched, in steady milliseconds

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
        """The session this fetch belongs to, with what it names taken over. Raises KafkaError when it has none."""
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
            if session.parked is not None:
                session.parked.finish()
        session.broker_epoch = broker_epoch
        self._behind(session)
        session.last_fetch_ms = now_ms
        if may_keep:
            self.heard[replica_id] = now_ms
        session.name(request, by_id)
        if len(session.slots) > FOLLOWER_SESSION_PARTITIONS_MAX:
            self._by_replica.pop(replica_id, None)
            session.close()
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, "too many partitions for a session")
        return session

    def _behind(self, session: FollowerSession) -> None:
        """Before this fetch counts: what it has not been sent since its last one, it has not had since then."""
        for slot in session.ready:
            partition = slot.partition
            if partition is not None and partition.replicas is not None:
                follower = partition.replicas.followers.get(session.replica_id)
                if follower is not None and partition.end_offset > follower.offset:
                    follower.behind(session.last_fetch_ms)

    def keep_only(self, brokers: Container[int]) -> None:
        """Brokers that left the cluster are not waited for."""
        self.drop([known for known in self._by_replica if known not in brokers])

    def drop(self, brokers: Iterable[int]) -> None:
        """Whoever of these fetches again names all its partitions anew."""
        for replica_id in brokers:
            if (session := self._by_replica.pop(replica_id, None)) is not None:
                session.close()
            self.heard.pop(replica_id, None)

    def close(self) -> None:
        for session in self._by_replica.values():
            session.close()
        self._by_replica.clear()
