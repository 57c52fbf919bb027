"""protoc, of grpcio-tools: the second opinion on what a .proto file means."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path

import grpc_tools  # type: ignore[import-untyped]
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from grpc_tools import protoc

from barnabas.registry.schemas.parsed import ParsedSchema
from barnabas.registry.schemas.protobuf.descriptors.read import json_name

INCLUDED = Path(grpc_tools.__file__).parent / "_proto"  # google/protobuf
INSTALLED = INCLUDED.parents[1]  # google/type, google/api and others, of googleapis-common-protos


def compiled(files: list[str], *folders: Path, output: Path) -> dict[str, FileDescriptorProto]:
    """What protoc makes of the files and all that they import, by path."""
    includes = [f"-I{folder}" for folder in (*folders, INCLUDED)]
    arguments = ["protoc", *includes, "--include_imports", "--retain_options", f"-o{output}", *files]
    assert protoc.main(arguments) == 0, files
    found = FileDescriptorSet.FromString(output.read_bytes())
    return {each.name: each for each in found.file}


def comparable(descriptor: FileDescriptorProto) -> FileDescriptorProto:
    """Without what a text does not say: the file's name, the json_name of every field, the options of `rpc ... {}`."""
    copy = FileDescriptorProto()
    copy.CopyFrom(descriptor)
    copy.name = ""
    copy.ClearField("source_code_info")
    _strip(copy.extension)
    for method in (each for service in copy.service for each in service.method):
        if not method.options.ByteSize():
            method.ClearField("options")
    waiting = list(copy.message_type)
    while waiting:
        message: DescriptorProto = waiting.pop()
        _strip(message.field)
        _strip(message.extension)
        waiting.extend(message.nested_type)
    return copy


def _strip(fields: Iterable[FieldDescriptorProto]) -> None:
    for field in fields:
        if field.json_name == json_name(field.name):
            field.ClearField("json_name")


def descriptor_of(schema: ParsedSchema) -> FileDescriptorProto:
    return FileDescriptorProto.FromString(base64.b64decode(schema.formatted("serialized")))
