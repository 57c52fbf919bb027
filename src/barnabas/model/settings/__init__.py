"""Settings: the tables (by Kafka's names, types, defaults and rules) and the values a node runs with."""

from barnabas.model.settings.describe import (
    ConfigEntry,
    cluster_entries,
    group_entries,
    link_entries,
    listener_setting,
    metrics_entries,
    node_entries,
    topic_entries,
)
from barnabas.model.settings.effective import Settings, StaticValue, Synonym, TopicSettings, group_settings
from barnabas.model.settings.kinds import (
    ConfigSource,
    ConfigType,
    ResourceType,
    Setting,
    UpdateMode,
    Value,
    parse_value,
    value_text,
)
from barnabas.model.settings.listeners import Listener, parse_listeners, protocol_map
from barnabas.model.settings.tables import (
    GROUP_SETTINGS,
    LINK_SETTINGS,
    METRICS_SETTINGS,
    NODE_AREAS,
    NODE_SETTINGS,
    TOPIC_SETTINGS,
)

__all__ = [
    "GROUP_SETTINGS",
    "LINK_SETTINGS",
    "METRICS_SETTINGS",
    "NODE_AREAS",
    "NODE_SETTINGS",
    "TOPIC_SETTINGS",
    "ConfigEntry",
    "ConfigSource",
    "ConfigType",
    "Listener",
    "ResourceType",
    "Setting",
    "Settings",
    "StaticValue",
    "Synonym",
    "TopicSettings",
    "UpdateMode",
    "Value",
    "cluster_entries",
    "group_entries",
    "group_settings",
    "link_entries",
    "listener_setting",
    "metrics_entries",
    "node_entries",
    "parse_listeners",
    "parse_value",
    "protocol_map",
    "topic_entries",
    "value_text",
]
