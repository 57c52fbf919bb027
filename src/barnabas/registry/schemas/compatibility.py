"""Is a schema compatible with earlier versions, and in words: why not?

BACKWARD: the new schema reads data of the old one. FORWARD: the old one reads data of the new one. FULL: both. Each
with the latest version, or as *_TRANSITIVE with all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from barnabas.model import limits
from barnabas.registry.schemas.parsed import Incompatibility, ParsedSchema

Level = Literal["NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"]
LEVELS: tuple[Level, ...] = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason why a schema is not compatible with a version."""

    version: int
    is_forward: bool  # the version cannot read data of the new schema; otherwise the new schema cannot read its data
    reason: Incompatibility

    def __str__(self) -> str:
        who, whose = ("the new schema", f"version {self.version}")
        if self.is_forward:
            who, whose = whose, who
        reason = self.reason
        return f"{who} cannot read data of {whose}: {reason.message} (at {reason.path}: {reason.kind})"


def findings(level: Level, schema: ParsedSchema, versions: Sequence[tuple[int, ParsedSchema]]) -> list[Finding]:
    """Why `schema` is not compatible with `versions`, which are of the same format and stand in their order; empty: it
    is. Those of the latest version first, at most INCOMPATIBILITIES_MAX. InvalidSchema where comparing takes too
    long."""
    if level == "NONE":
        return []
    result: list[Finding] = []
    for number, earlier in reversed(versions if level.endswith("_TRANSITIVE") else versions[-1:]):
        if not level.startswith("FORWARD"):
            result += _found(number, False, schema.unreadable(earlier))
        if not level.startswith("BACKWARD"):
            result += _found(number, True, earlier.unreadable(schema))
        if len(result) >= limits.INCOMPATIBILITIES_MAX:
            break
    return result[: limits.INCOMPATIBILITIES_MAX]


def _found(number: int, is_forward: bool, reasons: Iterable[Incompatibility]) -> list[Finding]:
    return [Finding(number, is_forward, each) for each in reasons]
