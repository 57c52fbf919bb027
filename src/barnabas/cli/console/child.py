"""A console as a child of `up` and `demo`: on port 8080, or a free one when that is taken."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import ExitStack

from barnabas.cli.common.child import ServiceChild, is_free

PORT = 8080
_METRICS_PORT = 9404  # where the JMX exporter is looked for


class ConsoleChild(ServiceChild):
    def __init__(
        self, bootstrap: str, told: Callable[[str], None], pipelines: str | None = None, registry: str | None = None
    ) -> None:
        words = ["console", "--bootstrap", bootstrap, "--port", str(PORT if is_free(PORT) else 0)]
        if pipelines is not None:
            words += ["--pipelines", pipelines]
        if registry is not None:
            words += ["--registry", registry]
        super().__init__(words, "the console is at ", told)


def metrics_listeners(count: int) -> list[str]:
    """`metrics.listeners` for so many nodes on this machine: from 9404 on, or on free ports where one is taken."""
    ports = list(range(_METRICS_PORT, _METRICS_PORT + count))
    if not all(is_free(port) for port in ports):
        with ExitStack() as held:
            sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
            ports = [each.getsockname()[1] for each in sockets]
    return [f"http://127.0.0.1:{port}" for port in ports]
