"""The topics the cluster makes for itself, as the settings of the node describe them.

A cluster of one must work without a setting, and Kafka's default of three replicas would stop it: the replication
factor of an internal topic is therefore never more than the brokers that are up. It grows with them (growth.py).
"""

from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.items import NewTopic
from barnabas.model.ids import OFFSETS_TOPIC, TRANSACTION_TOPIC
from barnabas.model.settings import Settings

SETTINGS_PREFIX = {OFFSETS_TOPIC: "offsets.topic", TRANSACTION_TOPIC: "transaction.state.log"}


def internal_topic(name: str, settings: Settings, image: MetadataImage) -> NewTopic:
    prefix = SETTINGS_PREFIX[name]
    up = max(1, sum(broker.eligible for broker in image.brokers.values()))
    configs = {
        "cleanup.policy": "compact",
        "compression.type": "producer" if name == OFFSETS_TOPIC else "uncompressed",
        "segment.bytes": str(settings.int(f"{prefix}.segment.bytes")),
    }
    if name == TRANSACTION_TOPIC:
        configs["min.insync.replicas"] = str(settings.int(f"{prefix}.min.isr"))  # or all replicas, where they are fewer
        configs["unclean.leader.election.enable"] = "false"
        configs["flush.messages"] = "1"  # a decision about a transaction is on disk before anybody hears of it
    return NewTopic(
        name,
        settings.int(f"{prefix}.num.partitions"),
        min(up, settings.int(f"{prefix}.replication.factor")),
        configs=tuple(configs.items()),
    )
