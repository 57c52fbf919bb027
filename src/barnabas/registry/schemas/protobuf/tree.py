"""A .proto file as it is written: what stands in it, in the order in which it stands there.

Names of types are kept as the text has them; scopes.py finds what they mean. Values of options are kept as they are
written, too: what they mean depends on an extension that may not be at hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

FIELD_NUMBER_MAX = 536_870_911
ENUM_NUMBER_MAX = 2_147_483_647
EDITIONS = {"2023": 1000, "2024": 1001, "2026": 1002}  # with the number that a descriptor has for it

SCALARS = frozenset((
    "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32",
    "sfixed64", "bool", "string", "bytes",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Text:
    """A string; adjacent ones are joined. Bytes, since escapes may give what is not UTF-8."""

    value: bytes


@dataclass(frozen=True, slots=True)
class Word:
    """A number with its sign, true, false, inf, nan, or the name of an enum's value."""

    text: str


@dataclass(frozen=True, slots=True)
class Sequence:
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Mapping:
    """{ key: value }. A key is a field's name or an extension's in brackets; one that repeats is a Sequence here."""

    entries: tuple[tuple[str, Value], ...]


Value = Text | Word | Sequence | Mapping


@dataclass(frozen=True, slots=True)
class Option:
    name: str  # java_package, (confluent.field_meta).doc, features.field_presence
    value: Value

    @property
    def is_extension(self) -> bool:
        return self.name.startswith("(")


Options = list[Option]
Range = tuple[int, int]  # both ends included


@dataclass(slots=True)
class Reserved:
    """One `reserved` statement, or one `extensions` statement, which has no names and may have options."""

    ranges: list[Range | str]
    options: Options = field(default_factory=list)
    extensions: bool = False


@dataclass(slots=True)
class Field:
    label: str | None  # optional, required, repeated
    type: str  # as written; the group's name for a group; empty for a map
    name: str
    number: int
    options: Options
    map: tuple[str, str] | None = None  # types of key and value
    group: Message | None = None

    def option(self, name: str) -> Value | None:
        return option(self.options, name)


@dataclass(slots=True)
class Oneof:
    name: str
    fields: list[Field] = field(default_factory=list)
    options: Options = field(default_factory=list)


@dataclass(slots=True)
class EnumValue:
    name: str
    number: int
    options: Options


@dataclass(slots=True)
class Enum:
    name: str
    values: list[EnumValue] = field(default_factory=list)
    options: Options = field(default_factory=list)
    reserved: list[Reserved] = field(default_factory=list)
    visibility: str | None = None


@dataclass(slots=True)
class Extend:
    extendee: str
    fields: list[Field] = field(default_factory=list)


@dataclass(slots=True)
class Message:
    name: str
    body: list[Field | Oneof | Message | Enum | Extend] = field(default_factory=list)
    options: Options = field(default_factory=list)
    reserved: list[Reserved] = field(default_factory=list)  # `extensions` statements are among them
    visibility: str | None = None

    def fields(self) -> Iterator[tuple[Field, Oneof | None]]:
        """All fields in the order of the text, each with the oneof that it is in."""
        for each in self.body:
            if isinstance(each, Field):
                yield each, None
            elif isinstance(each, Oneof):
                for member in each.fields:
                    yield member, each

    @property
    def oneofs(self) -> list[Oneof]:
        return [each for each in self.body if isinstance(each, Oneof)]

    @property
    def messages(self) -> list[Message]:
        return [each for each in self.body if isinstance(each, Message)]

    @property
    def enums(self) -> list[Enum]:
        return [each for each in self.body if isinstance(each, Enum)]

    @property
    def extends(self) -> list[Extend]:
        return [each for each in self.body if isinstance(each, Extend)]

    @property
    def is_map_entry(self) -> bool:
        """Made for a map by protoc: it stands in texts that were made from a descriptor."""
        return option(self.options, "map_entry") == Word("true")


@dataclass(slots=True)
class Method:
    name: str
    input: str
    output: str
    input_streams: bool
    output_streams: bool
    options: Options


@dataclass(slots=True)
class Service:
    name: str
    methods: list[Method] = field(default_factory=list)
    options: Options = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Import:
    path: str
    kind: str = ""  # public, weak, option


@dataclass(slots=True)
class File:
    syntax: str = ""  # proto2, proto3, or nothing, which means proto2
    edition: str = ""  # 2023; there is no syntax then
    package: str = ""
    imports: list[Import] = field(default_factory=list)
    options: Options = field(default_factory=list)
    body: list[Message | Enum | Extend | Service] = field(default_factory=list)
    custom_options: bool = False  # whether any option is an extension, anywhere in the file

    @property
    def messages(self) -> list[Message]:
        return [each for each in self.body if isinstance(each, Message)]

    @property
    def enums(self) -> list[Enum]:
        return [each for each in self.body if isinstance(each, Enum)]

    @property
    def extends(self) -> list[Extend]:
        return [each for each in self.body if isinstance(each, Extend)]

    @property
    def services(self) -> list[Service]:
        return [each for each in self.body if isinstance(each, Service)]


def option(options: Options, name: str) -> Value | None:
    return next((each.value for each in options if each.name == name), None)
