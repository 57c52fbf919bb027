"""The messages of the protocol as data: wire/schema/<api>.json, read when an API is first used.

tools/schema_from_kio.py writes the files and explains their fields. Here they become small typed objects; codec.py
compiles them. Nothing a client sends reaches this file but an API key and a version, both looked up in tables.
"""

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from barnabas.wire.errors import ProtocolError

_FOLDER = Path(__file__).parent / "schema"

FIXED_FORMATS = {  # struct's letter of every type whose size does not depend on its value
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "bool": "?",
    "uuid": "16s",
}
FIXED_BYTES = {"b": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "d": 8, "?": 1, "16s": 16, "B": 1, "x": 1}
_ZEROS: dict[str, object] = {
    "string": "",
    "bytes": b"",
    "records": b"",
    "bool": False,
    "uuid": bytes(16),
    "float64": 0.0,
}


class Field(msgspec.Struct, frozen=True):
    """One field of a struct, in wire order."""

    name: str
    type: str
    array: bool = False
    nullable: bool = False
    tag: int | None = None
    default: Any = msgspec.UNSET  # read from JSON: of the field's type, or null
    struct: str = ""
    fields: tuple["Field", ...] = ()

    def zero(self) -> object:
        """What the field holds when nobody set it; structs are left to who builds them."""
        if self.default is not msgspec.UNSET:
            return self.default
        return [] if self.array else _ZEROS.get(self.type, 0)


class Shape(msgspec.Struct, frozen=True):
    """What a run of versions that are alike looks like."""

    first: int
    last: int
    flexible: bool
    fields: tuple[Field, ...]


class Message(msgspec.Struct, frozen=True):
    """One file: an API with its request and response, or a struct that travels inside records (`data`)."""

    name: str
    key: int | None = None
    request: tuple[Shape, ...] = ()
    response: tuple[Shape, ...] = ()
    data: tuple[Shape, ...] = ()

    def shapes(self, kind: str) -> tuple[Shape, ...]:
        return {"request": self.request, "response": self.response, "data": self.data}[kind]

    def shape(self, kind: str, version: int) -> Shape:
        for shape in self.shapes(kind):
            if shape.first <= version <= shape.last:
                return shape
        raise ProtocolError(f"{self.name} {kind} has no version {version}")


class _Index(msgspec.Struct):
    apis: dict[int, str] = {}
    records: dict[int, str] = {}


@cache
def api_names() -> dict[int, str]:
    """API key -> name of its file, for every API of Kafka's protocol."""
    return msgspec.json.decode((_FOLDER / "index.json").read_bytes(), type=_Index).apis


@cache
def metadata_record_names() -> dict[int, str]:
    """Type of a metadata record -> name of its file in the folder `metadata`."""
    return msgspec.json.decode((_FOLDER / "metadata" / "index.json").read_bytes(), type=_Index).records


@cache
def load(name: str) -> Message:
    return msgspec.json.decode((_FOLDER / f"{name}.json").read_bytes(), type=Message)


def api_name(api_key: int) -> str:
    name = api_names().get(api_key)
    if name is None:
        raise ProtocolError(f"no API has the key {api_key}")
    return name


def min_bytes(fields: tuple[Field, ...], flexible: bool) -> int:
    """The fewest bytes a struct with these fields can take: what an array's length is checked against."""
    total = 1 if flexible else 0
    for field in fields:
        if field.tag is None:
            total += field_min_bytes(field, flexible)
    return max(total, 1)


def field_min_bytes(field: Field, flexible: bool) -> int:
    if field.array:
        return 1 if flexible else 4
    return element_min_bytes(field, flexible) if not (field.nullable and field.type == "struct") else 1


def element_min_bytes(field: Field, flexible: bool) -> int:
    """The same for one element of an array field, or for the field itself when it is none."""
    if field.type == "struct":
        return min_bytes(field.fields, flexible)
    letter = FIXED_FORMATS.get(field.type)
    if letter is not None:
        return FIXED_BYTES[letter]
    if flexible:
        return 1
    return 2 if field.type == "string" else 4


def union(shapes: tuple[tuple[Field, ...], ...]) -> tuple[Field, ...]:
    """The fields of all versions of one struct, newest wording last seen wins, nested structs joined likewise."""
    names: dict[str, list[Field]] = {}
    for fields in shapes:
        for field in fields:
            names.setdefault(field.name, []).append(field)
    result = []
    for versions in names.values():
        newest = versions[-1]
        if newest.type == "struct":
            newest = msgspec.structs.replace(newest, fields=union(tuple(f.fields for f in versions)))
        result.append(newest)
    return tuple(result)
