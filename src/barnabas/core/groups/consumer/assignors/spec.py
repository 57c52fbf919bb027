"""What an assignor is told."""

from collections.abc import Mapping
from dataclasses import dataclass

Assignment = dict[str, dict[bytes, frozenset[int]]]  # member -> topic id -> partitions


@dataclass(frozen=True, slots=True)
class MemberSpec:
    instance_id: str | None
    topics: frozenset[bytes]  # ids of existing topics only
    current: Mapping[bytes, frozenset[int]]  # its part of the last target
