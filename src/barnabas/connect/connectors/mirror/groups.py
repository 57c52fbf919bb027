"""Groups of the source at the target: translated offsets as checkpoints of MirrorMaker, and committed for groups that
have no members there.

Offsets only move forward, and never beyond what the map proves: a group that goes on at the other side misses nothing,
and reads again at most what `mirror status` says. A group that has gone on at the target is brought home in the same
way: the offsets that it has there of copied topics, translated back, are committed at the source while it has no
members there.

What the source had before the copy began is not at the target. A group that still has to read some of it gets no
offset at the target, and none at the source that is beyond it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from barnabas.connect.cluster.connection import Cluster, new_topic
from barnabas.connect.connectors.mirror.flow_back import SETTLE_S, FlowBack
from barnabas.connect.connectors.mirror.group_offsets import Offsets, commit, committed, listed, log_starts
from barnabas.connect.connectors.mirror.maps import Maps
from barnabas.connect.connectors.mirror.mirrormaker import Checkpoint
from barnabas.connect.connectors.mirror.names import Naming, may_copy_group
from barnabas.connect.connectors.mirror.offset_map import Translated
from barnabas.connect.connectors.mirror.options import MirrorOptions, Patterns
from barnabas.connect.connectors.mirror.topics import Topics
from barnabas.connect.contract import Record
from barnabas.connect.errors import Unavailable
from barnabas.model.limits import LINK_GROUPS_MAX

Place = tuple[str, int]

_STARTS_S = 60.0  # how long the starts of the source's logs count: one that has moved on since is only seen later


class Translation:
    """Offsets of both sides of a flow. With the same names on both sides a partition has what both have written, and
    the map of the flow back counts as well, where there is one."""

    def __init__(self, naming: Naming, source: Cluster, target: Cluster, settle_s: float = SETTLE_S) -> None:
        self._naming, self._source = naming, source
        self.maps = Maps(target, naming.flow)
        self._back = FlowBack(source, naming, settle_s) if naming.same_names else None
        self._sources: dict[str, str] = {}  # names at the target to names at the source
        self._starts: Offsets = {}
        self._starts_until = 0.0

    def refresh(self) -> None:
        self.maps.refresh()
        if self._back is not None:
            self._back.refresh()
        self._sources = {self._naming.at_target(topic): topic for topic, _ in self.maps.places}

    @property
    def may_have_flow_back(self) -> bool:
        return self._back is not None and not self._back.is_missing

    def to_target(self, place: Place, offset: int) -> Translated | None:
        """`place` is one of the source. None: it is not copied, or not all that the group has not read yet, or what it
        has read of the flow back is not known yet."""
        found = self.maps.of(*place)
        if found is None or self._has_more(place, offset, found.first.source):
            return None
        translated = found.translate(offset)
        if self._back is None or not self._naming.carries_origin(place[0]) or not self._back.copies(place[0]):
            return translated
        back = self._back.of(*place)
        return None if back is None else min(translated, back.back(offset))

    def to_source(self, place: Place, offset: int, has: Offsets) -> tuple[Place, Translated] | None:
        """`place` is one of the target. None: it is no copy, the group has read nothing of the copy, or by what it
        `has` at the source it has not read there what comes before the copy."""
        topic = self._sources.get(place[0])
        found = None if topic is None else self.maps.of(topic, place[1])
        if topic is None or found is None or offset <= found.first.target:
            return None
        at, begins = (topic, place[1]), found.first.source
        return None if self._has_more(at, has.get(at, begins), begins) else (at, found.back(offset))

    def _has_more(self, place: Place, offset: int, begins: int) -> bool:
        """Whether the source has records from `offset` on that come before the copy, which begins at `begins`."""
        if offset >= begins:
            return False
        if time.monotonic() >= self._starts_until:
            self._starts = log_starts(self._source, self.maps.places)
            self._starts_until = time.monotonic() + _STARTS_S
        return self._starts.get(place, 0) < begins

    def close(self) -> None:
        self.maps.close()
        if self._back is not None:
            self._back.close()


class GroupSync:
    def __init__(
        self, name: str, options: MirrorOptions, source: Cluster, target: Cluster, topics: Topics, groups: Patterns
    ) -> None:
        self._source, self._target, self._topics, self._patterns = source, target, topics, groups
        self._naming, self._brings_home = options.naming, options.group_offsets == "both"
        self._translation = Translation(self._naming, source, target)
        self._sent: dict[tuple[str, str, int], Checkpoint] = {}
        target.ensure_topics([new_topic(self._naming.checkpoints, 1, cleanup_policy="compact")])

    def round(self, stop: threading.Event) -> Sequence[Record]:
        """Checkpoints that are new. Offsets are committed on the way."""
        self._translation.refresh()
        there, here = listed(self._source), listed(self._target)
        listings = {**there.groups, **here.groups}
        wanted = {group for group in listings if self._patterns.match(group) and may_copy_group(group)}
        if len(wanted) > LINK_GROUPS_MAX:
            raise Unavailable(f"{len(wanted)} groups, {LINK_GROUPS_MAX} are the most", "Name fewer with --groups")
        at_source = committed(self._source, wanted & set(there.groups))
        at_target = committed(self._target, wanted & set(here.groups))
        checkpoints: list[Checkpoint] = []
        for group, offsets in at_source.items():
            if stop.is_set():
                return ()
            found = list(self._checkpoints(group, offsets))
            checkpoints += found
            if here.is_idle(group) and (has := here.known(group, at_target)) is not None:
                self._commit_at_target(group, found, has)
        if self._brings_home and not self._translation.may_have_flow_back:
            for group, offsets in at_target.items():
                if stop.is_set():
                    return ()
                if there.is_idle(group) and (has := there.known(group, at_source)) is not None:
                    self._commit_at_source(group, offsets, has)
        return self._new(checkpoints)

    def _checkpoints(self, group: str, offsets: Offsets) -> Iterable[Checkpoint]:
        for place, offset in offsets.items():
            if self._topics.is_wanted(place[0]) and (found := self._translation.to_target(place, offset)) is not None:
                yield Checkpoint(group, self._naming.at_target(place[0]), place[1], offset, found.offset)

    def _commit_at_target(self, group: str, found: Sequence[Checkpoint], has: Offsets) -> None:
        moved = {
            (each.topic, each.partition): each.downstream
            for each in found
            if has.get((each.topic, each.partition), -1) < each.downstream
        }
        if moved:
            commit(self._target, group, moved)

    def _commit_at_source(self, group: str, offsets: Offsets, has: Offsets) -> None:
        moved: Offsets = {}
        for place, offset in offsets.items():
            if (found := self._translation.to_source(place, offset, has)) is not None:
                at, translated = found
                if has.get(at, -1) < translated.offset and self._topics.is_wanted(at[0]):
                    moved[at] = translated.offset
        if moved:
            commit(self._source, group, moved)

    def _new(self, checkpoints: Sequence[Checkpoint]) -> list[Record]:
        records = []
        for each in checkpoints:
            key = (each.group, each.topic, each.partition)
            if self._sent.get(key) != each:
                self._sent[key] = each
                records.append(Record(each.value(), each.key(), self._naming.checkpoints, partition=0))
        current = {(each.group, each.topic, each.partition) for each in checkpoints}
        for gone in [key for key in self._sent if key not in current]:
            del self._sent[gone]
        return records

    def close(self) -> None:
        self._translation.close()


class GroupPlace(NamedTuple):
    """How a group would go on at the target."""

    group: str
    topic: str  # as at the target
    partition: int
    at_source: int
    translated: int
    at_target: int | None  # committed there
    again_max: int  # records that it would read again, at most
    is_active: bool  # has members at the target: its own offsets count there


def group_places(
    options: MirrorOptions, translation: Translation, source: Cluster, target: Cluster
) -> list[GroupPlace]:
    naming, patterns = options.naming, Patterns("groups", options.groups)
    topics = Topics(source, target, naming, Patterns("topics", options.topics), options.heartbeats)
    there, here = listed(source), listed(target)
    groups = sorted(group for group in there.groups if patterns.match(group) and may_copy_group(group))
    wanted = groups[:LINK_GROUPS_MAX]
    at_target = committed(target, [group for group in wanted if group in here.groups])
    found: list[GroupPlace] = []
    for group, offsets in committed(source, wanted).items():
        for place, offset in sorted(offsets.items()):
            translated = translation.to_target(place, offset) if topics.is_wanted(place[0]) else None
            mapped = translation.maps.of(*place)
            if translated is None or mapped is None:
                continue
            remote = naming.at_target(place[0])
            has = at_target.get(group, {}).get((remote, place[1]))
            begins = translated.offset if has is None else has
            again = max(0, translated.offset + translated.again_max - begins) + max(0, offset - mapped.last.source)
            active = not here.is_idle(group)
            found.append(GroupPlace(group, remote, place[1], offset, translated.offset, has, again, active))
    return found
