"""The topics the cluster makes for itself, as the settings of the node describe them.

A cluster of one must work without a setting, and Kafka's default of three replicas would stop it: the replication
factor of an internal topic is therefore never more than the brokers that are up. It grows with them
(partitions/growth.py).
"""

from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.items import NewTopic
from barnabas.model.ids import AUDIT_TOPIC, OFFSETS_TOPIC, TRANSACTION_TOPIC
from barnabas.model.settings import Settings

_AUDIT_SEGMENT_MIN, _AUDIT_SEGMENT_MAX = 1 << 20, 100 << 20  # retention removes whole segments
SETTINGS_PREFIX = {
    OFFSETS_TOPIC: "offsets.topic",
    TRANSACTION_TOPIC: "transaction.state.log",
    AUDIT_TOPIC: "audit.topic",
}


def internal_topic(name: str, settings: Settings, image: MetadataImage) -> NewTopic:
    prefix = SETTINGS_PREFIX[name]
    up = max(1, sum(broker.eligible for broker in image.brokers.values()))
    configs = _audit_configs(settings) if name == AUDIT_TOPIC else _compacted_configs(name, settings)
    return NewTopic(
        name,
        settings.int(f"{prefix}.num.partitions"),
        min(up, settings.int(f"{prefix}.replication.factor")),
        configs=tuple(configs.items()),
    )


def _compacted_configs(name: str, settings: Settings) -> dict[str, str]:
    prefix = SETTINGS_PREFIX[name]
    configs = {
        "cleanup.policy": "compact",
        "compression.type": "producer" if name == OFFSETS_TOPIC else "uncompressed",
        "segment.bytes": str(settings.int(f"{prefix}.segment.bytes")),
    }
    if name == TRANSACTION_TOPIC:
        configs["min.insync.replicas"] = str(settings.int(f"{prefix}.min.isr"))  # or all replicas, where they are fewer
        configs["unclean.leader.election.enable"] = "false"
        configs["flush.messages"] = "1"  # a decision about a transaction is on disk before anybody hears of it
    return configs


def _audit_configs(settings: Settings) -> dict[str, str]:
    """Bounded by time and by size: what clients do must not fill a disk."""
    kept = settings.int("audit.topic.retention.bytes")
    return {
        "cleanup.policy": "delete",
        "retention.ms": str(settings.int("audit.topic.retention.ms")),
        "retention.bytes": str(kept),
        "segment.bytes": str(max(_AUDIT_SEGMENT_MIN, min(_AUDIT_SEGMENT_MAX, kept // 10))),
        "unclean.leader.election.enable": "false",
    }
