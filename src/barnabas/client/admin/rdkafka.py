"""The admin half of confluent-kafka, untyped: its package exports these names without saying so to a type checker."""

from __future__ import annotations

from typing import Any

from confluent_kafka import admin as _typed

_admin: Any = _typed
AdminClient: Any = _admin.AdminClient
AlterConfigOpType: Any = _admin.AlterConfigOpType
ConfigEntry: Any = _admin.ConfigEntry
ConfigResource: Any = _admin.ConfigResource
ConfigSource: Any = _admin.ConfigSource
NewPartitions: Any = _admin.NewPartitions
NewTopic: Any = _admin.NewTopic
OffsetSpec: Any = _admin.OffsetSpec
ResourceType: Any = _admin.ResourceType
