"""What a node counts while it serves: plain numbers in slotted objects, added to in the loop's thread, never locked.

The text of /metrics is made from them when somebody asks (metrics/text). A topic's counts are at hand in each of its
partitions, so that an append looks nothing up. Times fall into fixed buckets, from which quantiles are read.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Coroutine, Sequence
from typing import TypeVar, cast

from barnabas.broker import clock
from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import FETCH, PRODUCE, Api

BOUNDS = tuple(float(f"{step}e{power}") for power in range(-5, 2) for step in (1, 1.5, 2, 3, 5, 7))
"""Upper bounds in seconds, 10 us to 70 s: a quantile that is read from them is wrong by a fifth at most."""

Result = TypeVar("Result")
SAMPLED = 64
ALL_TIMED = 256

# What Kafka does not count as a failure of the broker: the client asked the wrong one, or for the wrong thing.
_EXPECTED = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class Times:
    """How long something took, each time it was done."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def add(self, seconds: float, weight: int = 1) -> None:
        self.buckets[bisect_left(BOUNDS, seconds)] += weight
        self.seconds += seconds * weight

    @property
    def count(self) -> int:
        return sum(self.buckets)


def quantile(buckets: Sequence[int], share: float) -> float | None:
    """Below which so large a share of what was counted lies, in seconds; None when nothing was counted."""
    wanted, seen, low = share * sum(buckets), 0, 0.0
    if not wanted:
        return None
    for count, high in zip(buckets, BOUNDS, strict=False):
        if count and seen + count >= wanted:
            return low + (high - low) * (wanted - seen) / count
        seen, low = seen + count, high
    return BOUNDS[-1]


class ApiCounts:
    """The requests of one API. Two looks at the clock and a bucket would cost a small request 2 % of its CPU: all are
    timed at first, then one in SAMPLED, which counts for all of them. It has what the dispatcher needs of the API's
    row, so that one look finds both."""

    __slots__ = ("_begun", "_period", "left", "max_version", "min_version", "name", "times")

    def __init__(self, api: Api) -> None:
        self.name, self.min_version, self.max_version = api.name, api.min_version, api.max_version
        self.left = 1  # requests until the next one that is timed: the dispatcher counts down, and nothing else
        self._begun, self._period = 0, 1
        self.times = Times()

    @property
    def requests(self) -> int:
        return self._begun + self._period - self.left

    def timed(self, result: Result, begun: float) -> Result:
        """The answer, or what it is waited for by, of a request that is to be timed."""
        weight = self._period
        self._begun += weight
        self.left = self._period = 1 if self._begun < ALL_TIMED else SAMPLED
        return self._timed(result, begun, weight)

    def _timed(self, result: Result, begun: float, weight: int) -> Result:
        if type(result) is bytes:  # the usual answer; to ask for a coroutine takes longest
            self.times.add(clock.source.monotonic() - begun, weight)
        elif isinstance(result, asyncio.Future):
            result.add_done_callback(lambda _: self.times.add(clock.source.monotonic() - begun, weight))
        elif isinstance(result, Coroutine):
            return cast("Result", self._timed_later(result, begun, weight))
        else:
            self.times.add(clock.source.monotonic() - begun, weight)
        return result

    async def _timed_later(self, work: Coroutine[object, None, Result], begun: float, weight: int) -> Result:
        return self._timed(await work, begun, weight)


class Errors:
    """How often each API was answered with each error code."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: dict[tuple[int, int], int] = {}

    def add(self, api_key: int, code: int) -> None:
        self.counts[api_key, code] = self.counts.get((api_key, code), 0) + 1


class TopicCounts:
    """Of one topic on this node. `produces` and `fetches` count partitions of requests, as Kafka does."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "failed_fetches",
        "failed_produces",
        "fetches",
        "messages_in",
        "produces",
        "replication_bytes_in",
        "replication_bytes_out",
    )

    def __init__(self) -> None:
        self.messages_in = self.bytes_in = self.bytes_out = 0
        self.produces = self.failed_produces = 0  # `produces` are without those that failed
        self.fetches = self.failed_fetches = 0
        self.replication_bytes_in = self.replication_bytes_out = 0

    def add(self, other: "TopicCounts") -> None:
        for name in TopicCounts.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class TopicTable:
    """The counts of the topics of which this node has, or had, a replica."""

    __slots__ = ("_topics", "elsewhere", "errors", "isr_expands", "isr_shrinks")

    def __init__(self) -> None:
        self._topics: dict[str, TopicCounts] = {}
        self.elsewhere = TopicCounts()  # of topics that are gone, and of requests for topics that are not here
        self.errors = Errors()  # of Produce and Fetch, partition by partition
        self.isr_shrinks = self.isr_expands = 0

    def of(self, topic: str) -> TopicCounts:
        found = self._topics.get(topic)
        if found is None:
            found = self._topics[topic] = TopicCounts()
        return found

    def forget(self, topic: str) -> None:
        gone = self._topics.pop(topic, None)
        if gone is not None:
            self.elsewhere.add(gone)

    def items(self) -> list[tuple[str, TopicCounts]]:
        return list(self._topics.items())

    def isr_changed(self, before: tuple[int, ...], now: tuple[int, ...]) -> None:
        """Of a partition led here."""
        self.isr_shrinks += len(set(before).difference(now))
        self.isr_expands += len(set(now).difference(before))

    def failed_produce(self, topic: str, code: ErrorCode) -> None:
        self.errors.add(PRODUCE, code)
        counts = self._topics.get(topic, self.elsewhere)
        if code in _EXPECTED:
            counts.produces += 1
        else:
            counts.failed_produces += 1

    def failed_fetch(self, topic: str, code: int) -> None:
        self.errors.add(FETCH, code)
        if code not in _EXPECTED:
            self._topics.get(topic, self.elsewhere).failed_fetches += 1
