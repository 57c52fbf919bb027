"""Writes the types of the protocol's messages from the schema files; with --check it only compares.

The classes themselves are made at run time, when an API is first used (wire/codegen/read.py). What a type checker
needs to know of them is in `src/barnabas/wire/messages/`, one stub a schema file:

    class OffsetCommitRequest(Struct)            what decode_request gives, and what may be constructed
    class OffsetCommitRequestBody(TypedDict)     the same as a dict to encode; a missing key is the schema's default

A request's class says with which body it is answered: `Request[OffsetCommitResponseBody]`, so that whoever hands a
request on and gives back its answer has a type for both. All have the fields of all versions; a field that may be null
in one version may be null. A struct has the name that its schema gives it; where structs of several messages share one,
the message's name stands before it. `names.json`, beside the stubs, says where the class of each name is found.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from barnabas.wire.codegen.read import class_name
from barnabas.wire.schema import Field, load, union

SOURCE = Path(__file__).resolve().parent.parent / "src" / "barnabas" / "wire"
STUBS, SCHEMAS = SOURCE / "messages", SOURCE / "schema"
NAMES = STUBS / "names.json"
KINDS = ("request", "response", "data")

HEAD = '''"""The types of wire/schema/{file}.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request
'''
INDEX_HEAD = '''"""The types of all messages, made by tools/message_types.py. At run time: __init__.py."""

'''

BASE = '''"""What all requests are to a type checker, made by tools/message_types.py."""

from typing import Generic, TypeVar

from msgspec import Struct

BodyT = TypeVar("BodyT", covariant=True)

class Request(Struct, Generic[BodyT], kw_only=True):
    """A request that is answered with such a body."""
'''
REQUEST_IMPORT = "from barnabas.wire.messages.request import Request\n"

_PLAIN = {
    "string": "str",
    "bool": "bool",
    "float64": "float",
    "bytes": "bytes",
    "uuid": "bytes",
    "records": "memoryview",
}
_TO_ENCODE = _PLAIN | {"bytes": "bytes | memoryview", "records": "bytes | memoryview"}


@dataclass
class StructType:
    """One class of the stubs: a message, or a struct inside it."""

    name: str
    fields: tuple[Field, ...]
    file: str
    kind: str
    path: tuple[str, ...]  # the fields that lead to it from the message
    nested: dict[str, "StructType"] = field(default_factory=dict)  # by field


def nullable_in_any(versions: tuple[tuple[Field, ...], ...]) -> tuple[Field, ...]:
    """The union of all versions' fields, each nullable where one version lets it be null."""
    fields = []
    for each in union(versions):
        known = [other for fields_ in versions for other in fields_ if other.name == each.name]
        inner = nullable_in_any(tuple(other.fields for other in known)) if each.type == "struct" else ()
        nullable = any(other.nullable or other.default is None for other in known)
        fields.append(msgspec.structs.replace(each, nullable=nullable, fields=inner))
    return tuple(fields)


def schema_files() -> list[str]:
    paths = (path.relative_to(SCHEMAS).with_suffix("") for path in SCHEMAS.rglob("*.json"))
    return sorted(path.as_posix() for path in paths if path.name != "index")


def all_structs() -> dict[str, list[StructType]]:
    """By schema file, the structs in the order in which the stub has them."""
    uses: Counter[str] = Counter()
    for file in schema_files():
        for kind, fields in _messages(file):
            uses.update({class_name(load(file), kind), *_struct_names(fields)})
    found: dict[str, list[StructType]] = {}
    for file in schema_files():
        for kind, fields in _messages(file):
            known: dict[str, StructType] = {}
            _add(known, class_name(load(file), kind), fields, file, kind, (), uses)
            found.setdefault(file, []).extend(known.values())
    return found


def _messages(file: str) -> Iterator[tuple[str, tuple[Field, ...]]]:
    for kind in KINDS:
        shapes = load(file).shapes(kind)
        if shapes:
            yield kind, nullable_in_any(tuple(shape.fields for shape in shapes))


def _struct_names(fields: tuple[Field, ...]) -> Iterator[str]:
    for each in fields:
        if each.type == "struct":
            yield each.struct
            yield from _struct_names(each.fields)


def _add(
    known: dict[str, StructType],
    name: str,
    fields: tuple[Field, ...],
    file: str,
    kind: str,
    path: tuple[str, ...],
    uses: Counter[str],
) -> StructType:
    message = class_name(load(file), kind)
    struct = StructType(name if not path or uses[name] == 1 else message + name, fields, file, kind, path)
    if name in known:
        assert known[name].fields == fields, f"{file}: two structs are called {name}"
        return known[name]
    for each in fields:
        if each.type == "struct":
            struct.nested[each.name] = _add(known, each.struct, each.fields, file, kind, (*path, each.name), uses)
    known[name] = struct  # after those inside it, so that a reader meets each name before its use
    return struct


def decoded_type(each: Field, struct: StructType) -> str:
    name = struct.nested[each.name].name if each.type == "struct" else _PLAIN.get(each.type, "int")
    name = f"list[{name}]" if each.array else name
    return f"{name} | None" if each.nullable else name


def body_type(each: Field, struct: StructType) -> str:
    name = struct.nested[each.name].name + "Body" if each.type == "struct" else _TO_ENCODE.get(each.type, "int")
    name = f"Sequence[{name}]" if each.array else name
    return f"{name} | None" if each.nullable else name


def stub(file: str, structs: list[StructType]) -> str:
    text = HEAD.format(file=file)
    for struct in structs:
        of_request = struct.kind == "request" and not struct.path
        base = f"Request[{class_name(load(file), 'response')}Body]" if of_request else "Struct"
        decoded = f"class {struct.name}({base}, kw_only=True):"
        body = f"class {struct.name}Body(TypedDict, total=False):"
        if not struct.fields:
            text += f"\n{decoded} ...\n{body} ...\n"
            continue
        text += f"\n{decoded}\n"
        text += "".join(f"    {each.name}: {decoded_type(each, struct)} = ...\n" for each in struct.fields)
        text += f"\n{body}\n"
        text += "".join(f"    {each.name}: {body_type(each, struct)}\n" for each in struct.fields)
    for used, imported in (
        ("Sequence[", "from collections.abc import Sequence\n"),
        ("(Struct,", "from msgspec import Struct\n"),
    ):
        text = text if used in text else text.replace(imported, "")
    return text if "(Request[" in text else text.replace(f"\n{REQUEST_IMPORT}", "")


def pages() -> dict[Path, str]:
    """Every file that is made, with its text."""
    structs = all_structs()
    made = {STUBS / f"{_module(file)}.pyi": stub(file, found) for file, found in structs.items()}
    made[STUBS / "request.pyi"] = BASE
    modules = sorted(["request", *map(_module, structs)])
    index = "".join(f"from barnabas.wire.messages.{module} import *\n" for module in modules)
    made[STUBS / "__init__.pyi"] = INDEX_HEAD + index
    places = {struct.name: [struct.file, struct.kind, *struct.path] for found in structs.values() for struct in found}
    made[NAMES] = msgspec.json.encode(places).decode() + "\n"
    return made


def _module(file: str) -> str:
    return file.rpartition("/")[2]


def main() -> None:
    made = pages()
    left_over = [path for path in STUBS.glob("*.pyi") if path not in made]
    different = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in [*different, *left_over]:
            print(f"{path.name} is not what the schemas say: run tools/message_types.py")
        sys.exit(bool(different or left_over))
    STUBS.mkdir(exist_ok=True)
    for path in left_over:
        path.unlink()
    for path in different:
        path.write_text(made[path])


if __name__ == "__main__":
    main()
