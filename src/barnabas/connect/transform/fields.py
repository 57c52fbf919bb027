"""Fields by a path of names: `customer.email`. Structures are copied along the path, never changed in place: a record's
value may be shared with others."""

from __future__ import annotations

from typing import Final, TypeAlias

from barnabas.connect.contract import Value

Path: TypeAlias = tuple[str, ...]


class _Missing:
    def __repr__(self) -> str:
        return "missing"


MISSING: Final = _Missing()


def parsed(name: str) -> Path:
    return tuple(name.lstrip(".").split("."))


def found(value: Value, path: Path) -> Value:
    """A value, or MISSING."""
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return MISSING
        value = value[name]
    return value


def put(value: Value, path: Path, new: Value) -> Value:
    """The value with the field; what stands on the way becomes a structure."""
    changed = dict(value) if isinstance(value, dict) else {}
    changed[path[0]] = new if len(path) == 1 else put(changed.get(path[0]), path[1:], new)
    return changed


def removed(value: Value, path: Path) -> Value:
    if found(value, path) is MISSING:
        return value
    changed = dict(value)
    if len(path) == 1:
        del changed[path[0]]
    else:
        changed[path[0]] = removed(changed[path[0]], path[1:])
    return changed
