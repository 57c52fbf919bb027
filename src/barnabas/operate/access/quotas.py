"""How people write quotas: 1MB/s, 50%, 10/s; and how a byte rate is told to them, in the unit in which it is short."""

from __future__ import annotations

import re

from barnabas.operate.unusable import Unusable

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_TOLD = (("GB", 10**9), ("GiB", 2**30), ("MB", 10**6), ("MiB", 2**20), ("KB", 10**3), ("KiB", 2**10), ("B", 1))
BYTE_RATES = ("producer_byte_rate", "consumer_byte_rate")
SHOWN = {
    "producer_byte_rate": "produce",
    "consumer_byte_rate": "fetch",
    "request_percentage": "requests",
    "controller_mutation_rate": "partitions",
    "connection_creation_rate": "connections",
}
_AMOUNT = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([a-z%]*)(?:/s)?")


def example_of(key: str) -> str:
    return "1MB/s" if key in BYTE_RATES else "50%" if key == "request_percentage" else "10/s"


def amount(key: str, text: str) -> float:
    """`1MB/s`, `512KiB`, `50%`, `10/s`; a number alone is bytes or whatever is counted, a second."""
    match = _AMOUNT.fullmatch(text.strip().lower())
    unit = match[2] if match is not None else "?"
    if match is not None and key in BYTE_RATES and unit in UNITS:
        value = float(match[1]) * UNITS[unit]
    elif (match is not None and (unit == "%" if key == "request_percentage" else not unit)) or (match and unit == ""):
        value = float(match[1])
    else:
        raise Unusable(f"{text!r} is no amount", f"Write it as {example_of(key)}.")
    if not value > 0:
        raise Unusable(f"{text!r}: a quota is more than 0", "Remove the quota instead.")
    return value


def unit_of(rate: float) -> tuple[str, int]:
    """The unit in which this byte rate is written most shortly and exactly, as whoever set it wrote it: 1000000 is
    1 MB and 524288 is 512 KiB. The larger one of two."""
    fitting = [(name, unit) for name, unit in _TOLD if rate >= unit and float(f"{rate / unit:.6g}") * unit == rate]
    return min(fitting, key=lambda each: len(f"{rate / each[1]:.6g}"), default=("B", 1))


def byte_rate(rate: float, unit: tuple[str, int] | None = None) -> str:
    """In its own unit; what was measured in that of its limit, to compare them, and rounded."""
    name, number = unit_of(rate) if unit is None else unit
    amount = rate / number if unit is None else round(rate / number, 1)
    return f"{amount:.15g} {name}/s"
