"""A pool of descriptors of its own for one schema: Protobuf's library knows custom options by it.

google.protobuf is imported on first use: most schemas never need it, and it costs 20 ms and some megabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from barnabas.registry.schemas.protobuf.tree import File

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import Message

DESCRIPTOR_PATH = "google/protobuf/descriptor.proto"


def pool_of(files: Iterable[tuple[str, File]], build: Callable[[str, File], FileDescriptorProto]) -> DescriptorPool:
    """Files come behind what they import. One that Protobuf's library refuses is left out, with what needs it: custom
    options of it are then not understood, which is no reason to refuse a schema."""
    from google.protobuf import descriptor_pb2
    from google.protobuf.descriptor_pool import DescriptorPool

    pool = DescriptorPool()
    descriptor = descriptor_pb2.FileDescriptorProto()
    descriptor_pb2.DESCRIPTOR.CopyToProto(descriptor)
    pool.Add(descriptor)
    for path, file in files:
        if path == DESCRIPTOR_PATH:
            continue
        try:
            pool.Add(build(path, file))
        except Exception:  # the library raises TypeError or errors of its own, by version
            continue
    return pool


def message_class(pool: DescriptorPool, full_name: str) -> type[Message]:
    from google.protobuf.message_factory import GetMessageClass

    return GetMessageClass(pool.FindMessageTypeByName(full_name))
