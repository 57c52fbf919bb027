"""What changed between two Avro schemas."""

from __future__ import annotations

import json

from barnabas.model.json_values import Json

_NESTING_MAX = 64


def avro_changes(old: Json, new: Json) -> list[str]:
    found: list[str] = []
    _compare(old, new, "", found, 0)
    return found


def _compare(old: Json, new: Json, path: str, found: list[str], depth: int) -> None:
    old, new = _inner(old), _inner(new)
    if depth > _NESTING_MAX or old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict) and old.get("type") == new.get("type"):
        kind = new.get("type")
        if old.get("name") != new.get("name"):
            found.append(f"{_at(path)}the {kind} {old.get('name')} is called {new.get('name')} now")
        if kind in ("record", "error"):
            _fields(old, new, path, found, depth)
            return
        if kind == "enum":
            _symbols(old, new, path, found)
            return
        if kind in ("array", "map"):
            inside = "items" if kind == "array" else "values"
            _compare(old.get(inside), new.get(inside), f"{path}[]", found, depth + 1)
            return
    if isinstance(old, list) and isinstance(new, list):
        _branches(old, new, path, found, depth)
        return
    if _described(old) != _described(new):
        found.append(f"{_at(path)}{_described(old)} became {_described(new)}")


def _fields(old: dict[str, Json], new: dict[str, Json], path: str, found: list[str], depth: int) -> None:
    before, after = _by_name(old.get("fields")), _by_name(new.get("fields"))
    for name in before:
        if name not in after:
            found.append(f"field {path}{name} ({_described(before[name].get('type'))}) was removed")
    for name, field in after.items():
        if name not in before:
            default = f", default {_short(field['default'])}" if "default" in field else ", without a default"
            found.append(f"field {path}{name} ({_described(field.get('type'))}{default}) was added")
            continue
        _compare(before[name].get("type"), field.get("type"), f"{path}{name}.", found, depth + 1)
        _defaults(before[name], field, f"field {path}{name}", found)
    if before.keys() == after.keys() and list(before) != list(after):
        found.append(f"{_at(path)}the fields stand in another order")


def _defaults(before: dict[str, Json], after: dict[str, Json], where: str, found: list[str]) -> None:
    if "default" not in before and "default" in after:
        found.append(f"{where}: it has the default {_short(after['default'])} now")
    elif "default" in before and "default" not in after:
        found.append(f"{where}: its default {_short(before['default'])} is gone")
    elif before.get("default") != after.get("default"):
        found.append(f"{where}: its default {_short(before.get('default'))} became {_short(after.get('default'))}")


def _symbols(old: dict[str, Json], new: dict[str, Json], path: str, found: list[str]) -> None:
    before, after = _listed(old.get("symbols")), _listed(new.get("symbols"))
    for word, many in (("removed", before), ("added", after)):
        others = after if word == "removed" else before
        found += [
            f"{_at(path)}symbol {_short(each)} of {new.get('name')} was {word}" for each in many if each not in others
        ]


def _branches(old: list[Json], new: list[Json], path: str, found: list[str], depth: int) -> None:
    before = {_described(each): each for each in old}
    after = {_described(each): each for each in new}
    found += [f"{_at(path)}{each} is not in the union any more" for each in before if each not in after]
    found += [f"{_at(path)}{each} was added to the union" for each in after if each not in before]
    for name, branch in after.items():
        if name in before:
            _compare(before[name], branch, path, found, depth + 1)


def _inner(schema: Json) -> Json:
    """{"type": {...}} and {"type": "string"} are what stands in them."""
    while isinstance(schema, dict) and isinstance(schema.get("type"), (dict, list)):
        schema = schema["type"]
    return schema["type"] if isinstance(schema, dict) and schema.keys() == {"type"} else schema


def _described(schema: Json) -> str:
    schema = _inner(schema)
    if isinstance(schema, list):
        return " or ".join(map(_described, schema))
    if not isinstance(schema, dict):
        return str(schema)
    kind = schema.get("type")
    if kind in ("record", "error", "enum", "fixed"):
        return f"{kind} {schema.get('name')}"
    if kind == "array":
        return f"array of {_described(schema.get('items'))}"
    if kind == "map":
        return f"map of {_described(schema.get('values'))}"
    logical = schema.get("logicalType")
    if logical == "decimal":
        return f"decimal({schema.get('precision')}, {schema.get('scale', 0)})"
    return f"{logical} ({kind})" if logical else str(kind)


def _by_name(fields: Json) -> dict[str, dict[str, Json]]:
    return {str(each.get("name")): each for each in _listed(fields) if isinstance(each, dict)}


def _listed(found: Json) -> list[Json]:
    return found if isinstance(found, list) else []


def _at(path: str) -> str:
    return f"{path.rstrip('.')}: " if path else ""


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."
