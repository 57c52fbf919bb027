"""Commands typed in this process: what they print, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def all(self) -> str:
        return self.out + self.err

    def json(self) -> Any:
        return json.loads(self.out)

    def lines(self) -> list[str]:
        """Of stdout, with single spaces: the widths of columns are not what a test is about."""
        return [" ".join(line.split()) for line in self.out.splitlines() if line.strip()]


Typed: TypeAlias = Callable[..., Said]  # typed("topic", "list")
