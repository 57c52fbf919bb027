"""Protobuf: .proto files and FileDescriptorProto, by Confluent's rules of compatibility."""

from barnabas.registry.schemas.protobuf.schema import parse

__all__ = ["parse"]
