"""What clients measure themselves and push (telemetry.py), and how many do.

A node receives from the first request about telemetry on, and is found here then: whoever scrapes one whose clients
push nothing does not import what reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from barnabas.broker.metrics.exposition import escaped, head
from barnabas.broker.metrics.series import SERIES

if TYPE_CHECKING:
    from barnabas.core.telemetry.series import Labels
    from barnabas.core.telemetry.values import Row

_AT_ONCE = 200  # rows of a piece, 3 us each


class Receiving(Protocol):
    def rows(self) -> Iterator[Row]:
        """Those of a name follow each other."""


RECEIVERS: WeakKeyDictionary[object, Receiving] = WeakKeyDictionary()
"""By their node."""


def collect(node: object) -> Iterator[str]:
    receiver = RECEIVERS.get(node)
    if receiver is None:
        return
    for _, rows in groupby(receiver.rows(), key=lambda row: row.name):
        first = next(rows)
        yield _head(first) + _line(first)
        while lines := [_line(row) for row in islice(rows, _AT_ONCE)]:
            yield "".join(lines)


def _head(row: Row) -> str:
    if row.name in SERIES:
        return head(row.name)
    return f"# HELP {row.name} {row.help}\n# TYPE {row.name} {row.kind}\n"


def _line(row: Row) -> str:
    return f"{row.name}{_labels(row.labels)} {_number(row.value)}\n"


def _labels(labels: Labels) -> str:
    return "{" + ",".join([f'{name}="{escaped(value)}"' for name, value in labels]) + "}" if labels else ""


def _number(value: float) -> str:
    """Whole, where it is: counters of clients come as floating point numbers."""
    return str(int(value)) if value == value and abs(value) < 1 << 53 and value == int(value) else repr(float(value))
