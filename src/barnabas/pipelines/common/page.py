"""One HTML page with tables and charts, whole in itself: no script, no font, no picture from elsewhere.

A page is a list of pieces, each a string of HTML made by one of the functions here. Charts are SVG; they take plain
numbers, and a gap in a line is a `None`. Whatever comes from data is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #6b7686; --line: #d9dee6; --card: #fff; --ground: #f4f6f9;
  --good: #1a7f52; --bad: #c0392b; --main: #2563c9; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ecf2; --soft: #98a3b3; --line: #333c49; --card: #1d2430;
  --ground: #141922; --good: #4cc38a; --bad: #f0776b; --main: #6ea0f5; } }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1000px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 36px 0 10px; }
p.lead { color: var(--soft); margin: 0 0 20px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px; margin: 12px 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: right; color: var(--soft); font-weight: 500; border-bottom: 1px solid var(--line); padding: 6px 8px; }
td { text-align: right; padding: 6px 8px; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; }
figure { margin: 0; } figcaption { color: var(--soft); font-size: 13px; margin-bottom: 4px; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(290px, 1fr)); gap: 12px; }
"""

_WIDTH, _HEIGHT = 420, 110
_POINTS = 420  # more than the picture is wide would not be seen


def page(title: str, lead: str, pieces: Iterable[str]) -> str:
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    body = "\n".join(pieces)
    return f'{head}<main><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>\n{body}\n</main></html>\n'


def heading(text: str) -> str:
    return f"<h2>{escape(text)}</h2>"


def card(*pieces: str) -> str:
    return f'<div class="card">{"".join(pieces)}</div>'


def pair(*pieces: str) -> str:
    return f'<div class="pair">{"".join(card(piece) for piece in pieces)}</div>'


def good_or_bad(text: str, good: bool) -> str:
    """A cell that says by its colour whether this is as it should be."""
    return f'<span class="{"good" if good else "bad"}">{escape(text)}</span>'


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A cell that begins with <span is HTML of ours (`good_or_bad`); all else is text."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def line_chart(caption: str, values: Sequence[float | None], limit: float | None = None, unit: str = "") -> str:
    """Values at equal steps; a dashed line marks a limit. Of very many the highest of every few is shown."""
    values = _thinned(values)
    known = [value for value in values if value is not None]
    top = max([*known, limit or 0.0, 1e-9]) * 1.05
    step = _WIDTH / max(1, len(values) - 1)
    strokes = "".join(
        f'<polyline points="{_points(stretch, step, top)}" fill="none" stroke="var(--main)" stroke-width="1.6"/>'
        for stretch in _stretches(values)
    )
    if limit is not None:
        y = _y(limit, top)
        strokes += f'<line x1="0" x2="{_WIDTH}" y1="{y}" y2="{y}" stroke="var(--bad)" stroke-dasharray="4 4"/>'
    most = f"highest {max(known):,.4g}{unit}" if known else "nothing in this time"
    return (
        f"<figure><figcaption>{escape(caption)} · {escape(most)}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%" role="img" aria-label="{escape(caption, quote=True)}">'
        f'<line x1="0" x2="{_WIDTH}" y1="{_HEIGHT}" y2="{_HEIGHT}" stroke="var(--line)"/>{strokes}</svg></figure>'
    )


def _cell(text: str) -> str:
    return text if text.startswith("<span") else escape(text)


def _thinned(values: Sequence[float | None]) -> list[float | None]:
    few = -(-len(values) // _POINTS) or 1
    parts = (values[place : place + few] for place in range(0, len(values), few))
    return [max((value for value in part if value is not None), default=None) for part in parts]


def _stretches(values: Sequence[float | None]) -> list[list[tuple[int, float]]]:
    """What lies between the gaps."""
    stretches: list[list[tuple[int, float]]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            stretches.append([])
        else:
            stretches[-1].append((place, value))
    return [stretch for stretch in stretches if stretch]


def _points(stretch: list[tuple[int, float]], step: float, top: float) -> str:
    if len(stretch) == 1:  # one point alone would be invisible
        stretch = [stretch[0], (stretch[0][0], stretch[0][1])]
    return " ".join(f"{place * step:.1f},{_y(value, top)}" for place, value in stretch)


def _y(value: float, top: float) -> float:
    return round(_HEIGHT - value / top * (_HEIGHT - 6), 1)
