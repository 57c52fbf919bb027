"""`metrics.listeners` of a node: where none is set nothing is imported, and nothing is served."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from barnabas.broker.metrics.http.endpoint import EndpointNode


class ServedMetrics(Protocol):
    @property
    def addresses(self) -> list[tuple[str, int]]: ...
    def stopping(self) -> None: ...
    def close(self) -> None: ...


class NotServed:
    addresses: list[tuple[str, int]] = []

    def stopping(self) -> None:
        """Nobody asks."""

    def close(self) -> None:
        """Nothing is open."""


def serve_metrics(node: "EndpointNode", closers: list[Callable[[], None]]) -> ServedMetrics:
    """Raises CannotListen, KafkaError. `closers`: what is closed when the start fails."""
    if not node.settings["metrics.listeners"]:
        return NotServed()
    from barnabas.broker.metrics.http.endpoint import MetricsEndpoint  # only for a node that serves them

    endpoint = MetricsEndpoint(node)
    closers.append(endpoint.close)
    return endpoint
