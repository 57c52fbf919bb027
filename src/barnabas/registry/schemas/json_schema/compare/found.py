"""What was found, and where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from barnabas.registry.schemas.json_schema.node import Node
from barnabas.registry.schemas.parsed import Incompatibility

Found: TypeAlias = tuple[Incompatibility, ...]
Facts: TypeAlias = Sequence[Node]
NOTHING: Found = ()
_STEP_MAX = 200  # characters of a step that are shown


@dataclass(frozen=True, slots=True)
class Path:
    """Where in the reader's schema; text is made of it when something is found there."""

    above: Path | None = None
    step: str = ""

    def __truediv__(self, step: str | int) -> Path:
        return Path(self, str(step))

    def __str__(self) -> str:
        steps: list[str] = []
        at: Path | None = self
        while at is not None and at.above is not None:
            steps.append(at.step[:_STEP_MAX])
            at = at.above
        return "#/" + "/".join(reversed(steps))

    def says(self, kind: str, message: str) -> Found:
        return (Incompatibility(kind, str(self), message),)


ROOT = Path()
Compare: TypeAlias = Callable[[tuple[Node, ...], Node, Path], Found]  # facts that data keeps to, what is asked of it
