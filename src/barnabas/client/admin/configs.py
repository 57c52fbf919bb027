"""Settings of topics, nodes and groups over the wire: read them with their sources, change them one by one.

Kafka keeps a setting in layers (its default, the node's file, the cluster, the node, the topic). A described setting
carries those layers as synonyms; the one that is a default tells what the value would be without anybody's doing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from barnabas.client.admin.connection import AdminConnection
from barnabas.client.admin.descriptions import ConfigValue
from barnabas.client.admin.rdkafka import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource, ResourceType
from barnabas.client.errors import BadSetting

ConfigKind = Literal["topic", "broker", "group"]
Change = tuple[str, str, str | None]

_KINDS = {"topic": ResourceType.TOPIC, "broker": ResourceType.BROKER, "group": ResourceType.GROUP}
_OPERATIONS = {
    "set": AlterConfigOpType.SET,
    "delete": AlterConfigOpType.DELETE,
    "append": AlterConfigOpType.APPEND,
    "subtract": AlterConfigOpType.SUBTRACT,
}
_SOURCES = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: "topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "node",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "cluster",
    ConfigSource.STATIC_BROKER_CONFIG: "static",
    ConfigSource.DEFAULT_CONFIG: "default",
    ConfigSource.GROUP_CONFIG: "group",
}


def configs(connection: AdminConnection, kind: ConfigKind, name: str) -> dict[str, ConfigValue]:
    doing = f"describe the settings of {kind} {name!r}"
    if kind == "broker" and name:
        _check_broker(connection, name, doing)
    entries = connection.call_one(connection.client.describe_configs, doing, [_resource(kind, name)])
    return {key: _value(entries[key]) for key in sorted(entries)}


def alter_configs(
    connection: AdminConnection, kind: ConfigKind, name: str, changes: Sequence[Change], validate_only: bool
) -> None:
    doing = f"change the settings of {kind} {name!r}"
    if not changes:
        raise BadSetting(f"{doing}: nothing to change")
    if kind == "broker" and name:
        _check_broker(connection, name, doing)
    entries = [ConfigEntry(key, value, incremental_operation=_OPERATIONS[how]) for how, key, value in changes]
    resource = _resource(kind, name, entries)
    connection.call_one(connection.client.incremental_alter_configs, doing, [resource], validate_only=validate_only)


def _check_broker(connection: AdminConnection, name: str, doing: str) -> None:
    """A broker's settings are asked of that broker itself; librdkafka waits in vain for one that does not exist."""
    known = {str(each.id) for each in connection.call(connection.client.describe_cluster, doing).nodes}
    if name not in known:
        raise BadSetting(f"{doing}: there is no such broker; there is {', '.join(sorted(known))}")


def _resource(kind: str, name: str, entries: list[ConfigEntry] | None = None) -> ConfigResource:
    if kind not in _KINDS:
        raise BadSetting(f"no kind {kind!r}: one of {', '.join(_KINDS)}")
    if kind == "broker" and name and not name.isdigit():  # the empty name stands for all brokers of the cluster
        raise BadSetting(f"a broker is named by its id, not {name!r}")
    return ConfigResource(_KINDS[kind], name, incremental_configs=entries)


def _value(entry: ConfigEntry) -> ConfigValue:
    layers = [(each.name, each.value, _source(each.source)) for each in (entry.synonyms or {}).values()]
    source = _source(entry.source)
    default = next((value for _, value, where in layers if where == "default"), None)
    if source == "default":
        default = entry.value
    return ConfigValue(entry.value, default, source, entry.is_read_only, entry.is_sensitive, layers)


def _source(source: object) -> str:
    """librdkafka gives the number of a source it found on the wire, or the enum for one it made itself."""
    try:
        return _SOURCES.get(ConfigSource(source), "unknown")
    except ValueError:
        return "unknown"
