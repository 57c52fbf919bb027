"""Writes src/barnabas/registry/schemas/protobuf/known: files that a schema may import without a reference.

The list is that of Confluent's registry. Their descriptors come from the installed packages (protobuf,
googleapis-common-protos, confluent-kafka); what is written is our canonical text of them.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from barnabas.registry.schemas.protobuf.descriptors.read import read
from barnabas.registry.schemas.protobuf.scopes import Names
from barnabas.registry.schemas.protobuf.text import NORMALIZED, write

FOLDER = Path(__file__).parents[1] / "src" / "barnabas" / "registry" / "schemas" / "protobuf" / "known"
GOOGLE = (
    "any",
    "api",
    "descriptor",
    "duration",
    "empty",
    "field_mask",
    "source_context",
    "struct",
    "timestamp",
    "type",
    "wrappers",
)
TYPES = (
    "calendar_period",
    "color",
    "date",
    "datetime",
    "dayofweek",
    "decimal",
    "expr",
    "fraction",
    "interval",
    "latlng",
    "money",
    "month",
    "phone_number",
    "postal_address",
    "quaternion",
    "timeofday",
)
MODULES = [
    *(f"google.protobuf.{name}_pb2" for name in GOOGLE),
    *(f"google.type.{name}_pb2" for name in TYPES),
    *(f"confluent_kafka.schema_registry.confluent.{name}_pb2" for name in ("meta", "type.decimal", "type.variant")),
    "confluent_kafka.schema_registry.confluent.types.decimal_pb2",
]


def descriptors() -> dict[str, FileDescriptorProto]:
    found = {}
    for module in MODULES:
        descriptor = FileDescriptorProto()
        import_module(module).DESCRIPTOR.CopyToProto(descriptor)
        found[descriptor.name] = descriptor
    return found


def texts() -> dict[str, str]:
    files = {path: read(descriptor) for path, descriptor in descriptors().items()}
    names = Names()
    for file in files.values():
        names.add(file)
    return {path: write(file, names.package(file.package), NORMALIZED) for path, file in files.items()}


if __name__ == "__main__":
    for path, text in texts().items():
        target = FOLDER / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
