"""The charts of the report, as inline SVG: no script, no font and no picture from elsewhere.

Each function takes plain numbers and gives one figure. Colours are variables of the page's style, so the charts follow
it into the dark. Whatever comes from data is escaped. A `<title>` in a shape is what a browser shows under the pointer.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise

WIDTH = 920
ENOUGH_FOR_A_CURVE = 4  # steps with a value


def svg(width: float, height: float, label: str, body: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="100%" role="img" aria-label="{escape(label, quote=True)}">'
        f"{body}</svg>"
    )


def text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}">{escape(words)}</text>'


def nice_top(value: float) -> float:
    """The next round number."""
    if value <= 0:
        return 1.0
    power = 10 ** (len(str(int(value))) - 1) if value >= 1 else 1
    return next(step * power for step in (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10) if step * power >= value)


def area(
    label: str, ticks: Sequence[str], layers: Sequence[tuple[str, str, Sequence[float]]], height: float = 240
) -> str:
    """Layers stacked on each other over equal steps: (name, colour, values). A tick's text is shown where there is
    room."""
    left, right, top, bottom = 46, 8, 10, 24
    count = len(ticks)
    wide, high = WIDTH - left - right, height - top - bottom
    sums = [sum(values[index] for _, _, values in layers) for index in range(count)]
    most = nice_top(max(sums, default=0))
    step = wide / max(1, count - 1)

    def at(index: int, value: float) -> tuple[float, float]:
        return left + index * step, top + high - value / most * high

    body = _grid(left, top, wide, high, most)
    base = [0.0] * count
    as_curve = sum(value > 0 for value in sums) >= ENOUGH_FOR_A_CURVE
    for _, colour, values in layers:
        upper = [low + value for low, value in zip(base, values, strict=True)]
        below, above = ([at(index, value) for index, value in enumerate(edge)] for edge in (base, upper))
        body += _curve(below, above, colour) if as_curve else _columns(below, above, colour, min(step, wide) * 0.6)
        base = upper
    every = max(1, -(-count // 12))
    for index in range(0, count, every):
        body += text(at(index, 0)[0], height - 6, ticks[index], "tick", "middle")
    for index in range(count):  # an unseen column for each step, so that the pointer finds its numbers
        told = ", ".join(f"{values[index]:,.0f} {name}" for name, _, values in layers)
        body += (
            f'<rect x="{at(index, 0)[0] - step / 2:.1f}" y="{top}" width="{step:.1f}" height="{high}" '
            f'fill="transparent">'
            f"<title>{escape(ticks[index])}: {escape(told)}</title></rect>"
        )
    return svg(WIDTH, height, label, body)


def _curve(lower: Sequence[tuple[float, float]], upper: Sequence[tuple[float, float]], colour: str) -> str:
    """A layer between two curves."""
    line, back = smooth(upper), smooth(list(reversed(lower)))
    return (
        f'<path d="{line} L{back.removeprefix("M")} Z" fill="var(--{colour})" fill-opacity=".28"/>'
        f'<path d="{line}" fill="none" stroke="var(--{colour})" stroke-width="2"/>'
    )


def _columns(
    lower: Sequence[tuple[float, float]], upper: Sequence[tuple[float, float]], colour: str, width: float
) -> str:
    """The same as bars, where a curve would show values between steps that nobody counted."""
    return "".join(
        f'<rect x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{base - y:.1f}" '
        f'fill="var(--{colour})" fill-opacity=".55"/>'
        for (_, base), (x, y) in zip(lower, upper, strict=True)
        if base > y
    )


def smooth(points: Sequence[tuple[float, float]]) -> str:
    """A curve through points at equal steps that never goes beyond them: its slope at a point is the harmonic mean of
    those beside it, and flat where the values turn."""
    if not points:
        return ""
    if len(points) == 1:
        x, y = points[0]
        return f"M{x - 1:.1f},{y:.1f} L{x + 1:.1f},{y:.1f}"
    rises = [y1 - y0 for (_, y0), (_, y1) in pairwise(points)]
    inner = [2 * a * b / (a + b) if a * b > 0 else 0.0 for a, b in pairwise(rises)]
    slopes = [rises[0], *inner, rises[-1]]
    path = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for index, ((x0, y0), (x1, y1)) in enumerate(pairwise(points)):
        third = (x1 - x0) / 3
        path.append(
            f"C{x0 + third:.1f},{y0 + slopes[index] / 3:.1f} {x1 - third:.1f},{y1 - slopes[index + 1] / 3:.1f} "
            f"{x1:.1f},{y1:.1f}"
        )
    return " ".join(path)


def _grid(left: float, top: float, wide: float, high: float, most: float) -> str:
    body = ""
    for part in range(5):
        y = top + high - high * part / 4
        body += f'<line x1="{left}" x2="{left + wide:g}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
        body += text(left - 8, y + 4, _short(most * part / 4), "tick", "end")
    return body


def funnel(label: str, stages: Sequence[tuple[str, int]]) -> str:
    """Bars that grow shorter, each with its share of the one before."""
    row, width = 74, 440
    most = max(1, stages[0][1] if stages else 1)
    body = ""
    for index, (name, value) in enumerate(stages):
        y = index * row
        wide = max(3.0, value / most * width)
        before = stages[index - 1][1] if index else 0
        share = f"{value / before:.0%} of those before" if before else ""
        body += text(0, y + 14, name, "label") + text(width, y + 14, f"{value:,}", "label strong", "end")
        body += text(width - 62, y + 14, share, "tick", "end")
        body += f'<rect x="0" y="{y + 22}" width="{width}" height="26" rx="9" class="track"/>'
        body += f'<rect x="0" y="{y + 22}" width="{wide:.1f}" height="26" rx="9" fill="var(--main)" '
        body += f'fill-opacity="{1 - 0.17 * index:.2f}"><title>{value / most:.1%} of all</title></rect>'
    return svg(width, row * len(stages) - 22, label, body)


def bars(
    label: str, rows: Sequence[tuple[str, float, str]], colour: str = "main", left: float = 110, width: float = 440
) -> str:
    """One bar a row: (name, value, what stands behind it). Names stand in the `left` part."""
    row = 28
    most = max([1.0, *(value for _, value, _ in rows)])
    body = ""
    for index, (name, value, told) in enumerate(rows):
        y = index * row
        wide = max(2.0, value / most * (width - left - 118))
        body += text(left - 10, y + 17, name, "label", "end")
        body += f'<rect x="{left}" y="{y + 5}" width="{wide:.1f}" height="16" rx="4" fill="var(--{colour})" '
        body += f'fill-opacity="{0.95 - 0.5 * index / max(1, len(rows)):.2f}"/>'
        body += text(left + wide + 8, y + 17, told, "tick")
    return svg(width, row * len(rows), label, body)


def pairs(label: str, rows: Sequence[tuple[str, float, float, str]], width: float = 440) -> str:
    """Two bars from the middle outwards, each side on its own scale: (name, left, right, told)."""
    row, middle = 30, 208.0
    left_most = max([1.0, *(each[1] for each in rows)])
    right_most = max([1.0, *(each[2] for each in rows)])
    body = ""
    for index, (name, one, two, told) in enumerate(rows):
        y = index * row
        a, b = one / left_most * 118, two / right_most * 118
        body += text(0, y + 18, name, "label")
        body += f'<rect x="{middle - a:.1f}" y="{y + 6}" width="{a:.1f}" height="16" rx="4" fill="var(--main)">'
        body += f"<title>{one:,.0f} searches</title></rect>"
        body += (
            f'<rect x="{middle + 4:.1f}" y="{y + 6}" width="{max(b, 1.5):.1f}" height="16" rx="4" fill="var(--warm)">'
        )
        body += f"<title>{two:,.0f} jobs</title></rect>"
        body += text(width, y + 18, told, "tick", "end")
    return svg(width, row * len(rows), label, body)


def heat(label: str, rows: Sequence[tuple[str, Sequence[int]]], ticks: Sequence[str]) -> str:
    """A square for each row and step, the darker the more."""
    left, row = 118, 24
    count = len(ticks)
    step = (WIDTH - left) / max(1, count)
    most = max([1, *(value for _, values in rows for value in values)])
    body = ""
    for index, (name, values) in enumerate(rows):
        y = index * row
        body += text(left - 10, y + 16, name, "label", "end")
        for place, value in enumerate(values):
            strength = 0.06 + 0.94 * (value / most) ** 0.7 if value else 0.04
            body += (
                f'<rect x="{left + place * step:.1f}" y="{y + 1}" width="{step - 2:.1f}" height="{row - 3}" rx="3" '
                f'fill="var(--main)" fill-opacity="{strength:.2f}"><title>{escape(name)}, {escape(ticks[place])}: '
                f"{value:,}</title></rect>"
            )
    for place in range(0, count, 3):
        body += text(left + place * step + step / 2 - 1, row * len(rows) + 16, ticks[place], "tick", "middle")
    return svg(WIDTH, row * len(rows) + 22, label, body)


def columns(label: str, rows: Sequence[tuple[str, int]], width: float = 440, height: float = 270) -> str:
    """Standing bars with their share on top: how many of each class."""
    total = max(1, sum(value for _, value in rows))
    most = max([1, *(value for _, value in rows)])
    step = width / max(1, len(rows))
    body = f'<line x1="0" x2="{width:g}" y1="{height - 26:g}" y2="{height - 26:g}" class="grid"/>'
    for index, (name, value) in enumerate(rows):
        high = value / most * (height - 56)
        x = index * step + step * 0.14
        body += (
            f'<rect x="{x:.1f}" y="{height - 26 - high:.1f}" width="{step * 0.72:.1f}" height="{high:.1f}" rx="4" '
            f'fill="var(--cool)"><title>{value:,} sessions</title></rect>'
        )
        centre = index * step + step / 2
        body += text(centre, height - 34 - high, f"{value / total:.0%}", "label strong", "middle")
        body += text(centre, height - 8, name, "tick", "middle")
    return svg(width, height, label, body)


def _short(value: float) -> str:
    if value >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:g}"
