"""A mirror as a child of `up`."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.cli.common.child import ServiceChild


class MirrorChild(ServiceChild):
    def __init__(self, file: str, told: Callable[[str], None]) -> None:
        super().__init__(["mirror", "run", file], "mirroring ", told)
