"""A schema registry as a child of `up`: on port 8081, or a free one when that is taken."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.cli.common.child import ServiceChild, is_free

PORT = 8081


class RegistryChild(ServiceChild):
    def __init__(self, bootstrap: str, told: Callable[[str], None]) -> None:
        words = ["registry", "--bootstrap", bootstrap, "--port", str(PORT if is_free(PORT) else 0)]
        super().__init__(words, "the registry is at ", told)
