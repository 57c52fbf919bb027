"""Why a body cannot be written: the slow, careful walk that a failed or STRICT write takes.

Only our own code can bring one here (a wrong type, a misspelt key), so it names the field as a programmer would.
"""

from collections.abc import Mapping

from barnabas.wire.schema import FIXED_FORMATS, Field


def unknown_key(fields: tuple[Field, ...], body: object, path: str = "") -> str | None:
    """The path of the first key that no version of the struct has, or None."""
    if not isinstance(body, Mapping):
        return None
    known = {field.name: field for field in fields}
    for key, value in body.items():
        field = known.get(key)
        if field is None:
            return f"{path}{key}"
        if field.type == "struct":
            for item in value if field.array and value is not None else [value]:
                found = unknown_key(field.fields, item, f"{path}{key}.")
                if found:
                    return found
    return None


def wrong_value(fields: tuple[Field, ...], body: object, path: str = "") -> str | None:
    """What is wrong with the first value that cannot be written, or None."""
    if not isinstance(body, Mapping):
        return f"{path.rstrip('.') or 'the body'} is {type(body).__name__}, not a mapping"
    for field in fields:
        if field.name not in body:
            continue
        value = body[field.name]
        if value is None:
            if not field.nullable:
                return f"{path}{field.name} is None and may not be"
            continue
        if field.array and (isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__len__")):
            return f"{path}{field.name} is {type(value).__name__}, not a list"
        for item in value if field.array else [value]:
            problem = _wrong_item(field, item, f"{path}{field.name}")
            if problem:
                return problem
    return None


def _wrong_item(field: Field, value: object, path: str) -> str | None:
    if field.type == "struct":
        return wrong_value(field.fields, value, path + ".")
    if field.type == "string":
        good = isinstance(value, str)
    elif field.type in ("bytes", "records"):
        good = isinstance(value, (bytes, bytearray, memoryview))
    elif field.type == "uuid":
        good = isinstance(value, bytes) and len(value) == 16
    elif field.type in FIXED_FORMATS and field.type not in ("bool", "float64"):
        bits = int(field.type.lstrip("uint"))
        low, high = (0, 1 << bits) if field.type.startswith("u") else (-(1 << bits - 1), 1 << bits - 1)
        good = isinstance(value, int) and low <= value < high
    else:
        good = isinstance(value, (bool, int, float))
    return None if good else f"{path} is {value!r}, which is no {field.type}"
