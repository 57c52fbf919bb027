"""Topics of another cluster as they are: keys, values, headers, times. Each partition is a split, its position the next
offset and the leader epoch that it was read in."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Sequence
from typing import Literal

import re2
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from barnabas.connect.cluster.connection import called
from barnabas.connect.connectors.kafka.feed import Feed, LostOffset, Place
from barnabas.connect.connectors.kafka.other import ClusterOptions, other_cluster
from barnabas.connect.contract import Behind, Chunk, Headers, Options, Position, Reader, Record, Source
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.options import read_options

log = logging.getLogger("barnabas.connect")

_WAIT_S = 20.0
_NAME = re.compile(r"[A-Za-z0-9._{}-]+")


class KafkaSourceOptions(ClusterOptions, kw_only=True, forbid_unknown_fields=True):
    topics: list[str]
    start: Literal["earliest", "latest"] = "earliest"
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed"
    to: str = ""
    keep_partitions: bool = False
    on_lost: Literal["stop", "continue"] = "stop"


class KafkaSource(Source):
    def __init__(self, name: str, given: Options) -> None:
        self._options = options = read_options("kafka", KafkaSourceOptions, given)
        self._cluster = other_cluster(options)
        self._group = f"barnabas-connect-{name}"
        if not options.topics:
            raise BadOption("option 'topics' of kafka is empty", "Name topics, or a pattern that begins with ^")
        if options.to and not _NAME.fullmatch(options.to.replace("{topic}", "x")):
            raise BadOption(f"option 'to' of kafka: {options.to!r}", "Write it as {topic} or east.{topic}")
        self._names = {each for each in options.topics if not each.startswith("^")}
        self._patterns = [_compiled(each) for each in options.topics if each.startswith("^")]
        self._lock = threading.Lock()
        self._feed: Feed | None = None
        if options.isolation == "read_uncommitted":
            self.exactly_once = False  # type: ignore[misc]  # what was aborted there is written here

    def splits(self) -> Sequence[str]:
        self._cluster.check()
        admin = self._cluster.admin()
        known = called(lambda: admin.list_topics(timeout=_WAIT_S)).topics
        for name in self._names:
            if name not in known:
                raise Unavailable(f"cluster {self._cluster.bootstrap} has no topic {name!r}", "See option 'topics'")
        found = []
        for name, topic in known.items():
            named = name in self._names or (not name.startswith("__") and any(p.search(name) for p in self._patterns))
            if named and topic.error is None:
                found += [f"{name}:{partition}" for partition in topic.partitions]
        return sorted(found)

    def open(self, split: str, position: Position | None) -> KafkaReader:
        topic, _, partition = split.rpartition(":")
        place = (topic, int(partition))
        with self._lock:
            if self._feed is None:
                self._feed = Feed(
                    lambda on_error: other_cluster(self._options, on_error), self._group, self._options.isolation
                )
            return KafkaReader(self, self._feed, place, self._options, position)

    def release(self, feed: Feed, place: Place) -> None:
        """A reader is closed; the consumer goes with the last."""
        with self._lock:
            if feed.close_place(place):
                feed.close()
                if self._feed is feed:
                    self._feed = None

    def failed(self, feed: Feed) -> None:
        """Readers that are opened from now on have another consumer."""
        with self._lock:
            if self._feed is feed:
                self._feed = None


def _compiled(pattern: str) -> re2._Regexp:
    settings = re2.Options()
    settings.log_errors = False
    try:
        return re2.compile(pattern, settings)
    except re2.error as problem:
        raise BadOption(f"option 'topics' of kafka: {pattern!r}: {problem}") from None


class KafkaReader(Reader):
    def __init__(
        self, source: KafkaSource, feed: Feed, place: Place, options: KafkaSourceOptions, position: Position | None
    ) -> None:
        self._source, self._feed, self._place, self._options = source, feed, place, options
        self._topic = options.to.replace("{topic}", place[0]) if options.to else None
        self._closed = False
        if position is None:
            low, high = feed.bounds(place)
            position = {"offset": low if options.start == "earliest" else high, "epoch": None}
        self._offset: int = int(position["offset"])
        self._epoch: int | None = position.get("epoch")
        feed.open(place, self._offset, self._epoch)

    def read(self, most: int, wait_s: float) -> Chunk | None:
        try:
            messages = self._feed.take(self._place, most, wait_s)
        except LostOffset:
            self._lost()
            return Chunk((), self._position())
        except Unavailable:
            self._source.failed(self._feed)
            raise
        if not messages:
            return None
        records = [self._record(message) for message in messages]
        last = messages[-1]
        self._offset = (last.offset() or 0) + 1
        self._epoch = last.leader_epoch()
        return Chunk(records, self._position())

    def _position(self) -> Position:
        return {"offset": self._offset, "epoch": self._epoch}

    def _record(self, message: Message) -> Record:
        kind, timestamp_ms = message.timestamp()
        # librdkafka gives a list of names and bytes, whatever its types allow for what is produced
        headers: Headers = message.headers() or ()  # type: ignore[assignment]
        return Record(
            message.value(),
            message.key(),
            self._topic,
            None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms,
            headers,
            self._place[1] if self._options.keep_partitions else None,
        )

    def _lost(self) -> None:
        """What comes next is not there: deleted before it was read, or the log is shorter than it was."""
        low, high = self._feed.bounds(self._place)
        topic, partition = self._place
        what = f"{topic}-{partition} at {self._feed.bootstrap}"
        if self._offset < low:
            said = f"offsets {self._offset} to {low - 1} of {what} were deleted before they were read"
        else:
            said = f"{what} was read up to offset {self._offset} and ends at {high} or continues otherwise"
        if self._options.on_lost == "stop":
            raise Unavailable(said, "To go on with what is there: on_lost: continue")
        log.warning("kafka: %s; going on with what is there", said)
        self._offset, self._epoch = (low if self._offset < low else min(self._offset, high)), None
        self._feed.close_place(self._place)
        self._feed.open(self._place, self._offset, None)

    def behind(self) -> Behind | None:
        if self._place in self._feed.ends:
            return Behind(records=0)
        bounds = self._feed.known_bounds(self._place)
        return Behind(records=max(0, bounds[1] - self._offset)) if bounds is not None else None

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._source.release(self._feed, self._place)
