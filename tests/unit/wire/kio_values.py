"""Random messages in two forms: kio's own object, and the plain dicts our codec writes and reads.

Built from kio's classes alone, never from our schema files, so that the two cannot be wrong in the same way.
"""

import dataclasses
import datetime
import random
import uuid
from typing import Any

from kio.schema.errors import ErrorCode
from kio.serial._introspect import EntityField, EntityTupleField, PrimitiveTupleField, classify_field

from barnabas.wire import schema

INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
MILLISECONDS = {"timedelta_i32", "timedelta_i64", "datetime_i64"}
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-_.äß漢🦜"


def plain_name(field: Any) -> str:
    name: str = field.name.rstrip("_")
    return f"{name}_ms" if field.metadata.get("kafka_type") in MILLISECONDS else name


def random_message(entity: Any, rng: random.Random) -> tuple[Any, dict[str, Any]]:
    """(kio's object, the same as plain dicts)."""
    objects, plains = {}, {}
    for field in dataclasses.fields(entity):
        objects[field.name], plains[plain_name(field)] = random_field(field, rng)
    return entity(**objects), plains


def random_field(field: Any, rng: random.Random) -> tuple[Any, Any]:
    kafka_type = field.metadata.get("kafka_type")
    kind = classify_field(field)
    nullable = "None" in str(field.type).rpartition("]")[2] or (not kind.is_array and "None" in str(field.type))
    is_array = isinstance(kind, EntityTupleField | PrimitiveTupleField)
    can_be_null = nullable and (is_array or kafka_type not in ("uuid", "datetime_i64"))
    if can_be_null and rng.random() < 0.3 and ("tag" not in field.metadata or field.default is None):
        return None, None
    if isinstance(kind, EntityField):
        return random_message(kind.type_, rng)
    if isinstance(kind, EntityTupleField):
        pairs = [random_message(kind.type_, rng) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    elif isinstance(kind, PrimitiveTupleField):
        pairs = [random_primitive(kafka_type, rng) for _ in range(rng.choice((0, 1, 2, 3, 3, 9, 20, 130)))]
    else:
        return random_primitive(kafka_type, rng, nullable)
    return tuple(pair[0] for pair in pairs), [pair[1] for pair in pairs]


def random_primitive(kafka_type: str, rng: random.Random, nullable: bool = False) -> tuple[Any, Any]:
    match kafka_type:
        case "string":
            text = "".join(rng.choices(LETTERS, k=rng.choice((0, 1, 5, 12, 60, 130, 300))))
            return text, text
        case "bytes" | "records":
            data = rng.randbytes(rng.choice((0, 1, 7, 130, 20000)))
            return data, data
        case "bool":
            flag = rng.random() < 0.5
            return flag, flag
        case "float64":
            number = rng.uniform(-1e9, 1e9)
            return number, number
        case "uint16":
            number = rng.randrange(1 << 16)
            return number, number
        case "error_code":
            code = rng.choice(list(ErrorCode))
            return code, code.value
        case "uuid":
            if rng.random() < 0.2:
                return None, bytes(16)
            value = uuid.UUID(bytes=rng.randbytes(16))
            return value, value.bytes
        case "timedelta_i32" | "timedelta_i64":
            milliseconds = rng.choice((-1, 0, 1, 60_000, rng.randrange(1 << 31)))
            return datetime.timedelta(milliseconds=milliseconds), milliseconds
        case "datetime_i64":
            if nullable and rng.random() < 0.3:
                return None, -1
            seconds = rng.randrange(1 << 33)
            return datetime.datetime.fromtimestamp(seconds, datetime.UTC), seconds * 1000
    bits = INTEGER_BITS[kafka_type]
    number = rng.choice((0, -1, 1, -(1 << bits - 1), (1 << bits - 1) - 1, rng.randrange(1 << bits - 1)))
    return number, number


def difference(decoded: Any, plain: Any, path: str = "") -> str | None:
    """Where what our reader made is not what was written; None when it is, field by field."""
    if isinstance(plain, dict):
        for name, value in plain.items():
            found = difference(getattr(decoded, name), value, f"{path}.{name}")
            if found:
                return found
        return None
    if isinstance(plain, list):
        if type(decoded) is not list or len(decoded) != len(plain):
            return f"{path}: {decoded!r} is not {plain!r}"
        for index, value in enumerate(plain):
            found = difference(decoded[index], value, f"{path}[{index}]")
            if found:
                return found
        return None
    same = decoded == plain and (type(decoded) is type(plain) or isinstance(decoded, memoryview))
    return None if same else f"{path}: {decoded!r} is not {plain!r}"


def wrong_default(decoded: Any, fields: tuple[schema.Field, ...], carried: set[str]) -> str | None:
    """A field that this version does not carry and that does not hold its default; None when all do."""
    for field in fields:
        if field.name not in carried and (field.type != "struct" or field.array):
            value = getattr(decoded, field.name)
            if value != field.zero() or type(value) is not type(field.zero()):
                return f"{field.name} is {value!r}, not {field.zero()!r}"
    return None
