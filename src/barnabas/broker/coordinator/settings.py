"""The coordinators' settings, taken from the node's, from the cluster's features and from what is stored for groups."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from barnabas.core.cluster.image import MetadataImage
from barnabas.core.groups.config import GroupConfig, MigrationPolicy
from barnabas.core.txn.config import TxnConfig
from barnabas.model.settings import ResourceType, Settings
from barnabas.model.settings.node.groups import CONSUMER_ASSIGNORS


def _by_name(kind: type, settings: Settings) -> dict[str, Any]:  # for `**`: settings are of several types
    """The fields that are settings under Kafka's name, dots turned to underscores."""
    names = {field.name: field.name.replace("_", ".") for field in fields(kind)}
    return {field: settings[name] for field, name in names.items() if name in settings}


def txn_config(settings: Settings, image: MetadataImage) -> TxnConfig:
    values = _by_name(TxnConfig, settings)
    values["transaction_two_phase_commit_enable"] = settings.bool("transaction.two.phase.commit.enable")
    return TxnConfig(**values | {"transaction_version": image.features.get("transaction.version", 0)})


def group_config(settings: Settings, image: MetadataImage) -> GroupConfig:
    values = _by_name(GroupConfig, settings)
    values["group_consumer_migration_policy"] = MigrationPolicy(settings.str("group.consumer.migration.policy").lower())
    named = settings.list("group.consumer.assignors")
    values["group_consumer_assignors"] = tuple(dict.fromkeys(CONSUMER_ASSIGNORS[name] for name in named))

    def overrides(group_id: str) -> Mapping[str, int]:
        stored = image.config(ResourceType.GROUP, group_id)
        return {name: int(text) for name, text in stored.items() if text.lstrip("-").isdigit()}

    values["overrides"] = overrides
    return GroupConfig(**values)
