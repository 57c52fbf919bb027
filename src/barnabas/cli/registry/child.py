"""A schema registry as a child of `up`: on port 8081, or a free one when that is taken."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.cli.common.child import ServiceChild, free_port, is_free

PORT = 8081


class RegistryChild(ServiceChild):
    def __init__(self, bootstrap: str, told: Callable[[str], None]) -> None:
        port = PORT if is_free(PORT) else free_port()
        self.address = f"http://127.0.0.1:{port}"  # known at once: a console beside it is told
        words = ["registry", "--bootstrap", bootstrap, "--port", str(port)]
        super().__init__(words, "the registry is at ", told)
