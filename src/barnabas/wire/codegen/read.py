"""Compile a reader: one function that turns the bytes of one message version into an object.

The function is straight-line code: each run of fixed-size fields, together with the length that follows it, is one
struct.unpack_from. Refuses, before allocating: a length past the end of the message, an array that cannot fit in what
remains or that takes the message over the number of elements it may have in all (ARRAY_MAX_ELEMENTS, a request
REQUEST_ELEMENTS_MAX), a null where none may be, text that is not UTF-8, too
many tagged fields. Unknown tags are skipped (KIP-482). Raises IndexError, struct.error or UnicodeDecodeError for the
rest; codec.py makes one ProtocolError of all of them.

Bytes after the message are ignored, as Kafka's own broker ignores them: its parser reads what the schema names and
never asks whether the frame is used up.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from barnabas.model.limits import ARRAY_MAX_ELEMENTS, TAGGED_FIELDS_MAX
from barnabas.wire.codegen.common import FixedRun, Source, struct_of
from barnabas.wire.errors import ProtocolError
from barnabas.wire.schema import FIXED_BYTES, FIXED_FORMATS, Field, Message, Shape, element_min_bytes, union
from barnabas.wire.varints import cut, long_uvarint, skip_tags, uvarint

# The API key, or the name of a struct, decides which class a decoded message has: whoever asks declares it
# (wire/messages has the types), and mypy holds what follows to that.
Decoded: TypeAlias = Any
Reader = Callable[[bytes | bytearray | memoryview, int], Decoded]

_SECRET_FIELDS = frozenset(
    {"auth_bytes", "salted_password", "salt", "stored_key", "server_key", "hmac", "request_data", "response_data"}
)


def _repr_without_secrets(message: msgspec.Struct) -> str:
    """Of logins, credentials and settings, which may be printed by mistake: only what cannot be secret."""
    shown = (
        f"{name}={getattr(message, name)!r}"
        for name in message.__struct_fields__
        if name not in _SECRET_FIELDS and name != "value"
    )
    return f"{type(message).__name__}({', '.join(shown)}, ...)"


class StructClass:
    """The class of one struct (fields of all versions), and the same for the structs inside it.

    `known` are the classes of the message so far: a struct that it has in two places has one class.
    """

    def __init__(self, name: str, fields: tuple[Field, ...], known: "dict[str, StructClass]") -> None:
        self.fields = fields
        self.nested: dict[str, StructClass] = {}
        for field in fields:
            if field.type == "struct":
                if field.struct not in known:
                    known[field.struct] = StructClass(field.struct, field.fields, known)
                assert known[field.struct].fields == field.fields, f"two structs of {name} are called {field.struct}"
                self.nested[field.name] = known[field.struct]
        members: list[tuple[str, type, object]] = []
        for field in fields:
            if field.array and field.default is msgspec.UNSET:
                members.append((field.name, object, msgspec.field(default_factory=list)))
            elif field.type == "struct" and not field.array and field.default is msgspec.UNSET:
                members.append((field.name, object, msgspec.field(default_factory=self.nested[field.name].type)))
            else:
                members.append((field.name, object, field.zero()))
        # gc=False: a message is a tree, so reference counts alone free it and the collector need not know it.
        hides = "Config" in name or not _SECRET_FIELDS.isdisjoint(field.name for field in fields)
        own = {"__repr__": _repr_without_secrets} if hides else None
        self.type: type[Decoded] = msgspec.defstruct(name, members, gc=False, namespace=own)
        self._converted = [
            (field.name, self.nested.get(field.name), field.array)
            for field in fields
            if field.type == "struct" or field.array
        ]

    def build(self, body: Mapping[str, object]) -> Decoded:
        """The object that a dict as writers take it stands for, without the bytes between them. Raises TypeError for a
        name that is no field."""
        found: dict[str, Any] = dict(body)  # each of its field's type
        for name, nested, is_array in self._converted:
            value = found.get(name)
            if value is None:
                continue
            if nested is None:
                found[name] = list(value)
            elif is_array:
                build = nested.build
                found[name] = [build(item) for item in value]
            else:
                found[name] = nested.build(value)
        return self.type(**found)


def message_class(message: Message, kind: str) -> StructClass:
    """One class for all versions of a request, response or data struct."""
    return StructClass(class_name(message, kind), union(tuple(shape.fields for shape in message.shapes(kind))), {})


def class_name(message: Message, kind: str) -> str:
    title = "".join(part.capitalize() for part in message.name.split("_"))
    return title if kind == "data" else title + kind.capitalize()


def compile_reader(
    shape: Shape, top: StructClass, label: str, elements_max: int = ARRAY_MAX_ELEMENTS, *, counts: bool = False
) -> Reader:
    """`elements_max`: of all arrays of the message together. `counts`: the reader gives (message, how many there
    are)."""
    reader = _ReaderSource(shape.flexible)
    source = reader.source
    source.constants.update(
        ProtocolError=ProtocolError, long_uvarint=long_uvarint, uvarint=uvarint, skip_tags=skip_tags, cut=cut
    )
    keeps_slices = _has_records(shape.fields)
    if keeps_slices:
        source.line("data = memoryview(data)")
    else:
        # Indexing and slicing bytes is twice as fast as a memoryview; such a message is small.
        source.line("if type(data) is not bytes: data = bytes(data)")
    source.line("end = len(data)")
    source.line(f"left = {elements_max}")
    result = reader.read_struct(shape.fields, top)
    source.line(f"return {result}, {elements_max} - left" if counts else f"return {result}")
    return source.compile("read(data, p)", label)


def _has_records(fields: tuple[Field, ...]) -> bool:
    return any(field.type == "records" or _has_records(field.fields) for field in fields)


class _ReaderSource:
    def __init__(self, flexible: bool) -> None:
        self.source = Source()
        self.run = FixedRun()
        self.flexible = flexible

    def flush(self) -> None:
        if not self.run.letters:
            return
        letters, names, size = self.run.take()
        if letters == ">B":
            self.source.line(f"{names[0]} = data[p]")
        else:
            unpack = self.source.constant("unpack", struct_of(letters).unpack_from)
            self.source.line(f"{', '.join(names)}, = {unpack}(data, p)")
        self.source.line(f"p += {size}")

    def read_struct(self, fields: tuple[Field, ...], owner: StructClass) -> str:
        """Emit the reading of one struct; gives the expression that builds it."""
        values: dict[str, str] = {}
        tagged = [field for field in fields if field.tag is not None]
        for field in fields:
            if field.tag is None:
                values[field.name] = self.read_field(field, owner)
        if self.flexible:
            self.read_tags(tagged, owner, values)
        else:
            self.flush()
        arguments = [values.get(field.name) or self.default(field, owner) for field in owner.fields]
        return f"{self.source.constant('T', owner.type)}({', '.join(arguments)})"

    def default(self, field: Field, owner: StructClass) -> str:
        if field.array or field.type != "struct" or field.default is not msgspec.UNSET:
            return repr(field.zero())
        return f"{self.source.constant('T', owner.nested[field.name].type)}()"

    def read_field(self, field: Field, owner: StructClass) -> str:
        name = self.source.name(field.name)
        if field.array:
            self.read_array(field, owner, name)
        elif field.type == "struct":
            self.read_nested(field, owner, name)
        elif field.type in FIXED_FORMATS:
            self.run.add(FIXED_FORMATS[field.type], name)
        else:
            self.read_blob(field, name, field.nullable)
        return name

    def read_nested(self, field: Field, owner: StructClass, name: str) -> None:
        source = self.source
        if not field.nullable or field.tag is not None:
            source.line(f"{name} = {self.read_struct(field.fields, owner.nested[field.name])}")
            return
        # KIP-893: one byte says whether the struct is there.
        marker = source.name("marker")
        self.run.add("b", marker)
        self.flush()
        source.line(f"{name} = None")
        source.line(f"if {marker} >= 0:")
        source.depth += 1
        source.line(f"{name} = {self.read_struct(field.fields, owner.nested[field.name])}")
        source.depth -= 1

    def read_length(self, legacy_letter: str) -> str:
        """Emit the reading of a length; the variable holds length + 1 (0: null) in flexible versions."""
        length = self.source.name("n")
        if self.flexible:
            self.run.add("B", length)
            self.flush()
            self.source.line(f"if {length} > 127: {length}, p = long_uvarint(data, p, {length})")
        else:
            self.run.add(legacy_letter, length)
            self.flush()
        return length

    def read_blob(self, field: Field, name: str, nullable: bool) -> None:
        source = self.source
        length = self.read_length("h" if field.type == "string" else "i")
        null, shift = ("0", " - 1") if self.flexible else ("-1", "")
        if nullable:
            source.line(f"if {length} == {null}: {name} = None")
            source.line("else:")
            source.depth += 1
        if not self.flexible:
            source.line(f"if {length} < 0: raise cut({field.name!r}, {length})")
        elif not nullable:
            source.line(f"if not {length}: raise cut({field.name!r}, -1)")
        source.line(f"q = p + {length}{shift}")
        source.line(f"if q > end: raise cut({field.name!r}, {length})")
        text = {"string": "str(data[p:q], 'utf-8')", "bytes": "bytes(data[p:q])", "records": "data[p:q]"}[field.type]
        source.line(f"{name} = {text}")
        source.line("p = q")
        if nullable:
            source.depth -= 1

    def read_array(self, field: Field, owner: StructClass, name: str) -> None:
        source = self.source
        length = self.read_length("i")
        null = "0" if self.flexible else "-1"
        if field.nullable:
            source.line(f"if {length} == {null}: {name} = None")
            source.line("else:")
            source.depth += 1
        if self.flexible:
            source.line(f"{length} -= 1")
        size = element_min_bytes(field, self.flexible)
        source.line(f"left -= {length}")
        source.line(f"if {length} < 0 or left < 0 or {length} * {size} > end - p: raise cut({field.name!r}, {length})")
        letter = FIXED_FORMATS.get(field.type)
        if letter is not None and letter != "16s":
            unpack = source.constant("unpack_many", unpack_many)
            source.line(f"{name} = {unpack}(data, p, {length}, {letter!r})")
            source.line(f"p += {length} * {FIXED_BYTES[letter]}")
        else:
            item = source.name("item")
            source.line(f"{name} = []")
            source.line(f"for _ in range({length}):")
            source.depth += 1
            if field.type == "struct":
                source.line(f"{name}.append({self.read_struct(field.fields, owner.nested[field.name])})")
            elif letter == "16s":
                source.line(f"{name}.append(bytes(data[p:p + 16]))")
                source.line("p += 16")
            else:
                self.read_blob(field, item, nullable=False)
                source.line(f"{name}.append({item})")
            source.depth -= 1
        if field.nullable:
            source.depth -= 1

    def read_tags(self, tagged: list[Field], owner: StructClass, values: dict[str, str]) -> None:
        source = self.source
        count = source.name("tags")
        self.run.add("B", count)
        self.flush()
        if not tagged:
            source.line(f"if {count}: p = skip_tags(data, p, {count})")
            return
        for field in tagged:
            values[field.name] = source.name(field.name)
            source.line(f"{values[field.name]} = {self.default(field, owner)}")
        tag, stop = source.name("tag"), source.name("stop")
        source.line(f"if {count}:")
        source.depth += 1
        source.line(f"if {count} > 127: {count}, p = long_uvarint(data, p, {count})")
        source.line(f"if {count} > {TAGGED_FIELDS_MAX} or {count} * 2 > end - p: raise cut('tagged fields', {count})")
        source.line(f"for _ in range({count}):")
        source.depth += 1
        source.line(f"{tag}, p = uvarint(data, p)")
        source.line(f"{stop}, p = uvarint(data, p)")
        source.line(f"{stop} += p")
        source.line(f"if {stop} > end: raise cut('a tagged field', {stop} - p)")
        for index, field in enumerate(tagged):
            source.line(f"{'elif' if index else 'if'} {tag} == {field.tag}:")
            source.depth += 1
            value = self.read_field(field, owner)
            self.flush()
            source.line(f"{values[field.name]} = {value}")
            source.depth -= 1
        source.line(f"else: p = {stop}")
        source.line(f"if p != {stop}: raise cut('a tagged field', {stop} - p)")
        source.depth -= 2


# --- what the compiled code calls -----------------------------------------------------------------------------------


def unpack_many(data: bytes | memoryview, position: int, count: int, letter: str) -> list[object]:
    if count <= 8:  # replicas, in-sync replicas: worth a Struct of their own, which no client can make many of
        return list(struct_of(f">{count}{letter}").unpack_from(data, position)) if count else []
    return list(struct.unpack_from(f">{count}{letter}", data, position))
