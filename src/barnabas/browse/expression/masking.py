"""Fields of a value hidden from a person: what stands at a path is replaced, wherever it is."""

from collections.abc import Sequence

from barnabas.browse.expression.parser import parse_path
from barnabas.browse.expression.tree import Each, Step

MASK = "***"
Path = tuple[Step, ...]


def mask(value: object, paths: Sequence[Path]) -> object:
    """A copy of a JSON value in which whatever stands at one of the paths is MASK; `.` hides all of it."""
    for path in paths:
        value = _masked(value, path)
    return value


def masked_paths(texts: Sequence[str]) -> list[Path]:
    """`.card.number`, `.items[].price`; BadExpression for what is no path."""
    return [parse_path(text) for text in texts]


def _masked(value: object, path: Path) -> object:
    if not path:
        return MASK
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        if isinstance(step, Each):
            return {name: _masked(inner, rest) for name, inner in value.items()}
        return {**value, step: _masked(value[step], rest)} if step in value else value
    if isinstance(value, list):
        if isinstance(step, Each):
            return [_masked(inner, rest) for inner in value]
        if isinstance(step, int) and -len(value) <= step < len(value):
            at = step % len(value)
            return [*value[:at], _masked(value[at], rest), *value[at + 1 :]]
    return value
