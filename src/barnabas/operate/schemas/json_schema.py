"""What changed between two JSON Schemas: properties, which of them are required, and every other word."""

from __future__ import annotations

import json

from barnabas.model.json_values import Json

_NESTING_MAX = 64
_OF_NAMES = ("$defs", "definitions", "patternProperties")
_SILENT = ("$schema", "$id", "description", "examples", "$comment")


def json_changes(old: Json, new: Json) -> list[str]:
    found: list[str] = []
    _compare(old, new, "#", found, 0)
    return found


def _compare(old: Json, new: Json, path: str, found: list[str], depth: int) -> None:
    if old == new or depth > _NESTING_MAX:
        return
    if not isinstance(old, dict) or not isinstance(new, dict):
        found.append(f"{path}: {_short(old)} became {_short(new)}")
        return
    _properties(_table(old.get("properties")), _table(new.get("properties")), path, found, depth)
    for name in _OF_NAMES:
        before, after = _table(old.get(name)), _table(new.get(name))
        for each in before.keys() | after.keys():
            if each in before and each in after:
                _compare(before[each], after[each], f"{path}/{name}/{each}", found, depth + 1)
            else:
                found.append(f"{path}/{name}/{each} was {'removed' if each in before else 'added'}")
    _required(old.get("required"), new.get("required"), path, found)
    for word in sorted((old.keys() | new.keys()) - {"properties", "required", *_OF_NAMES, *_SILENT}):
        _word(word, old, new, path, found, depth)


def _word(word: str, old: dict[str, Json], new: dict[str, Json], path: str, found: list[str], depth: int) -> None:
    if old.get(word) == new.get(word) and (word in old) == (word in new):
        return
    if isinstance(old.get(word), dict) and isinstance(new.get(word), dict):
        _compare(old[word], new[word], f"{path}/{word}", found, depth + 1)
    elif word not in old:
        found.append(f"{path}: {word} {_short(new[word])} was added")
    elif word not in new:
        found.append(f"{path}: {word} {_short(old[word])} was removed")
    else:
        found.append(f"{path}: {word} {_short(old[word])} became {_short(new[word])}")


def _properties(old: dict[str, Json], new: dict[str, Json], path: str, found: list[str], depth: int) -> None:
    for name, each in old.items():
        if name not in new:
            found.append(f"property {path}/properties/{name} ({_described(each)}) was removed")
    for name, each in new.items():
        if name not in old:
            found.append(f"property {path}/properties/{name} ({_described(each)}) was added")
        else:
            _compare(old[name], each, f"{path}/properties/{name}", found, depth + 1)


def _required(old: Json, new: Json, path: str, found: list[str]) -> None:
    before, after = _names(old), _names(new)
    found += [f"{path}/properties/{name} is required now" for name in after if name not in before]
    found += [f"{path}/properties/{name} is not required any more" for name in before if name not in after]


def _described(schema: Json) -> str:
    if not isinstance(schema, dict):
        return _short(schema)
    return str(schema.get("type") or schema.get("$ref") or "anything")


def _table(found: Json) -> dict[str, Json]:
    return found if isinstance(found, dict) else {}


def _names(found: Json) -> list[str]:
    return [str(each) for each in found] if isinstance(found, list) else []


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
