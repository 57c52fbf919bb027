"""The group coordinator: classic groups, KIP-848 consumer groups, committed offsets. It starts at shard.py."""

from barnabas.core.coordinator.contract import Reply, RequestInfo
from barnabas.core.groups.config import GroupConfig, MigrationPolicy
from barnabas.core.groups.effects import Effects
from barnabas.core.groups.refusals import refusal
from barnabas.core.groups.shard import GroupShard
from barnabas.core.groups.topics import TopicsView

__all__ = ["Effects", "GroupConfig", "GroupShard", "MigrationPolicy", "Reply", "RequestInfo", "TopicsView", "refusal"]
