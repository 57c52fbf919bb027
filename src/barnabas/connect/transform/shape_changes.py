"""What transformations make of the fields that a schema names (shapes.py).

A step that changes a value in a way that its schema does not foresee takes the field out of the shape: its column then
comes from the values. Only fields of the first level count: what is deeper is JSON in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from barnabas.connect.contract import Value
from barnabas.connect.shapes import NO_FIELDS, Field, Shape

Change = Callable[[Shape], Shape]
_KEPT = frozenset(("filter", "route", "timestamp", "key", "header"))  # leave the value as it is


def shape_change(steps: Sequence[Mapping[str, Value]]) -> Change | None:
    """None: the value stays as its schema says. The steps have been checked (steps.py)."""
    found = [(name, what) for step in steps for name, what in step.items() if name not in _KEPT]
    if not found:
        return None

    def change(shape: Shape) -> Shape:
        for name, what in found:
            shape = _CHANGES[name](shape, what) if name in _CHANGES else NO_FIELDS
        return shape

    return change


def changes_keys(steps: Sequence[Mapping[str, Value]]) -> bool:
    return any(name in ("key", "python") for step in steps for name in step)


def _first(name: str) -> str:
    """The name on the first level of a path."""
    return name.lstrip(".").split(".")[0]


def _names(what: Value) -> list[str]:
    """Of a list, of one name, or of pairs."""
    return [what] if isinstance(what, str) else list(what)


def _select(shape: Shape, what: Value) -> Shape:
    names = dict.fromkeys(_first(each) for each in _names(what))
    return {name: shape[name] for name in names if name in shape}


def _drop(shape: Shape, what: Value) -> Shape:
    gone = {each.lstrip(".") for each in _names(what)}
    return {name: field for name, field in shape.items() if name not in gone}


def _rename(shape: Shape, what: Value) -> Shape:
    moved: dict[str, Field] = {}
    pairs = {old.lstrip("."): str(new).lstrip(".") for old, new in what.items()}
    kept = {name: field for name, field in shape.items() if name not in pairs}
    for old, new in pairs.items():
        kept.pop(_first(new), None)  # something is put into it, or in its place
        if old in shape and "." not in new:
            moved[new] = shape[old]
    return {**kept, **moved}


def _touched(shape: Shape, what: Value) -> Shape:
    touched = {_first(each) for each in _names(what) if each.lstrip(".") == _first(each)}
    return {name: field for name, field in shape.items() if name not in touched}


_CHANGES: dict[str, Callable[[Shape, Value], Shape]] = {
    "select": _select,
    "drop": _drop,
    "rename": _rename,
    "set": _touched,
    "cast": _touched,
    "mask": _touched,
    "parse": _touched,
}
