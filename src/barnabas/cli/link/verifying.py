"""`barnabas link verify`: both clusters read side by side, batch by batch."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.cli.common import human
from barnabas.cli.common.cluster import Cluster
from barnabas.cli.common.failure import Failure
from barnabas.cli.common.screen import note, say
from barnabas.cli.link import links
from barnabas.wire.apis import FETCH, LIST_OFFSETS
from barnabas.wire.batch import BatchHeader, iter_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from barnabas.wire.messages import FetchResponse, ListOffsetsResponse, MetadataResponseTopic

_EARLIEST, _LATEST = -2, -1
_FETCH_BYTES = 4 << 20
_SHOWN = 20
_TELL_EVERY_S = 2.0


@dataclass
class Verified:
    link: str
    topics: int = 0
    partitions: int = 0
    batches: int = 0
    bytes: int = 0
    differences: list[str] = field(default_factory=list)

    def as_json(self) -> object:
        return {
            "link": self.link,
            "topics": self.topics,
            "partitions": self.partitions,
            "batches": self.batches,
            "bytes": self.bytes,
            "differences": self.differences,
        }

    def show(self) -> None:
        what = (
            f"{human.plural(self.topics, 'topic')}, {human.plural(self.partitions, 'partition')}, "
            f"{human.plural(self.batches, 'batch', 'batches')}, {human.size(self.bytes)}"
        )
        if not self.differences:
            say(f"{self.link}: equal, byte for byte: {what}")
            return
        say(f"{self.link}: {human.plural(len(self.differences), 'difference')} in {what}")
        for difference in self.differences[:_SHOWN]:
            say(f"  {difference}")
        if len(self.differences) > _SHOWN:
            say(f"  ... and {len(self.differences) - _SHOWN} more: --json has all")


@dataclass
class Side:
    """One partition in one of the clusters."""

    cluster: Cluster
    topic: MetadataResponseTopic
    index: int
    where: str

    @property
    def leader(self) -> int:
        part = next(each for each in self.topic.partitions if each.partition_index == self.index)
        if part.leader_id not in self.cluster.brokers:
            raise Failure(f"{self.topic.name}-{self.index} has no leader {self.where}")
        return part.leader_id

    def offset(self, timestamp: int) -> int:
        partition = {"partition_index": self.index, "current_leader_epoch": -1, "timestamp": timestamp}
        body = {
            "replica_id": -1,
            "isolation_level": 0,
            "topics": [{"name": self.topic.name, "partitions": [partition]}],
        }
        answer: ListOffsetsResponse = self.cluster.ask(self.leader, LIST_OFFSETS, body)
        return answer.topics[0].partitions[0].offset

    def batches(self, start: int, end: int) -> Iterator[tuple[BatchHeader, bytes]]:
        offset = start
        while offset < end:
            answer: FetchResponse = self.cluster.ask(self.leader, FETCH, self._fetch(offset))
            part = answer.responses[0].partitions[0]
            if part.error_code:
                raise Failure(f"{self.topic.name}-{self.index} at {offset} cannot be read {self.where}")
            before = offset
            for position, header in iter_batches(part.records or memoryview(b"")):
                if header.last_offset >= offset and header.base_offset < end:
                    yield header, bytes((part.records or b"")[position : position + header.size])
                offset = header.last_offset + 1
            if offset == before:
                return

    def _fetch(self, offset: int) -> dict[str, object]:
        partition = {
            "partition": self.index,
            "current_leader_epoch": -1,
            "fetch_offset": offset,
            "last_fetched_epoch": -1,
            "log_start_offset": -1,
            "partition_max_bytes": _FETCH_BYTES,
        }
        return {
            "max_wait_ms": 100,
            "min_bytes": 1,
            "max_bytes": _FETCH_BYTES,
            "isolation_level": 0,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": self.topic.name, "topic_id": self.topic.topic_id, "partitions": [partition]}],
            "forgotten_topics_data": [],
            "rack_id": "",
        }


def verified(cluster: Cluster, name: str, source: str, patterns: list[str], *, quiet: bool) -> Verified:
    stored = links.must_exist(cluster, name)
    wanted = [re.compile(pattern) for pattern in patterns]
    result, told = Verified(name), time.monotonic()
    mine = links.topics_of(cluster, name)
    compacted = {t for t, c in links.configs(cluster, links.TOPIC, list(mine)).items() if _is_compacted(c)}
    with Cluster(source or stored["bootstrap.servers"] or "") as other:
        theirs = {topic.name: topic for topic in other.metadata(sorted(mine)).topics if not topic.error_code}
        for topic, here in mine.items():
            if wanted and not any(each.fullmatch(topic) for each in wanted):
                continue
            result.topics += 1
            there = theirs.get(topic)
            if there is None or len(there.partitions) != len(here.partitions):
                result.differences.append(f"{topic}: not at the source, or with another number of partitions")
                continue
            for index in range(len(here.partitions)):
                sides = Side(cluster, here, index, "here"), Side(other, there, index, "at the source")
                _compare(result, *sides, compacted=topic in compacted)
                if not quiet and time.monotonic() - told > _TELL_EVERY_S:
                    told = time.monotonic()
                    note(f"{human.plural(result.partitions, 'partition')}, {human.size(result.bytes)} compared ...")
    return result


def _is_compacted(configs: dict[str, str | None]) -> bool:
    return "compact" in (configs.get("cleanup.policy") or "")


def _compare(result: Verified, here: Side, there: Side, *, compacted: bool) -> None:
    result.partitions += 1
    place = f"{here.topic.name}-{here.index}"
    start = max(here.offset(_EARLIEST), there.offset(_EARLIEST))
    end, source_end = here.offset(_LATEST), there.offset(_LATEST)
    if end > source_end:
        result.differences.append(f"{place}: ends at {end} here and at {source_end} at the source")
        return
    if compacted:
        return  # what is left of a compacted log hangs on when each side was compacted
    ours, theirs = here.batches(start, end), there.batches(start, end)
    for header, batch in ours:
        result.batches += 1
        result.bytes += len(batch)
        other = next(theirs, None)
        if other is None or other[1] != batch:
            found = "nothing" if other is None else f"a batch at {other[0].base_offset}"
            result.differences.append(f"{place}: the batch at {header.base_offset} is not the source's ({found} there)")
            return
    if (more := next(theirs, None)) is not None:
        result.differences.append(f"{place}: the batch at {more[0].base_offset} of the source is not here")
