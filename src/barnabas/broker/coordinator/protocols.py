"""Whether the consumer protocol (KIP-848) is on: by the cluster's `group.version`, and by this node's settings.

Where it is off its APIs answer UNSUPPORTED_VERSION (35) without a text, as Kafka does, which makes clients fall back or
say what is wrong.
"""

from barnabas.broker.roles import ConfiguredView


def serves_consumer_protocol(cluster: ConfiguredView) -> bool:
    enabled = cluster.image.features.get("group.version", 0) >= 1
    return enabled and "consumer" in cluster.settings.list("group.coordinator.rebalance.protocols")
