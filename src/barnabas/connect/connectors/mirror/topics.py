"""The topics of a mirror: made at the target as they are at the source, grown and configured with them.

Nothing is deleted. With the same names on both sides settings are taken over when a topic is made, and not later: each
side would undo what the other one changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from barnabas.connect.cluster.connection import Cluster, called
from barnabas.connect.connectors.mirror.names import HEARTBEATS, Naming, is_heartbeats
from barnabas.connect.connectors.mirror.options import Patterns
from barnabas.connect.errors import Unavailable
from barnabas.model.settings import TOPIC_SETTINGS

_WAIT_S = 30.0
_AT_ONCE = 200
# MirrorMaker's default property filter: what belongs to the cluster that has the topic, and not to the topic. And what
# Apache Kafka does not know: it refuses a topic with such a setting, and a cluster without zones, or without a schema
# registry, would refuse what is written.
_NOT_COPIED = frozenset(
    {
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "message.timestamp.difference.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.after.max.ms",
        "message.timestamp.type",
        "unclean.leader.election.enable",
        "min.insync.replicas",
        *(row.name for row in TOPIC_SETTINGS.values() if row.internal),
    }
)


class Topics:
    def __init__(self, source: Cluster, target: Cluster, naming: Naming, patterns: Patterns, heartbeats: bool) -> None:
        self._source, self._target, self._naming, self._patterns = source, target, naming, patterns
        self._heartbeats = heartbeats

    def wanted(self) -> dict[str, int]:
        """Topics of the source that are copied, with the number of their partitions."""
        return {name: count for name, count in _partitions(self._source.admin()).items() if self.is_wanted(name)}

    def is_wanted(self, topic: str) -> bool:
        asked = self._patterns.match(topic) or (self._heartbeats and is_heartbeats(topic))
        return asked and self._naming.may_copy(topic) and len(self._naming.at_target(topic)) <= 249

    def ensure(self) -> dict[str, int]:
        """The same, once they are at the target: topics that cannot be made are left out and raise when nothing else
        is left to do."""
        wanted = self.wanted()
        there = _partitions(self._target.admin())
        missing = [name for name in wanted if self._naming.at_target(name) not in there]
        grown = {
            name: count
            for name, count in wanted.items()
            if (found := there.get(self._naming.at_target(name))) is not None and found < count
        }
        if missing:
            self._create({name: wanted[name] for name in missing})
        if grown:
            self._grow(grown)
        if not missing and not grown:
            return wanted
        there = _partitions(self._target.admin())
        return {name: min(count, there.get(self._naming.at_target(name), 0)) for name, count in wanted.items()}

    def _create(self, topics: Mapping[str, int]) -> None:
        names = [name for name in topics if name != HEARTBEATS]
        settings = self._settings(self._source.admin(), names)
        self._target.ensure_topics(
            NewTopic(
                self._naming.at_target(name),
                num_partitions=count,
                replication_factor=-1,
                config={"cleanup.policy": "compact"} if name == HEARTBEATS else settings.get(name, {}),
            )
            for name, count in topics.items()
        )

    def _grow(self, topics: Mapping[str, int]) -> None:
        wanted = [NewPartitions(self._naming.at_target(name), count) for name, count in topics.items()]
        for name, future in self._target.admin().create_partitions(wanted, request_timeout=_WAIT_S).items():
            try:
                future.result(_WAIT_S)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.INVALID_PARTITIONS:  # another worker was faster
                    raise Unavailable(f"topic {name} cannot grow: {error.args[0].str()}") from None

    # --- settings ---------------------------------------------------------------------------------------------------

    def sync_settings(self) -> None:
        """Those that were set for topics of the source, and were changed or removed since."""
        names = [name for name in self.wanted() if not self._naming.carries_origin(name) and not is_heartbeats(name)]
        admin = self._target.admin()
        there = _partitions(admin)
        known = [name for name in names if self._naming.at_target(name) in there]
        wanted = self._settings(self._source.admin(), known)
        found = self._settings(admin, map(self._naming.at_target, known))
        changes: list[ConfigResource] = []
        for name, settings in wanted.items():
            here = found.get(self._naming.at_target(name), {})
            entries = [_entry(key, value) for key, value in settings.items() if here.get(key) != value]
            entries += [_entry(key, None) for key in here if key not in settings]
            if entries:
                remote = self._naming.at_target(name)
                changes.append(ConfigResource(ResourceType.TOPIC, remote, incremental_configs=entries))
        if not changes:
            return
        for resource, future in admin.incremental_alter_configs(changes, request_timeout=_WAIT_S).items():
            try:
                future.result(_WAIT_S)
            except KafkaException as error:
                raise Unavailable(f"settings of topic {resource.name}: {error.args[0].str()}") from None

    def _settings(self, admin: AdminClient, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """What was set for each."""
        names = list(topics)
        found: dict[str, dict[str, str]] = {}
        for at in range(0, len(names), _AT_ONCE):
            resources = [ConfigResource(ResourceType.TOPIC, name) for name in names[at : at + _AT_ONCE]]
            for resource, future in admin.describe_configs(resources, request_timeout=_WAIT_S).items():
                try:
                    entries = future.result(_WAIT_S)
                except KafkaException as error:
                    if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:  # deleted meanwhile
                        continue
                    raise Unavailable(f"settings of topic {resource.name}: {error.args[0].str()}") from None
                found[resource.name] = {
                    name: entry.value
                    for name, entry in entries.items()
                    if entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
                    and entry.value is not None
                    and may_copy_setting(name)
                }
        return found


def may_copy_setting(name: str) -> bool:
    return name not in _NOT_COPIED


def _entry(name: str, value: str | None) -> ConfigEntry:
    operation = AlterConfigOpType.SET if value is not None else AlterConfigOpType.DELETE
    return ConfigEntry(name, value, incremental_operation=operation)


def _partitions(admin: AdminClient) -> dict[str, int]:
    known = called(lambda: admin.list_topics(timeout=_WAIT_S)).topics
    return {name: len(topic.partitions) for name, topic in known.items() if topic.error is None and topic.partitions}
