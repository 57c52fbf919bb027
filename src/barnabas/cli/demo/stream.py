"""The demo's two clients, each in a thread: one writes the activity, one reads it as a member of a group.

What the screen shows is counted here: written means acknowledged by the node, read means seen by the consumer, and the
time between the two is measured from the record's own timestamp. Before the stream begins, the log is given the day so
far: the members, the jobs that are open, and what happened since yesterday at this hour.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self

from barnabas.cli.common import link
from barnabas.model.json_values import JsonObject
from barnabas.pipelines.activity.generator import JOBS, SEARCHES, VIEWS, Activity
from barnabas.pipelines.framework import records

if TYPE_CHECKING:
    from confluent_kafka import TopicPartition

    from barnabas.client.common.rdkafka import ConsumerHandle, RawMessage

GROUP = "demo"
TOPICS = (SEARCHES, VIEWS, JOBS)
KINDS = {SEARCHES: "search", VIEWS: "view", JOBS: "job"}
RECENT = 200
SENT_KEPT = 200_000  # events whose time of sending is remembered, for the delay of a recommendation
DAY_MS = 86_400_000
PLACED_WITHIN_S = 10.0
PAST_EVENTS = 24_000
OPEN_JOBS = 150


class Stream:
    """`with Stream(bootstrap, rate) as stream`: writes and reads until `stop_writing` and the end."""

    def __init__(self, bootstrap: str, rate: float) -> None:
        self.read = self._sent = 0
        self.past = 0
        self.kinds: Counter[str] = Counter()
        self.recent: deque[tuple[int, str, JsonObject]] = deque(maxlen=RECENT)
        self.delays_ms: deque[float] = deque(maxlen=1000)
        self.begun_ms = int(time.time() * 1000)
        self._sent_ms: dict[str, int] = {}
        self._bootstrap, self._rate = bootstrap, rate
        self._failure: Exception | None = None
        self._writing, self._reading, self._placed = threading.Event(), threading.Event(), threading.Event()
        self._writing.set()
        self._reading.set()
        self._activity = Activity(seed=self.begun_ms & 0xFFFF)
        self._write_the_past()
        self._threads = [
            threading.Thread(target=self._guard, args=(work,), daemon=True) for work in (self._read, self._write)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def stop_writing(self) -> None:
        self._writing.clear()

    def close(self) -> None:
        self._writing.clear()
        self._reading.clear()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(5)

    @property
    def written(self) -> int:
        """A record can be read before it was counted here; what was read was certainly written."""
        return max(self._sent, self.read)

    @property
    def delay_ms(self) -> float | None:
        """The median of the last thousand; None before the first."""
        delays = sorted(self.delays_ms)
        return delays[len(delays) // 2] if delays else None

    def sent_ms(self, event: str) -> int | None:
        """When a live event left, by its id; some happened long before that."""
        return self._sent_ms.get(event)

    def _guard(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # raised again where the thread is joined
            self._failure = error

    def _write_the_past(self) -> None:
        activity, now_ms = self._activity, self.begun_ms
        begin_ms = now_ms - DAY_MS
        records.write(self._bootstrap, activity.members(begin_ms))
        records.write(self._bootstrap, activity.opening_jobs(begin_ms, now_ms, OPEN_JOBS))
        self.past = OPEN_JOBS + records.write(self._bootstrap, self._until_now(begin_ms, now_ms))

    def _until_now(self, begin_ms: int, now_ms: int) -> Iterator[records.Record]:
        """What is still under way (it happened, and will be sent later) is left out."""
        history = self._activity.history(begin_ms, now_ms, PAST_EVENTS)
        return (record for record in history if record.time_ms < now_ms)

    def _write(self) -> None:
        self._placed.wait(PLACED_WITHIN_S)  # an event that is written before the reader knows the ends is not read
        live = self._activity.live(int(time.time() * 1000), self._rate)

        def one_more(record: records.Record) -> None:
            self._sent += 1
            self._sent_ms.setdefault(str(record.value["id"]), int(time.time() * 1000))
            if len(self._sent_ms) > SENT_KEPT:
                del self._sent_ms[next(iter(self._sent_ms))]

        records.feed(self._bootstrap, live, self._writing.is_set, written=one_more)

    def _read(self) -> None:
        handle = link.consumer(
            self._bootstrap, {"group.id": GROUP, "auto.offset.reset": "latest", "fetch.wait.max.ms": 50}
        )
        try:
            handle.assign(_ends(handle))
            self._placed.set()
            while self._reading.is_set():
                messages = handle.consume(1000, 0.1)
                now_ms = time.time() * 1000
                for message in messages:
                    if message.error() is None:
                        self._seen(message, now_ms)
                if messages:
                    handle.commit(asynchronous=True)
        finally:
            handle.close()

    def _seen(self, message: RawMessage, now_ms: float) -> None:
        import msgspec

        stamp = message.timestamp()[1]
        if stamp < self.begun_ms - 1000:
            return
        kind = KINDS.get(message.topic() or "", "?")
        self.read += 1
        self.kinds[kind] += 1
        self.delays_ms.append(max(0.0, now_ms - stamp))
        self.recent.append((stamp, kind, msgspec.json.decode(message.value() or b"{}")))


def _ends(handle: ConsumerHandle) -> list[TopicPartition]:
    """The end of each partition as it is before the first live event: nothing of the stream is missed."""
    from confluent_kafka import TopicPartition

    places = [TopicPartition(topic, index) for topic in TOPICS for index in link.partitions_of(handle, topic)]
    for place in places:
        place.offset = handle.get_watermark_offsets(place, timeout=10)[1]
    return places


def told(kind: str, value: JsonObject) -> str:
    """An event in a few words, for the screen."""
    match kind:
        case "search":
            return f"“{value['field']} in {value['city']}”, {value['found']} found"
        case "job":
            return f"{value['company']} seeks a {value['title']} in {value['city']}"
        case _:
            return str(value.get("company", ""))
