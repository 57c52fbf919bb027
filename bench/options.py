"""How big and how patient a benchmark is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    libs: Path
    rounds: int = 3
    scale: float = 1.0  # multiplies counts and durations
    quick: bool = False  # fewer cases a row
    big_gb: float = 2.0  # the large partition of the rows about data size
    quiet_cores: float = 0.25  # repeat a run while strangers use more than this; 0 never repeats
    tries: int = 3
    millions: tuple[int, ...] = ()  # sizes of the rows that grow; their smallest without
    patience_s: float = 300.0  # for all waiting and repeating together, so that a busy machine still gets its figures

    def count(self, full: int) -> int:
        return max(1, int(full * self.scale))

    def seconds(self, full: float) -> float:
        return max(1.0, full * self.scale)

    def smaller(self, factor: float) -> Options:
        return replace(self, scale=self.scale * factor)
