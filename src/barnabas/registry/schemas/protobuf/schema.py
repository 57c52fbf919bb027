"""One Protobuf schema: parsed, written in its forms, compared with another."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence

from barnabas.model.limits import SCHEMA_MAX_BYTES, SCHEMA_REFERENCES_MAX
from barnabas.registry.schemas.parsed import Incompatibility, InvalidSchema, ParsedSchema, ReferencedSchema
from barnabas.registry.schemas.protobuf import known, text
from barnabas.registry.schemas.protobuf.checks import check
from barnabas.registry.schemas.protobuf.compatibility import unreadable
from barnabas.registry.schemas.protobuf.parser import read_file
from barnabas.registry.schemas.protobuf.scopes import Names, Scope
from barnabas.registry.schemas.protobuf.tokens import Budget, Tokens
from barnabas.registry.schemas.protobuf.tree import File

_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}\s*")


def parse(source: str, references: Sequence[ReferencedSchema] = (), *, stored: bool = False) -> ProtobufSchema:
    """The schema of a .proto file, or of a FileDescriptorProto in base64, which Confluent's clients register. `stored`:
    numbers and names are not checked, as Confluent's registry does not either; what it has stored stays usable."""
    if len(references) > SCHEMA_REFERENCES_MAX:
        raise InvalidSchema(f"more than {SCHEMA_REFERENCES_MAX:,} references")
    budget = Budget()
    others: dict[str, File] = {}
    wants_known = False
    for each in references:
        try:
            proto = _proto(each.text, others)
            others[each.name] = read_file(Tokens(proto, budget))
        except InvalidSchema as error:
            raise InvalidSchema(f"reference {each.name}: {error}") from None
        wants_known = wants_known or known.may_be_meant(proto)
    proto = _proto(source, others)
    file = read_file(Tokens(proto, budget))
    return ProtobufSchema(file, others, wants_known or known.may_be_meant(proto), stored)


def _proto(source: str, others: dict[str, File]) -> str:
    if len(source) > SCHEMA_MAX_BYTES:
        raise InvalidSchema(f"the schema has {len(source):,} characters; {SCHEMA_MAX_BYTES:,} are allowed")
    if not source.strip():
        raise InvalidSchema("the schema is empty")
    if _BASE64.fullmatch(source) is not None:  # no .proto file is made of these characters only
        return _text_of_descriptor(source, others)
    return source


def _text_of_descriptor(source: str, others: dict[str, File]) -> str:
    try:
        data = base64.b64decode(source.strip(), validate=True)
    except binascii.Error:
        raise InvalidSchema("the schema is neither a .proto file nor a FileDescriptorProto in base64") from None
    from barnabas.registry.schemas.protobuf.descriptors.binary import read_binary

    file = read_binary(data, others)
    names = Names()
    names.add(file)
    return text.write(file, names.package(file.package), text.CANONICAL)


class ProtobufSchema(ParsedSchema):
    """Forms are made when they are asked for, and kept where they are asked for often."""

    __slots__ = ("_canonical", "file", "others", "scope")

    def __init__(self, file: File, others: dict[str, File], wants_known: bool, stored: bool = False) -> None:
        names = Names()
        names.add(file, own=True)
        for each in others.values():
            names.add(each)
        if wants_known or file.extends:
            for each in known.files().values():
                names.add(each)
        if not stored:
            check(file, names)
        self.file = file
        self.others = others
        self.scope: Scope = names.package(file.package)
        self._canonical: str | None = None

    def canonical(self) -> str:
        if self._canonical is None:
            self._canonical = text.write(self.file, self.scope, text.CANONICAL)
        return self._canonical

    def normalized(self) -> str:
        return text.write(self.file, self.scope, text.NORMALIZED)

    def formatted(self, format: str) -> str:
        if format == "serialized":
            from barnabas.registry.schemas.protobuf.descriptors.build import serialized

            return base64.b64encode(serialized(self.file, self.scope, self.others)).decode()
        if format == "ignore_extensions":
            return text.write(self.file, self.scope, text.WITHOUT_EXTENSIONS)
        return self.canonical()

    def unreadable(self, writer: ParsedSchema) -> Sequence[Incompatibility]:
        assert isinstance(writer, ProtobufSchema)
        return unreadable(self.file, self.scope, writer.file, writer.scope)
