"""When the first record was written that a group has not read: its lag in seconds is the age of that record.

No API tells a record's time by its offset, so the batch at the committed offset is fetched from its leader and its
header read. What a look asks for is bounded: a place (topic, partition, offset) is asked for once, so a group that
stands still costs nothing; at most PLACES_MAX places in a look, those that waited longest first; PARTITION_BYTES of
each and NODE_BYTES of a node. A leader leaves out a batch that is larger, except the first of an answer; those are
asked for one by one, at most LARGE_MAX in a look.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from barnabas.console.clusters.facts import Place, Topic, TopicPartition
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.errors import LinkDown, UnknownApi
from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import FETCH
from barnabas.wire.batch import HEADER_BYTES, MAGIC, BatchHeader, Buffer, read_header

if TYPE_CHECKING:
    from barnabas.wire.messages import FetchResponse, FetchResponsePartitionData

PLACES_MAX = 400  # 20 us of a leader's time each
LARGE_MAX = 8  # of up to max.message.bytes each
PARTITION_BYTES = 16 * 1024  # what a producer's batch.size is unless it is told otherwise
NODE_BYTES = 2 * 1024 * 1024
NOTHING_UNREAD = -1  # only markers of transactions follow
REFUSED_LOOKS = 150  # five minutes: each refusal is a line in the cluster's audit trail
_ANSWER_SECONDS = 5.0
_PASSED_KEPT = 8  # of a partition, so of about as many groups
_BY_NAME = 12  # Fetch; later versions name topics by their ids
_AN_ORDINARY_CONSUMER = -1

Offsets = Mapping[TopicPartition, int]


def unread_places(committed: Mapping[str, Offsets], ends: Offsets) -> set[Place]:
    """Where groups stand that have not read everything."""
    return {
        (*partition, offset)
        for offsets in committed.values()
        for partition, offset in offsets.items()
        if ends.get(partition, 0) > offset
    }


def time_at(records: Buffer, offset: int) -> tuple[int | None, int]:
    """The time of the first record at or behind the offset, in ms; and where to go on when there is none in here.

    Headers are enough: within a batch times are taken to grow evenly, so what a producer sent in one go has its own
    time to within what it waited (linger.ms). The last batch may be cut; its header is whole.
    """
    position, following = 0, offset
    while len(records) - position >= HEADER_BYTES:
        header = read_header(records, position)
        if header.magic != MAGIC or header.batch_length < 0:
            break
        if header.last_offset >= offset and not header.is_control and header.record_count > 0:
            return _time_within(header, offset), following
        following = max(following, header.next_offset)
        position += header.size
    return None, following


def _time_within(header: BatchHeader, offset: int) -> int:
    if header.log_append_time or header.delete_horizon_ms is not None or header.last_offset_delta <= 0:
        return header.max_timestamp
    passed = max(0, offset - header.base_offset) / header.last_offset_delta
    return round(header.base_timestamp + max(0, header.max_timestamp - header.base_timestamp) * min(1.0, passed))


class WriteTimes:
    """`known` has every place that was asked for and is still one; NOTHING_UNREAD where there is no record."""

    def __init__(self) -> None:
        self.known: dict[Place, int] = {}
        self._from: dict[Place, int] = {}  # to be looked for from here on: what was at the offset is gone, or markers
        self._large: set[Place] = set()
        self._asked: dict[TopicPartition, int] = {}  # in which look
        self._passed: dict[TopicPartition, deque[tuple[int, int]]] = {}  # offsets and times that were known
        self._refused: dict[str, int] = {}  # topic -> the look from which on it may be asked for again
        self._look = 0

    async def read(
        self, nodes: AsyncNodes, topics: Mapping[str, Topic], places: set[Place], starts: Offsets, ends: Offsets
    ) -> dict[Place, int]:
        self._look += 1
        self._forget(places)
        chosen = self.choose(places)
        leaders = {
            (name, each.index): each.leader
            for name in {place[0] for place in chosen if place[0] in topics}
            for each in topics[name].partitions
            if each.leader >= 0
        }
        alone = [place for place in chosen if place in self._large][:LARGE_MAX]
        together = _by_leader((place for place in chosen if place not in self._large), leaders)
        questions = [self._ask(nodes, leader, asked, starts, ends) for leader, asked in together]
        questions += [
            self._ask(nodes, leaders[place[:2]], [place], starts, ends) for place in alone if place[:2] in leaders
        ]
        for problem in await asyncio.gather(*questions, return_exceptions=True):
            if isinstance(problem, BaseException) and not isinstance(problem, LinkDown | UnknownApi):
                raise problem
        return self.told(places)

    def told(self, places: Iterable[Place]) -> dict[Place, int]:
        """Known times; of a place that is not known yet, that of where a group last stood before it in the partition: a
        group that moves is then a little less behind than it looks, and not now and then not behind at all."""
        found = {}
        for place in places:
            time = self.known.get(place)
            if time is None:
                before = [each for each in self._passed.get(place[:2], ()) if each[0] <= place[2]]
                time = max(before)[1] if before else None
            if time is not None:
                found[place] = time
        return found

    def choose(self, places: Iterable[Place]) -> list[Place]:
        """Those to ask for in this look: partitions that waited longest first, the furthest behind of each first."""
        waiting = [each for each in places if each not in self.known and self._refused.get(each[0], 0) <= self._look]
        waiting.sort(key=lambda each: (self._asked.get(each[:2], 0), each))
        chosen = waiting[:PLACES_MAX]
        self._asked.update({each[:2]: self._look for each in chosen})
        return chosen

    def _forget(self, places: set[Place]) -> None:
        self.known = {place: time for place, time in self.known.items() if place in places}
        self._from = {place: offset for place, offset in self._from.items() if place in places}
        self._large &= places
        partitions = {place[:2] for place in places}
        self._passed = {each: passed for each, passed in self._passed.items() if each in partitions}
        self._asked = {each: look for each, look in self._asked.items() if each in partitions}
        self._refused = {topic: look for topic, look in self._refused.items() if look > self._look}

    async def _ask(self, nodes: AsyncNodes, leader: int, asked: list[Place], starts: Offsets, ends: Offsets) -> None:
        offsets = {  # retention may have been quicker than the group
            place[:2]: max(self._from.get(place, place[2]), starts.get(place[:2], 0)) for place in asked
        }
        body = fetch_body(offsets, PARTITION_BYTES if len(asked) > 1 else 1)
        answer: FetchResponse = await nodes.ask(leader, FETCH, body, _BY_NAME, _ANSWER_SECONDS)
        of_partition = {place[:2]: place for place in asked}
        size = sum(len(part.records or b"") for topic in answer.responses for part in topic.partitions)
        is_full = size > NODE_BYTES - 2 * PARTITION_BYTES
        for topic in answer.responses:
            for part in topic.partitions:
                place = of_partition.get((topic.topic, part.partition_index))
                if place is not None:
                    large = self._learn(place, offsets[place[:2]], part, ends.get(place[:2], 0))
                    if large and not is_full:
                        self._large.add(place)

    def _learn(self, place: Place, asked_at: int, part: FetchResponsePartitionData, end: int) -> bool:
        """Whether there is something that was left out of the answer."""
        if part.error_code in (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED):
            self._refused[place[0]] = self._look + REFUSED_LOOKS
        if part.error_code:
            return False
        records = part.records if part.records is not None else b""
        time, following = time_at(records, asked_at)
        if time is not None and time >= 0:
            self.known[place] = time
            self._passed.setdefault(place[:2], deque(maxlen=_PASSED_KEPT)).append((place[2], time))
        elif following >= end:
            self.known[place] = NOTHING_UNREAD
        elif following > asked_at:
            self._from[place] = following
        else:
            return True
        return False


def _by_leader(places: Iterable[Place], leaders: Offsets) -> list[tuple[int, list[Place]]]:
    """One request names a partition once; groups that stand at several places of it make several requests."""
    requests: dict[tuple[int, int], list[Place]] = defaultdict(list)
    times: dict[TopicPartition, int] = defaultdict(int)
    for place in places:
        leader = leaders.get(place[:2])
        if leader is not None:
            requests[leader, times[place[:2]]].append(place)
            times[place[:2]] += 1
    return [(leader, asked) for (leader, _), asked in requests.items()]


def fetch_body(offsets: Offsets, partition_bytes: int) -> dict[str, object]:
    """One batch of each, at once, whatever is there."""
    topics: dict[str, list[dict[str, object]]] = defaultdict(list)
    for (topic, partition), offset in offsets.items():
        topics[topic].append(
            {
                "partition": partition,
                "current_leader_epoch": -1,
                "fetch_offset": offset,
                "last_fetched_epoch": -1,
                "log_start_offset": -1,
                "partition_max_bytes": partition_bytes,
            }
        )
    return {
        "replica_id": _AN_ORDINARY_CONSUMER,
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": NODE_BYTES,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": name, "partitions": partitions} for name, partitions in topics.items()],
        "forgotten_topics_data": [],
        "rack_id": "",
    }


async def read_times(
    nodes: AsyncNodes, topics: Mapping[str, Topic], offsets: Offsets, starts: Offsets, ends: Offsets
) -> dict[TopicPartition, int]:
    """Once, for a page: when the record at each offset was written; those are left out that cannot be told soon."""
    times, found = WriteTimes(), {}
    places: set[Place] = {
        (*partition, offset) for partition, offset in offsets.items() if ends.get(partition, 0) > offset
    }
    for _ in range(2):  # the second for batches that were too large beside others
        found = await times.read(nodes, topics, places, starts, ends)
    return {place[:2]: time for place, time in found.items() if time >= 0}
