"""Raw record batches of many partitions of the source: one connection and one Fetch at a time to each leader.

All partitions that have nothing waiting are asked for together, and the next request is on its way while the last
answer is worked on. A leader that moves and a connection that breaks are tried again; what stays broken is told by
`take` of the partition concerned, so one bad partition does not stop another.

Topics are asked for by their ids, where the source has them: one that was deleted and made anew is another topic, and
nothing of it may be taken for what came next in the old one. No topic is made by asking for it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.errors import Unavailable
from barnabas.link.codes import is_retriable, name_of
from barnabas.link.errors import LinkDown, UnknownApi
from barnabas.model.errors import ErrorCode
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.cluster import Again, NoTopic
from barnabas.wire.apis import FETCH, LIST_OFFSETS, METADATA

if TYPE_CHECKING:
    from barnabas.wire.messages import FetchResponse, ListOffsetsResponse, MetadataResponse

Place = tuple[str, int]

_FETCH_BY_NAME, _FETCH_BY_ID, _LIST_OFFSETS_NEWEST, _METADATA_NEWEST = 12, 13, 7, 12
_PARTITION_BYTES, _ANSWER_BYTES = 1 << 20, 8 << 20
_FETCH_WAIT_MS = 500
_LOOK_S = 0.002  # between looks at connections, while somebody waits
_PATIENCE_S = 20.0
_PAUSE_S = 0.1
_READ_COMMITTED = 1
_GONE = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
)  # to be opened anew: the topic that is there next may be another one
EARLIEST, LATEST = -2, -1


class Lost(Exception):
    """The partition does not hold the offset that comes next."""


@dataclass(slots=True)
class Fetched:
    records: memoryview
    aborted: Sequence[tuple[int, int]]  # producer id and first offset of each aborted transaction
    end: int  # of what is committed


@dataclass(slots=True)
class _Open:
    offset: int  # comes next
    topic_id: bytes = b""  # empty: the source gives topics none
    found: Fetched | None = None
    lost: bool = False
    problem: str = ""
    failing_since: float | None = None
    not_before: float = 0.0


class Fetching:
    """One thread at a time."""

    def __init__(self, cluster: Cluster) -> None:
        self._bootstrap = cluster.bootstrap
        self._nodes = cluster.links()
        self._open: dict[Place, _Open] = {}
        self._asked: dict[int, dict[Place, int]] = {}  # by node: partitions whose answer is due, and from which offset
        self._asked_at: dict[int, float] = {}

    def open(self, place: Place, offset: int, topic_id: str = "") -> None:
        self._open[place] = _Open(offset, bytes.fromhex(topic_id))

    def close_place(self, place: Place) -> None:
        self._open.pop(place, None)

    def close(self) -> None:
        self._open.clear()
        self._asked.clear()
        self._nodes.close()

    def take(self, place: Place, next_offset: int, wait_s: float) -> Fetched | None:
        """What the log holds from `next_offset` on, if there is something. Raises Lost, and Unavailable."""
        opened = self._open[place]
        opened.offset = next_offset
        deadline = time.monotonic() + wait_s
        while opened.found is None:
            if opened.lost:
                raise Lost
            if opened.failing_since is not None and time.monotonic() - opened.failing_since > _PATIENCE_S:
                raise Unavailable(f"{place[0]}-{place[1]} at {self._bootstrap} cannot be read: {opened.problem}")
            self._ask()
            if not self._collect() and opened.found is None:
                if time.monotonic() >= deadline:
                    return None
                time.sleep(_LOOK_S)
        found, opened.found = opened.found, None
        return found

    def ask_ahead(self, place: Place, next_offset: int) -> None:
        """The answer that was taken is worked on: the next may come meanwhile, once nothing else waits."""
        self._open[place].offset = next_offset
        if all(each.found is None for each in self._open.values()):
            self._ask()

    # --- requests ---------------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        if sum(map(len, self._asked.values())) >= len(self._open):
            return
        asked = {place for places in self._asked.values() for place in places}
        now = time.monotonic()
        by_node: dict[int, list[Place]] = {}
        for place, each in self._open.items():
            if each.found is not None or each.lost or place in asked or now < each.not_before:
                continue
            try:
                by_node.setdefault(self._nodes.leader(*place, create=False), []).append(place)
            except LinkDown as problem:  # no node answers: asking for each partition would take as often as long
                for each_place in self._open:
                    self._failed(each_place, str(problem))
                return
            except (Again, PipelineError) as problem:
                self._failed(place, str(problem), not isinstance(problem, NoTopic))
        for node_id, places in by_node.items():
            if node_id not in self._asked:
                self._send(node_id, places)

    def _send(self, node_id: int, places: list[Place]) -> None:
        # A topic may be named twice: the order of partitions is kept.
        topics = [
            {"topic": topic, "topic_id": id_, "partitions": [self._wanted(each) for each in run]}
            for (topic, id_), run in groupby(places, lambda each: (each[0], self._open[each].topic_id))
        ]
        body = {
            "replica_id": -1,
            "max_wait_ms": _FETCH_WAIT_MS,
            "min_bytes": 1,
            "max_bytes": _ANSWER_BYTES,
            "isolation_level": _READ_COMMITTED,
            "session_id": 0,
            "session_epoch": -1,
            "topics": topics,
            "forgotten_topics_data": [],
            "rack_id": "",
        }
        try:
            link = self._nodes.link(node_id)
            newest = _FETCH_BY_ID if all(self._open[each].topic_id for each in places) else _FETCH_BY_NAME
            link.send(FETCH, link.versions.must(FETCH, newest), body)
        except (LinkDown, PipelineError, UnknownApi) as problem:
            self._dropped(node_id, places, str(problem))
            return
        self._asked[node_id] = {place: self._open[place].offset for place in places}
        self._asked_at[node_id] = time.monotonic()

    def _wanted(self, place: Place) -> dict[str, object]:
        return {
            "partition": place[1],
            "current_leader_epoch": -1,
            "fetch_offset": self._open[place].offset,
            "last_fetched_epoch": -1,
            "log_start_offset": -1,
            "partition_max_bytes": _PARTITION_BYTES,
        }

    def _collect(self) -> bool:
        """Whether an answer has come."""
        came = False
        for node_id, asked in list(self._asked.items()):
            try:
                link = self._nodes.link(node_id)
                if not link.readable():
                    if time.monotonic() - self._asked_at[node_id] > _PATIENCE_S:
                        raise LinkDown("no answer in time", link.where)
                    continue
                came = True
                del self._asked[node_id]
                answer: FetchResponse = link.receive()
            except (LinkDown, PipelineError) as problem:
                self._asked.pop(node_id, None)
                self._dropped(node_id, list(asked), str(problem))
                continue
            self._answered(answer, asked)
        return came

    def _answered(self, answer: FetchResponse, asked: dict[Place, int]) -> None:
        if answer.error_code:
            for place in asked:
                self._failed(place, name_of(answer.error_code))
            return
        names = {self._open[place].topic_id: place[0] for place in asked if place in self._open}
        for topic in answer.responses:
            name = topic.topic or names.get(bytes(topic.topic_id), "")
            for part in topic.partitions:
                place = (name, part.partition_index)
                opened = self._open.get(place)
                if opened is None or opened.offset != asked.get(place):
                    continue  # closed, or opened again elsewhere, since
                if part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    opened.lost = True
                elif part.error_code:
                    passes = is_retriable(part.error_code) and part.error_code not in _GONE
                    self._failed(place, name_of(part.error_code), passes)
                else:
                    opened.failing_since = None
                    aborted = [(each.producer_id, each.first_offset) for each in part.aborted_transactions or ()]
                    end = part.last_stable_offset if part.last_stable_offset >= 0 else part.high_watermark
                    if part.records:
                        opened.found = Fetched(part.records, aborted, end)
                        # Named last from now on: a batch above _PARTITION_BYTES is given to the first one only.
                        self._open[place] = self._open.pop(place)

    def _dropped(self, node_id: int, places: Sequence[Place], why: str) -> None:
        self._nodes.drop(node_id)
        for place in places:
            self._failed(place, why)

    def _failed(self, place: Place, why: str, passes: bool = True) -> None:
        self._nodes.forget_topic(place[0])
        if (opened := self._open.get(place)) is None:
            return
        now = time.monotonic()
        opened.problem, opened.not_before = why, now + _PAUSE_S
        if not passes:
            opened.failing_since = now - 2 * _PATIENCE_S
        elif opened.failing_since is None:
            opened.failing_since = now

    # --- what is asked once -----------------------------------------------------------------------------------------

    def bound(self, place: Place, which: int) -> int:
        """Where the log begins (EARLIEST), or where what is committed ends (LATEST)."""
        partition = {"partition_index": place[1], "current_leader_epoch": -1, "timestamp": which}
        body = {
            "replica_id": -1,
            "isolation_level": _READ_COMMITTED,
            "topics": [{"name": place[0], "partitions": [partition]}],
            "timeout_ms": 10_000,
        }
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                node_id = self._nodes.leader(*place, create=False)
                self._finish(node_id)
                answer: ListOffsetsResponse = self._nodes.ask_node(node_id, LIST_OFFSETS, body, _LIST_OFFSETS_NEWEST)
                found = answer.topics[0].partitions[0]
                if not found.error_code:
                    return found.offset
                problem = name_of(found.error_code)
            except (Again, LinkDown, PipelineError, UnknownApi) as failed:
                problem = str(failed)
            self._nodes.forget_topic(place[0])
            if time.monotonic() > deadline:
                raise Unavailable(f"{place[0]}-{place[1]} at {self._bootstrap}: {problem}")
            time.sleep(_PAUSE_S)

    def _finish(self, node_id: int) -> None:
        """The answer that is due on this connection comes before another."""
        if (asked := self._asked.pop(node_id, None)) is None:
            return
        try:
            answer: FetchResponse = self._nodes.link(node_id).receive()
        except (LinkDown, PipelineError) as problem:
            self._dropped(node_id, list(asked), str(problem))
            return
        self._answered(answer, asked)

    def topic_id(self, topic: str) -> str:
        """Empty where the source gives topics none."""
        body = {"topics": [{"topic_id": bytes(16), "name": topic}], "allow_auto_topic_creation": False}
        try:
            answer: MetadataResponse = self._nodes.ask_any(METADATA, body, _METADATA_NEWEST)
        except (LinkDown, PipelineError, UnknownApi) as problem:
            raise Unavailable(f"cluster {self._bootstrap}: {problem}") from None
        found = next((each for each in answer.topics if each.name == topic), None)
        if found is None or found.error_code:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if found is None else found.error_code
            raise Unavailable(f"topic {topic} at {self._bootstrap}: {name_of(code)}")
        return bytes(found.topic_id).hex() if any(found.topic_id) else ""
