"""docs/performance.svg: how many times better than Apache Kafka each measure is, on a logarithmic axis.

Every line is one measure of one row: a dot at the geometric mean of its cases, a whisker from the worst to the best
case, a tick at the goal. Right is better, whatever the measure; the line at 1 is Kafka. Drawn by hand: no library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from .measures import Better, Verdict
from .report import measures_by_key
from .stats import geometric_mean
from .workload import Workload

WIDTH, LEFT, RIGHT, TOP, LINE = 920, 380, 90, 86, 24
GOOD, BAD, PLAIN, INK, FAINT = "#1a7f37", "#cf222e", "#57606a", "#24292f", "#d0d7de"


@dataclass(slots=True)
class Line:
    label: str
    values: list[float]
    goal: float | None
    verdicts: list[Verdict]

    @property
    def colour(self) -> str:
        if Verdict.MISSED in self.verdicts:
            return BAD
        return GOOD if Verdict.REACHED in self.verdicts else PLAIN


def lines_of(results: Mapping[str, Any], workloads: Sequence[Workload[Any]]) -> list[Line]:
    lines: dict[tuple[str, str], Line] = {}
    for workload in workloads:
        for case in results["rows"].get(workload.name, {"cases": []})["cases"]:
            kafka, ours = (case["servers"].get(name, {}).get("median", {}) for name in ("Kafka", results["ours"]))
            for measure in measures_by_key(workload, case["case"]).values():
                times = measure.times_better(kafka, ours)
                if not measure.judged or not times:
                    continue
                goal = measure.ratio_goal
                if goal is not None and measure.better is Better.LOWER:
                    goal = 1 / goal
                label = f"{workload.title}: {measure.label}"
                key = (workload.name, label)
                line = lines.setdefault(key, Line(label, [], goal, []))
                line.values.append(times)
                line.verdicts.append(measure.verdict(kafka, ours))
    return list(lines.values())


def draw(results: Mapping[str, Any], workloads: Sequence[Workload[Any]]) -> str:
    lines = lines_of(results, workloads)
    marks = [1.0, *(value for line in lines for value in line.values), *(line.goal for line in lines if line.goal)]
    low, high = math.floor(math.log10(min(marks)) * 2) / 2, math.ceil(math.log10(max(marks)) * 2 + 0.01) / 2

    def x(value: float) -> float:
        return LEFT + (math.log10(value) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    height = TOP + LINE * len(lines) + 30
    bottom = height - 30
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(20, 26, "Times better than Apache Kafka, same machine, same run", 16, INK, weight="bold"),
        _text(20, 46, "dot: mean of the cases; line: worst to best case; grey tick: goal; right is better", 12, PLAIN),
    ]
    for tick in _ticks(low, high):
        kafka = tick == 1
        out.append(_rule(x(tick), TOP - 10, bottom, INK if kafka else FAINT, 1.5 if kafka else 1))
        out.append(_text(x(tick), TOP - 16, "Kafka" if kafka else f"{tick:g}x", 11, PLAIN, anchor="middle"))
    for number, line in enumerate(lines):
        y = TOP + LINE * number + LINE / 2
        mean = geometric_mean(line.values)
        out.append(_text(LEFT - 14, y + 4, line.label, 12, INK, anchor="end"))
        if line.goal:
            out.append(_rule(x(line.goal), y - 8, y + 8, "#8c959f", 3))
        out.append(
            f'<line x1="{x(min(line.values)):.1f}" x2="{x(max(line.values)):.1f}" y1="{y}" y2="{y}"'
            f' stroke="{line.colour}" stroke-width="2"/>'
        )
        out.append(f'<circle cx="{x(mean):.1f}" cy="{y}" r="5" fill="{line.colour}"/>')
        out.append(
            _text(WIDTH - 20, y + 4, f"{mean:.2f}x" if mean < 10 else f"{mean:.0f}x", 12, line.colour, anchor="end")
        )
    return "\n".join([*out, "</svg>"]) + "\n"


def _ticks(low: float, high: float) -> list[float]:
    steps = [factor * 10.0**power for power in range(-4, 5) for factor in (1, 2, 5)]
    inside = [step for step in steps if low <= math.log10(step) <= high]
    return inside if len(inside) <= 10 else [step for step in inside if f"{step:e}".startswith("1")]


def _text(x: float, y: float, text: str, size: int, colour: str, anchor: str = "start", weight: str = "normal") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}"'
    return f'<text {place} text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>'


def _rule(x: float, top: float, bottom: float, colour: str, width: float) -> str:
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" stroke="{colour}" stroke-width="{width}"/>'
