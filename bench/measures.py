"""What a row measures and what it has to reach.

A goal is either a bound on the ratio ours/Kafka (measured in the same run, so it holds on any machine) or a bound
on our own figure (memory, seconds). A measure without a goal is shown and not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from .stats import ratio


class Better(Enum):
    HIGHER = "higher"
    LOWER = "lower"


class Verdict(Enum):
    REACHED = "reached"
    MISSED = "missed"
    UNKNOWN = "not measured"
    NO_GOAL = ""


@dataclass(frozen=True, slots=True)
class Measure:
    key: str  # the name in a run's results
    label: str
    unit: str
    better: Better
    ratio_goal: float | None = None  # ours/Kafka must be on the good side of this
    value_goal: float | None = None  # ours alone must be on the good side of this
    digits: int = 2
    comparable: bool = True  # whether a ratio to Kafka says anything

    @property
    def judged(self) -> bool:
        return self.ratio_goal is not None or self.value_goal is not None

    def goal_text(self) -> str:
        sign = "≥" if self.better is Better.HIGHER else "≤"
        parts = []
        if self.ratio_goal is not None:
            parts.append(f"{sign} {self.ratio_goal:g} x")
        if self.value_goal is not None:
            parts.append(f"{sign} {self.value_goal:g} {self.unit}".rstrip())
        return ", ".join(parts)

    def _good(self, value: float, bound: float) -> bool:
        return value >= bound if self.better is Better.HIGHER else value <= bound

    def verdict(self, kafka: Mapping[str, float], ours: Mapping[str, float]) -> Verdict:
        if not self.judged:
            return Verdict.NO_GOAL
        if self.key not in ours:
            return Verdict.UNKNOWN
        if self.value_goal is not None and not self._good(ours[self.key], self.value_goal):
            return Verdict.MISSED
        if self.ratio_goal is not None:
            if self.key not in kafka:
                return Verdict.UNKNOWN
            got = ratio(ours[self.key], kafka[self.key])
            if got is None:
                # Kafka's figure is below what the clock can see: only as good a figure of ours can pass.
                return Verdict.REACHED if ours[self.key] <= 0 else Verdict.UNKNOWN
            return Verdict.REACHED if self._good(got, self.ratio_goal) else Verdict.MISSED
        return Verdict.REACHED

    def times_better(self, kafka: Mapping[str, float], ours: Mapping[str, float]) -> float | None:
        """The ratio turned so that more is always better (the chart's axis)."""
        if not self.comparable or self.key not in kafka or self.key not in ours:
            return None
        if self.better is Better.HIGHER:
            return ratio(ours[self.key], kafka[self.key])
        return ratio(kafka[self.key], ours[self.key])
