"""Fetch sessions (KIP-227): a client names its partitions once and then only what changed.

| session id | epoch | meaning                                                               |
|------------|-------|-----------------------------------------------------------------------|
| 0          | -1    | no session: everything is in the request                              |
| 0          | 0     | everything is in the request; remember it, the answer carries an id   |
| n          | 0     | the same, and forget session n                                        |
| n          | -1    | forget session n, answer in full                                      |
| n          | e     | session n, its e-th request: changes only, and changes only back      |

An unknown id is FETCH_SESSION_ID_NOT_FOUND, another epoch INVALID_FETCH_SESSION_EPOCH: the client begins anew. The
number of sessions is bounded; the one unused for longest gives way once it has been idle for a while, and a client
without a session is served all the same. The partitions of all sessions together are bounded too: the largest gives
way.
"""

import random
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import FETCH_SESSION_PARTITIONS_MAX

if TYPE_CHECKING:
    from barnabas.wire.messages import FetchRequest, FetchRequestFetchPartition

NO_SESSION = 0
_FINAL_EPOCH, _INITIAL_EPOCH = -1, 0
_EPOCH_MAX = 0x7FFFFFFF

PartitionKey = tuple[str | bytes, int]  # a topic by name, or by id from version 13 on


class Wanted:
    """One partition a client reads, as its last fetch named it, and what it was last sent."""

    __slots__ = (
        "fetch_offset",
        "high_watermark",
        "index",
        "last_fetched_epoch",
        "leader_epoch",
        "log_start_offset",
        "max_bytes",
        "topic",
        "topic_id",
    )

    def __init__(self, topic: str, topic_id: bytes, asked: "FetchRequestFetchPartition") -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index: int = asked.partition
        self.update(asked)
        self.high_watermark = -1
        self.log_start_offset = -1

    def update(self, asked: "FetchRequestFetchPartition") -> None:
        self.fetch_offset: int = asked.fetch_offset
        self.leader_epoch: int = asked.current_leader_epoch
        self.last_fetched_epoch: int = asked.last_fetched_epoch
        self.max_bytes: int = asked.partition_max_bytes

    def has_changed(self, high_watermark: int, log_start_offset: int) -> bool:
        return high_watermark != self.high_watermark or log_start_offset != self.log_start_offset

    def remember(self, high_watermark: int, log_start_offset: int) -> None:
        """Keep what is sent to the client now."""
        self.high_watermark, self.log_start_offset = high_watermark, log_start_offset


class Session:
    __slots__ = ("by_id", "epoch", "id", "last_used_ms", "wanted")

    def __init__(self, session_id: int, by_id: bool, now_ms: int) -> None:
        self.id = session_id
        self.by_id = by_id
        self.epoch = 1
        self.last_used_ms = now_ms
        self.wanted: OrderedDict[PartitionKey, Wanted] = OrderedDict()


class FetchPlan:
    """What one fetch has to look at, and how much of it to answer."""

    __slots__ = ("incremental", "session", "session_id", "wanted")

    def __init__(self, wanted: list[Wanted], session: Session | None, incremental: bool) -> None:
        self.wanted = wanted
        self.session = session
        self.session_id = session.id if session is not None else NO_SESSION
        self.incremental = incremental


class FetchSessions:
    def __init__(self, slots: int, idle_ms: int, rng: random.Random, partitions_max: int) -> None:
        self._partitions_max = partitions_max  # of all sessions together
        self.partitions = 0
        self._slots = slots
        self._idle_ms = idle_ms
        self._rng = rng
        self._sessions: OrderedDict[int, Session] = OrderedDict()  # the one used longest ago first

    def __len__(self) -> int:
        return len(self._sessions)

    def plan(self, request: "FetchRequest", version: int, now_ms: int) -> FetchPlan:
        """Raises KafkaError when the client's session is not one of ours."""
        by_id = version >= 13
        epoch: int = request.session_epoch
        if epoch in (_FINAL_EPOCH, _INITIAL_EPOCH):
            self._drop(request.session_id)
            wanted = list(named(request))
            if len(wanted) > 1:
                # Twice the same partition is one, as in Kafka's map of them: it would be read and sent twice.
                wanted = list({_key(item, by_id): item for item in wanted}.values())
            fits = epoch == _INITIAL_EPOCH and len(wanted) <= FETCH_SESSION_PARTITIONS_MAX
            session = self._open(by_id, now_ms) if fits and self._have_room(len(wanted)) else None
            if session is not None:
                session.wanted.update((_key(item, by_id), item) for item in wanted)
                self.partitions += len(session.wanted)
            return FetchPlan(wanted, session, incremental=False)
        return self._go_on(request, by_id, now_ms)

    def _go_on(self, request: "FetchRequest", by_id: bool, now_ms: int) -> FetchPlan:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.by_id != by_id:
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        before = len(session.wanted)
        for topic in request.topics:
            name: str | bytes = topic.topic_id if by_id else topic.topic
            for asked in topic.partitions:
                known = session.wanted.get((name, asked.partition))
                if known is not None:
                    known.update(asked)
                else:
                    session.wanted[name, asked.partition] = Wanted(topic.topic, topic.topic_id, asked)
        for forgotten in request.forgotten_topics_data:
            name = forgotten.topic_id if by_id else forgotten.topic
            for index in forgotten.partitions:
                session.wanted.pop((name, index), None)
        self.partitions += len(session.wanted) - before
        self._have_room(0)
        if len(session.wanted) > FETCH_SESSION_PARTITIONS_MAX or session.id not in self._sessions:
            self._drop(session.id)
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, "too many partitions for a session")
        session.epoch = 1 if session.epoch == _EPOCH_MAX else session.epoch + 1
        session.last_used_ms = now_ms
        self._sessions.move_to_end(session.id)
        return FetchPlan(list(session.wanted.values()), session, incremental=True)

    def forget(self, session_id: int) -> None:
        """Of a session that its client has not been told of."""
        self._drop(session_id)

    def _drop(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self.partitions -= len(session.wanted)

    def _have_room(self, count: int) -> bool:
        """For so many partitions more. Of all sessions the largest pays: who has named most is the one that fills them,
        and its client just begins a new one."""
        while self.partitions + count > self._partitions_max and self._sessions:
            largest = max(self._sessions.values(), key=lambda session: len(session.wanted))
            if len(largest.wanted) < count:
                return False
            self._drop(largest.id)
        return self.partitions + count <= self._partitions_max

    def _open(self, by_id: bool, now_ms: int) -> Session | None:
        if len(self._sessions) >= self._slots:
            oldest = next(iter(self._sessions.values()), None)
            if oldest is None or now_ms - oldest.last_used_ms < self._idle_ms:
                return None
            self._drop(oldest.id)
        session_id = self._rng.randrange(1, _EPOCH_MAX)
        while session_id in self._sessions:
            session_id = self._rng.randrange(1, _EPOCH_MAX)
        session = self._sessions[session_id] = Session(session_id, by_id, now_ms)
        return session


def served_with_data(plan: FetchPlan, item: Wanted) -> None:
    """A partition that gave data goes to the back, so that a full answer does not starve the others next time."""
    if plan.session is not None:
        key = _key(item, plan.session.by_id)
        if key in plan.session.wanted:
            plan.session.wanted.move_to_end(key)


def _key(item: Wanted, by_id: bool) -> PartitionKey:
    return (item.topic_id if by_id else item.topic, item.index)


def named(request: "FetchRequest") -> Iterator[Wanted]:
    for topic in request.topics:
        for asked in topic.partitions:
            yield Wanted(topic.topic, topic.topic_id, asked)
