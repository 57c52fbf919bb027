"""A mirror as a child of `up`."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.cli.common.child import ServiceChild, start_command
from barnabas.cli.common.failure import Failure


def check(file: str) -> None:
    """Before any node is started. By a child: what reads the file would stay in the memory of the node."""
    child = start_command(["mirror", "run", file, "--check"])
    said, _ = child.communicate()
    if child.returncode:
        lines = said.strip().splitlines() or ["it ended without a word"]
        raise Failure(f"--mirror: {lines[-1].removeprefix('barnabas: ')}", code=child.returncode)


class MirrorChild(ServiceChild):
    def __init__(self, file: str, told: Callable[[str], None]) -> None:
        super().__init__(["mirror", "run", file], "mirroring ", told)
