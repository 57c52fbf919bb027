"""Prometheus' text format 0.0.4: families with their HELP and TYPE lines (series.py), samples, histograms.

Pieces of text are made by generators (collect/), a few hundred lines each at the most, so that others are served in
between (scrape.py).
"""

from collections.abc import Iterable, Sequence

from barnabas.broker.metrics.counts import BOUNDS, Times
from barnabas.broker.metrics.series import SERIES

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OTHER = "(other)"

# Of a histogram as it is shown: each is one of BOUNDS.
_SHOWN = (1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5, 1.0, 5.0, 10.0)
_SHOWN_AT = tuple(BOUNDS.index(bound) + 1 for bound in _SHOWN)

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})

Sample = tuple[str, float]


def escaped(text: str) -> str:
    """A label's value; what is no text (a lone surrogate of a client's name) is shown as one."""
    if not text.isprintable() or "\\" in text or '"' in text:
        text = text.translate(_ESCAPES).encode(errors="replace").decode()
    return text


def labels(**values: str) -> str:
    return "{" + ",".join([f'{name}="{escaped(value)}"' for name, value in values.items()]) + "}"


def number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))


def head(name: str) -> str:
    """KeyError for a name that is not in the table: the table is what the documentation shows."""
    row = SERIES[name]
    return f"# HELP {name} {row.meaning.translate(_HELP_ESCAPES)}\n# TYPE {name} {row.kind}\n"


def single(name: str, value: float) -> str:
    return f"{head(name)}{name} {number(value)}\n"


def family(name: str, samples: Iterable[Sample]) -> str:
    """Nothing where there is no sample."""
    lines = [f"{name}{text} {number(value)}\n" for text, value in samples]
    return head(name) + "".join(lines) if lines else ""


def histogram(name: str, rows: Iterable[tuple[str, Times]]) -> str:
    """`rows`: the labels of each without braces, and its times."""
    lines = []
    for text, times in rows:
        comma = f"{text}," if text else ""
        buckets, total = times.buckets, times.count
        for bound, at in zip(_SHOWN, _SHOWN_AT, strict=True):
            lines.append(f'{name}_bucket{{{comma}le="{bound:g}"}} {sum(buckets[:at])}\n')
        own = f"{{{text}}}" if text else ""
        lines.append(f'{name}_bucket{{{comma}le="+Inf"}} {total}\n')
        lines.append(f"{name}_sum{own} {number(times.seconds)}\n{name}_count{own} {total}\n")
    return head(name) + "".join(lines) if lines else ""


def largest(rows: Sequence[tuple[str, int]], most: int) -> tuple[set[str], int]:
    """Who has a series of its own where there are more than `most`: the largest. And how many have not."""
    if len(rows) <= most:
        return {name for name, _ in rows}, 0
    kept = sorted(rows, key=lambda row: row[1], reverse=True)[:most]
    return {name for name, _ in kept}, len(rows) - most
