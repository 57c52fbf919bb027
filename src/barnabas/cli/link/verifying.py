"""`barnabas link verify`: both clusters read side by side, batch by batch, and the offsets of groups compared.

Of a compacted topic the last record of each key is compared: which others are left hangs on when each side was
compacted, and so does whether a deleted key is still shown as deleted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

from barnabas.cli.common import human
from barnabas.cli.common.cluster import Cluster
from barnabas.cli.common.failure import Failure
from barnabas.cli.common.options import to_paste
from barnabas.cli.common.screen import note, say
from barnabas.cli.link import links
from barnabas.cli.link.group_offsets import offsets
from barnabas.core.cluster.name_patterns import NamePatterns
from barnabas.wire.apis import FETCH, LIST_OFFSETS
from barnabas.wire.batch import BatchHeader, iter_batches
from barnabas.wire.records import iter_records

if TYPE_CHECKING:
    from barnabas.wire.messages import FetchResponse, ListOffsetsResponse, MetadataResponseTopic

Batches: TypeAlias = Iterator[tuple[BatchHeader, bytes]]
Topics: TypeAlias = "dict[str, MetadataResponseTopic]"

_EARLIEST, _LATEST = -2, -1
_FETCH_BYTES = 4 << 20
_SHOWN = 20
_TELL_EVERY_S = 2.0
_FOLLOWS_S, _FOLLOWS_LOOK_S = 5.0, 0.1


@dataclass
class Verified:
    link: str
    topics: int = 0
    partitions: int = 0
    batches: int = 0
    bytes: int = 0
    groups: int = 0
    differences: list[str] = field(default_factory=list)

    def as_json(self) -> object:
        return {
            "link": self.link,
            "topics": self.topics,
            "partitions": self.partitions,
            "batches": self.batches,
            "bytes": self.bytes,
            "groups": self.groups,
            "differences": self.differences,
        }

    def show(self) -> None:
        what = (
            f"{human.plural(self.topics, 'topic')}, {human.plural(self.partitions, 'partition')}, "
            f"{human.plural(self.batches, 'batch', 'batches')}, {human.size(self.bytes)}, "
            f"{human.plural(self.groups, 'group')}"
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

    def batches(self, start: int, end: int) -> Batches:
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


def verified(cluster: Cluster, name: str, source: str, wanted: NamePatterns | None, *, quiet: bool) -> Verified:
    stored = links.must_exist(cluster, name)
    result, told = Verified(name), time.monotonic()
    mine = links.topics_of(cluster, name)
    if not mine:
        raise Failure(
            f"{name} fills no topic: there is nothing to compare",
            f"Were they promoted? {to_paste(f'link status {name}', cluster.bootstrap)}",
        )
    compacted = {t for t, c in links.configs(cluster, links.TOPIC, list(mine)).items() if _is_compacted(c)}
    with Cluster(source or stored["bootstrap.servers"] or "") as other:
        theirs = {t.name: t for t in other.metadata(sorted(mine)).topics if t.name and not t.error_code}
        for topic, here in mine.items():
            if wanted is not None and not wanted.match(topic):
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
        _compare_groups(result, cluster, other, mine, theirs, stored)
    return result


def _is_compacted(configs: dict[str, str | None]) -> bool:
    return "compact" in (configs.get("cleanup.policy") or "")


def _compare(result: Verified, here: Side, there: Side, *, compacted: bool) -> None:
    result.partitions += 1
    place = f"{here.topic.name}-{here.index}"
    start = max(here.offset(_EARLIEST), there.offset(_EARLIEST))
    source_end = there.offset(_LATEST)
    end = _followed_to(here, source_end)
    if end < source_end:
        missing = human.plural(source_end - end, "record")
        result.differences.append(
            f"{place}: {missing} of the source, from {end} on, did not come in {_FOLLOWS_S:.0f} s"
        )
    source_end = max(source_end, there.offset(_LATEST))
    if end > source_end:
        result.differences.append(f"{place}: ends at {end} here and at {source_end} at the source")
        return
    if compacted:
        _compare_keys(result, place, here.batches(start, end), there.batches(start, end))
        return
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


def _followed_to(here: Side, source_end: int) -> int:
    """Where the log ends here, once all that the source has now has come, or has had the time to."""
    deadline = time.monotonic() + _FOLLOWS_S
    while (end := here.offset(_LATEST)) < source_end and time.monotonic() < deadline:
        time.sleep(_FOLLOWS_LOOK_S)
    return end


def _compare_keys(result: Verified, place: str, ours: Batches, theirs: Batches) -> None:
    mine, other = _last_values(ours, result), _last_values(theirs, None)
    wrong = [key for key in mine.keys() | other.keys() if mine.get(key) != other.get(key)]
    if wrong:
        result.differences.append(
            f"{place}: {human.plural(len(wrong), 'key')} with another last value, {wrong[0]!r} one"
        )


def _last_values(batches: Batches, result: Verified | None) -> dict[bytes, tuple[int, bytes]]:
    """Offset and digest of each key's last value; a deleted key is left out."""
    found: dict[bytes, tuple[int, bytes]] = {}
    for header, batch in batches:
        if result is not None:
            result.batches += 1
            result.bytes += len(batch)
        if header.is_control:
            continue
        for record in iter_records(batch):
            key = bytes(record.key or b"")
            if record.value is None:
                found.pop(key, None)
            else:
                found[key] = record.offset, blake2b(record.value, digest_size=16).digest()
    return found


def _compare_groups(
    result: Verified, cluster: Cluster, other: Cluster, mine: Topics, theirs: Topics, settings: dict[str, str | None]
) -> None:
    """A group with members here goes its own way. An offset beyond what came over is brought as far as the log goes."""
    if settings.get("sync.groups") == "false":
        return
    here, active = offsets(cluster, {topic.topic_id: name for name, topic in mine.items()})
    there, _ = offsets(other, {topic.topic_id: name for name, topic in theirs.items()})
    wanted = NamePatterns.of((settings.get("groups") or ".*").split(","), "groups")
    for group, places in there.items():
        if group in active or not wanted.match(group):
            continue
        result.groups += 1
        for (topic, index), offset in sorted(places.items()):
            if topic not in mine or index >= len(mine[topic].partitions):
                continue
            found = here.get(group, {}).get((topic, index))
            if found != min(offset, Side(cluster, mine[topic], index, "here").offset(_LATEST)):
                told = "not" if found is None else f"at {found}"
                result.differences.append(
                    f"group {group}: {topic}-{index} is {told} here and at {offset} at the source"
                )
