"""A flow from one cluster to another, as a source of the runtime: its workers, positions and transactions are those of
the target.

Splits are the partitions that are copied, and three kinds of work that one worker at a time does: `@heartbeats`,
`@settings` of topics and `@groups`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from confluent_kafka import KafkaException, Producer

from barnabas.connect.cluster.connection import called, new_topic
from barnabas.connect.connectors.mirror.copying import CopyReader
from barnabas.connect.connectors.mirror.fetching import Fetching
from barnabas.connect.connectors.mirror.groups import GroupSync
from barnabas.connect.connectors.mirror.heartbeats import HeartbeatsReader
from barnabas.connect.connectors.mirror.mirrormaker import offset_sync
from barnabas.connect.connectors.mirror.options import Patterns, check_different, cluster_of, mirror_options
from barnabas.connect.connectors.mirror.rounds import RoundsReader
from barnabas.connect.connectors.mirror.topics import Topics
from barnabas.connect.contract import Options, Position, Reader, Record, Source

HEARTBEATS, SETTINGS, GROUPS = "@heartbeats", "@settings", "@groups"  # no topic can be called so


class MirrorSource(Source):
    def __init__(self, name: str, given: Options) -> None:
        self._name = name
        self._options = options = mirror_options(given)
        self._naming = options.naming
        self._source, self._target = cluster_of(options.source), cluster_of(options.target)
        self._topics = Topics(
            self._source, self._target, self._naming, Patterns("topics", options.topics), options.heartbeats
        )
        self._groups = Patterns("groups", options.groups)
        self._fetching: Fetching | None = None
        self._syncs: Producer | None = None
        self._is_checked = False

    def splits(self) -> Sequence[str]:
        if not self._is_checked:
            self._source.check()
            called(lambda: check_different(self._source, self._target))
            self._is_checked = True
        found = [f"{name}:{partition}" for name, count in self._topics.ensure().items() for partition in range(count)]
        options = self._options
        found += [HEARTBEATS] if options.heartbeats else []
        found += [SETTINGS] if options.topic_settings else []
        found += [GROUPS] if options.group_offsets != "none" else []
        return sorted(found)

    def open(self, split: str, position: Position | None) -> Reader:
        options = self._options
        if split == HEARTBEATS:
            return HeartbeatsReader(self._source, self._naming)
        if split == SETTINGS:
            return RoundsReader(f"{self._name}-settings", options.settings_every_s, self._sync_settings)
        if split == GROUPS:
            groups = GroupSync(self._name, options, self._source, self._target, self._topics, self._groups)
            return RoundsReader(f"{self._name}-groups", options.groups_every_s, groups.round, groups.close)
        topic, _, partition = split.rpartition(":")
        if self._fetching is None:
            self._source.check()
            self._fetching = Fetching(self._source)
        return CopyReader(
            self._fetching,
            (topic, int(partition)),
            self._naming.at_target(topic),
            self._naming.source if self._naming.carries_origin(topic) else None,
            options.start,
            position,
            self._synced if options.offset_syncs else None,
        )

    def _sync_settings(self, stop: threading.Event) -> Sequence[Record]:
        self._topics.sync_settings()
        return ()

    def _synced(self, topic: str, partition: int, upstream: int, downstream: int) -> None:
        if self._syncs is None:
            self._source.ensure_topics([new_topic(self._naming.offset_syncs, 1, cleanup_policy="compact")])
            self._syncs = self._source.producer(linger_ms=5)
        key, value = offset_sync(topic, partition, upstream, downstream)
        try:
            self._syncs.produce(self._naming.offset_syncs, value, key, 0)
            self._syncs.poll(0)
        except (BufferError, KafkaException):
            pass  # the next one says more

    def close(self) -> None:
        if self._fetching is not None:
            self._fetching.close()
            self._fetching = None
        if self._syncs is not None:
            self._syncs.flush(1)
            self._syncs = None
