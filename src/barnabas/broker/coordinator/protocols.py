"""Whether the consumer protocol (KIP-848) is on: by the cluster's `group.version`, and by this node's settings."""

from typing import TYPE_CHECKING

from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def require_consumer_protocol(node: "Node") -> None:
    """Raises UNSUPPORTED_VERSION (35), as Kafka does, which makes clients fall back or say what is wrong."""
    enabled = node.image.features.get("group.version", 0) >= 1
    if not enabled or "consumer" not in node.settings.list("group.coordinator.rebalance.protocols"):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "The version of API is not supported.")
