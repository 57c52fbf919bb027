"""Compile a writer: one function that turns nested dicts into the bytes of one message version.

Straight-line code, as in codegen/read.py: each run of fixed-size fields is one Struct.pack, the pieces are joined once
at the end. A missing key is the schema's default; a key of another version is left out; a tagged field is written only
when it differs from its default (KIP-482). Values are trusted to be of the right type, for they come from our own code:
what cannot be packed raises, and explain.py then says which field it was.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from struct import Struct

import msgspec

from barnabas.wire.codegen.common import FixedRun, Source, struct_of
from barnabas.wire.schema import FIXED_FORMATS, Field, Shape
from barnabas.wire.varints import uvarint_bytes

Writer = Callable[[Mapping[str, object]], bytes]

SHORT_ARRAY = 16  # replicas, in-sync replicas, partitions of an assignment


def compile_writer(shape: Shape, label: str) -> Writer:
    writer = _WriterSource(shape.flexible)
    source = writer.source
    source.constants.update(
        SMALL=_SMALL, uvarint_bytes=uvarint_bytes, pack_long=pack_long, wrong_uuid=wrong_uuid, str=str
    )
    source.line("pieces = []")
    source.line("add = pieces.append")
    writer.write_struct(shape.fields, "body")
    writer.flush()
    source.line("return b''.join(pieces)")
    return source.compile("write(body)", label)


class _WriterSource:
    def __init__(self, flexible: bool) -> None:
        self.source = Source()
        self.run = FixedRun()
        self.flexible = flexible

    def flush(self) -> None:
        if not self.run.letters:
            return
        letters, values, size = self.run.take()
        if not values:
            self.source.line(f"add({bytes(size)!r})")
        else:
            pack = self.source.constant("pack", struct_of(letters).pack)
            self.source.line(f"add({pack}({', '.join(values)}))")

    def write_struct(self, fields: tuple[Field, ...], body: str) -> None:
        """Emit the writing of the dict in variable `body`; the last run may stay pending."""
        source = self.source
        if fields:
            get = source.name("get")
            source.line(f"{get} = {body}.get")
        for field in fields:
            if field.tag is None:
                value = source.name(field.name)
                source.line(f"{value} = {self.value_of(field, get)}")
                self.write_value(field, value)
        if self.flexible:
            self.write_tags([field for field in fields if field.tag is not None], get if fields else "")

    def value_of(self, field: Field, get: str) -> str:
        if field.array and field.default is msgspec.UNSET:
            return f"{get}({field.name!r}, ())"
        if field.type == "struct" and not field.array and field.default is msgspec.UNSET:
            return f"{get}({field.name!r}, {self.source.constant('EMPTY', _EMPTY)})"
        default = field.zero()
        return f"{get}({field.name!r})" if default is None else f"{get}({field.name!r}, {default!r})"

    def write_value(self, field: Field, value: str, nullable: bool | None = None) -> None:
        source = self.source
        nullable = field.nullable if nullable is None else nullable
        if field.array:
            self.write_array(field, value, nullable)
        elif field.type == "struct":
            self.write_nested(field, value, nullable and field.tag is None)
        elif field.type in FIXED_FORMATS:
            if field.type == "uuid":
                source.line(f"if len({value}) != 16: raise wrong_uuid({value})")
            self.run.add(FIXED_FORMATS[field.type], value)
        else:
            self.write_blob(field, value, nullable)

    def write_nested(self, field: Field, value: str, nullable: bool) -> None:
        if not nullable:
            self.write_struct(field.fields, value)
            return
        source = self.source
        self.flush()
        source.line(f"if {value} is None: add(b'\\xff')")
        source.line("else:")
        source.depth += 1
        source.line("add(b'\\x01')")
        self.write_struct(field.fields, value)
        self.flush()
        source.depth -= 1

    def write_length(self, length: str, legacy_letter: str) -> None:
        """Emit a length that is not null. Flexible: unsigned varint of length + 1."""
        if self.flexible:
            self.flush()
            self.source.line(f"add(SMALL[{length}] if {length} < 127 else uvarint_bytes({length} + 1))")
        else:
            self.run.add(legacy_letter, length)

    def write_blob(self, field: Field, value: str, nullable: bool) -> None:
        source = self.source
        letter = "h" if field.type == "string" else "i"
        if nullable:
            self.flush()
            source.line(f"if {value} is None: add({_null(self.flexible, letter)!r})")
            source.line("else:")
            source.depth += 1
        if field.type == "string":
            source.line(f"{value} = {value}.encode()")
        self.write_length(f"len({value})", letter)
        self.flush()
        source.line(f"add({value})")
        if nullable:
            source.depth -= 1

    def write_array(self, field: Field, value: str, nullable: bool) -> None:
        source = self.source
        self.flush()
        if nullable:
            source.line(f"if {value} is None: add({_null(self.flexible, 'i')!r})")
            source.line("else:")
            source.depth += 1
        letter = FIXED_FORMATS.get(field.type)
        if letter is not None and letter != "16s":
            count, short = source.name("n"), source.constant("short", short_arrays(letter, self.flexible))
            length = f"{count} + 1" if self.flexible else count
            source.line(f"{count} = len({value})")
            source.line(f"if {count} < {SHORT_ARRAY}: add({short}[{count}]({length}, *{value}))")
            source.line(f"else: add(pack_long({value}, {letter!r}, {self.flexible}))")
        else:
            self.write_length(f"len({value})", "i")
            self.flush()
            item = source.name("item")
            source.line(f"for {item} in {value}:")
            source.depth += 1
            self.write_value(msgspec.structs.replace(field, array=False, tag=None), item, nullable=False)
            self.flush()
            source.depth -= 1
        if nullable:
            source.depth -= 1

    def write_tags(self, tagged: list[Field], get: str) -> None:
        if not tagged:
            self.run.add("x", "")
            return
        source = self.source
        self.flush()
        tags, outer = source.name("tags"), source.name("outer")
        source.line(f"{tags} = []")
        for field in sorted(tagged, key=lambda field: field.tag or 0):
            value = source.name(field.name)
            source.line(f"{value} = {self.value_of(field, get)}")
            source.line(f"if {self.differs(field, value)}:")
            source.depth += 1
            # The size of a tagged field stands before it, so it is written into pieces of its own.
            source.line(f"{outer} = add")
            source.line("inner = []")
            source.line("add = inner.append")
            self.write_value(field, value)
            self.flush()
            source.line(f"add = {outer}")
            source.line("inner = b''.join(inner)")
            source.line(f"{tags}.append({uvarint_bytes(field.tag or 0)!r} + uvarint_bytes(len(inner)) + inner)")
            source.depth -= 1
        source.line(f"add(uvarint_bytes(len({tags})))")
        source.line(f"pieces_of_tags = b''.join({tags})")
        source.line("add(pieces_of_tags)")

    def differs(self, field: Field, value: str) -> str:
        if field.default is None:
            return f"{value} is not None"
        if field.array:
            return f"{value} is None or len({value}) > 0" if field.nullable else value
        if field.type == "struct":
            return " or ".join(
                f"{value}.get({inner.name!r}, {inner.zero()!r}) != {inner.zero()!r}" for inner in field.fields
            )
        return f"{value} != {field.zero()!r}"


# --- what the compiled code calls -----------------------------------------------------------------------------------

_EMPTY: dict[str, object] = {}
_SMALL = [bytes((length + 1,)) for length in range(127)]


@cache
def short_arrays(letter: str, flexible: bool) -> list[Callable[..., bytes]]:
    """By number of elements, what packs a short array of fixed-size elements with its length before it."""
    return [Struct(f">{'B' if flexible else 'i'}{count}{letter}").pack for count in range(SHORT_ARRAY)]


def pack_long(values: Sequence[object], letter: str, flexible: bool) -> bytes:
    """The same for an array of any length."""
    count = len(values)
    length = uvarint_bytes(count + 1) if flexible else struct_of(">i").pack(count)
    return length + Struct(f">{count}{letter}").pack(*values)


def _null(flexible: bool, letter: str) -> bytes:
    return b"\x00" if flexible else struct_of(">" + letter).pack(-1)


def wrong_uuid(value: object) -> TypeError:
    return TypeError(f"a uuid is 16 bytes, not {value!r}")
