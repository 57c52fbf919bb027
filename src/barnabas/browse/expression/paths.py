"""Where a path leads in a JSON value."""

from collections.abc import Iterable, Sequence

from barnabas.browse.expression.subject import MISSING
from barnabas.browse.expression.tree import Each, Step


def along(value: object, steps: Sequence[Step]) -> object:
    """What a path without `[]` leads to."""
    for step in steps:
        if isinstance(step, str):
            if not isinstance(value, dict):
                return MISSING
            value = value.get(step, MISSING)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return MISSING
    return value


def along_each(value: object, steps: Sequence[Step]) -> list[object]:
    """All that a path with `[]` leads to."""
    values = [value]
    for step in steps:
        if isinstance(step, Each):
            values = [inner for each in values for inner in _inside(each)]
        else:
            values = [found for each in values if (found := along(each, (step,))) is not MISSING]
    return values


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
