"""Filters on topic, partition, offset and timestamp, done here and not in Spark.

Three levels, the cheapest first. Planning: partitions that cannot match are not read, offsets bound the ranges, and a
lower bound of time is looked up by the broker's time index: what lies before the first record with that timestamp or a
later one has an earlier timestamp, each of it. An upper bound of time bounds no offsets, for timestamps may be out of
order. Batches: one whose newest record is too old is not opened. Rows: whatever is left is judged exactly, before
anything is sent to Spark.

These columns are never null, so a comparison is true or false; everything else is given back to Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from barnabas.pipelines.common.arrays import Mask
from barnabas.pipelines.source.decoding import Records
from barnabas.pipelines.source.planning import Range

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {  # numbers or texts, one or an array of them
    "EqualTo": lambda left, right: left == right,
    "EqualNullSafe": lambda left, right: left == right,
    "GreaterThan": lambda left, right: left > right,
    "GreaterThanOrEqual": lambda left, right: left >= right,
    "LessThan": lambda left, right: left < right,
    "LessThanOrEqual": lambda left, right: left <= right,
    "IsNotNull": lambda left, right: True,
}


@dataclass(frozen=True)
class Test:
    """One comparison; times are microseconds since 1970. `values` has one value, for In several, for IsNotNull none."""

    column: str
    operation: str
    values: tuple[Any, ...]  # of the column's type
    negated: bool = False

    def holds(self, left: Any) -> Any:  # a bool, or an array of them
        """For one value, or for a numpy array of them."""
        if self.operation == "In":
            found = np.isin(left, self.values) if isinstance(left, np.ndarray) else left in self.values
        else:
            found = _OPERATIONS[self.operation](left, self.values[0] if self.values else None)
        return np.logical_not(found) if self.negated else found


def accept(pushed: Any) -> Test | None:  # every kind of filter has attributes of its own
    """Spark's filter as a test of ours; None when it is not for us."""
    negated = type(pushed).__name__ == "Not"
    inner = pushed.child if negated else pushed
    name = type(inner).__name__
    if name not in _OPERATIONS and name != "In":
        return None
    column = inner.attribute[0]
    if len(inner.attribute) != 1 or column not in ("topic", "partition", "offset", "timestamp"):
        return None
    if name == "IsNotNull":  # Spark asks for it beside every comparison
        return None if negated else Test(column, name, ())
    values = inner.value if name == "In" else (inner.value,)
    if any(value is None for value in values):  # comparing with null is neither true nor false: Spark's to judge
        return None
    if column == "timestamp":
        values = tuple(_micros(value) for value in values)
    return Test(column, name, tuple(values), negated)


def narrow(ranges: Iterable[Range], tests: Iterable[Test]) -> list[Range]:
    """The ranges that can hold something, bounded by the tests on offsets."""
    tests = list(tests)
    found = []
    for each in ranges:
        if not all(test.holds(each.topic) for test in tests if test.column == "topic"):
            continue
        if not all(test.holds(each.partition) for test in tests if test.column == "partition"):
            continue
        start, end = each.start, each.end
        for test in tests:
            if test.column == "offset" and test.values and not test.negated:
                low, high = _offset_bounds(test)
                start, end = max(start, low), min(end, high)
        if start < end:
            found.append(Range(each.topic, each.partition, start, end))
    return found


def earliest_ms(tests: Iterable[Test]) -> int | None:
    """The time before which nothing matches, in milliseconds; None without a lower bound."""
    lowest = [
        min(test.values)
        for test in tests
        if test.column == "timestamp" and test.values and not test.negated and "Less" not in test.operation
    ]
    return max(lowest) // 1000 if lowest else None


def row_tests(tests: Iterable[Test]) -> tuple[Test, ...]:
    """The tests that ranges cannot settle."""
    return tuple(
        test
        for test in tests
        if (test.column == "timestamp" and test.values)
        or (test.column == "offset" and (test.negated or test.operation == "In"))
    )


def keep(records: Records, tests: tuple[Test, ...]) -> Records:
    """The rows for which every test holds."""
    if not tests or not len(records):
        return records
    mask: Mask = np.ones(len(records), bool)
    for test in tests:
        mask &= test.holds(records.offsets if test.column == "offset" else records.timestamps * 1000)
    return records if mask.all() else records.pick(mask)


def _offset_bounds(test: Test) -> tuple[int, int]:
    """First offset that can match, and the first after those that can."""
    low, high = min(test.values), max(test.values)
    match test.operation:
        case "GreaterThan":
            return low + 1, 1 << 63
        case "GreaterThanOrEqual":
            return low, 1 << 63
        case "LessThan":
            return 0, high
        case "LessThanOrEqual":
            return 0, high + 1
        case _:
            return low, high + 1


def _micros(value: datetime) -> int:
    """A literal comes as the time it is in this process's zone when it has none."""
    return (value.astimezone(UTC) - _EPOCH) // _MICRO
