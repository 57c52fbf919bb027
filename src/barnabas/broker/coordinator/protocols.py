"""Whether the consumer protocol (KIP-848) is on: by the cluster's `group.version`, and by this node's settings."""

from barnabas.broker.roles import ConfiguredView
from barnabas.model.errors import ErrorCode, KafkaError


def require_consumer_protocol(cluster: ConfiguredView) -> None:
    """Raises UNSUPPORTED_VERSION (35), as Kafka does, which makes clients fall back or say what is wrong."""
    enabled = cluster.image.features.get("group.version", 0) >= 1
    if not enabled or "consumer" not in cluster.settings.list("group.coordinator.rebalance.protocols"):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "The version of API is not supported.")
