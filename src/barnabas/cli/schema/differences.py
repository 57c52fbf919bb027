"""Two versions of a subject, or a version and a file, beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.common.failure import Failure, usage
from barnabas.operate.schemas.changes import changes, line_by_line

if TYPE_CHECKING:
    from barnabas.client.serde.registry.registry import Registry
    from barnabas.client.serde.registry.schema import Registered


def compared(client: Registry, subject: str, old: str | None, new: str) -> tuple[Registered, Registered, list[str]]:
    """The two, and what changed in words."""
    versions = client.versions(subject)
    first = client.version(subject, _number(old, versions, subject, last=-2 if new == "latest" else -1))
    if not _is_version(new):
        second, serialized = _of_file(Path(new), first)
        return first, second, [] if serialized else changes(first.schema.type, first.schema.text, second.schema.text)
    second = client.version(subject, _number(new, versions, subject, last=-1))
    if first.schema.type != second.schema.type:
        return first, second, [f"the type {first.schema.type} became {second.schema.type}"]
    if first.schema.type != "PROTOBUF":
        return first, second, changes(first.schema.type, first.schema.text, second.schema.text)
    texts = [client.version(subject, each.version, format="serialized").schema.text for each in (first, second)]
    return first, second, changes("PROTOBUF", *texts)


def lines(first: Registered, second: Registered) -> list[str]:
    return line_by_line((first.schema.type, first.schema.text), (second.schema.type, second.schema.text))


def _is_version(text: str) -> bool:
    return text.isdigit() or text in ("latest", "-1")


def _number(text: str | None, versions: list[int], subject: str, last: int) -> int:
    if text in (None, "latest", "-1"):
        place = last if text is None else -1
        if len(versions) < -place:
            raise Failure(f"{subject} has one version, so there is nothing to compare it with")
        return versions[place]
    number = int(text) if text is not None and text.isdigit() else 0
    if number not in versions:
        told = ", ".join(map(str, versions))
        raise usage(f"{subject} has no version {text}", f"It has {told}.")
    return number


def _of_file(path: Path, like: Registered) -> tuple[Registered, bool]:
    """A file as what it would be registered as. Words need Protobuf's serialized form, which only a registry makes."""
    from barnabas.client.serde.registry.plain import schema_of_file
    from barnabas.client.serde.registry.schema import Registered

    schema = schema_of_file(path, like.schema.type)
    return Registered(schema, 0, "", str(path), 0), schema.type == "PROTOBUF"
