"""Is a schema compatible with those before it? Seven levels: which direction, and whether with the last one or all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from barnabas.model.limits import INCOMPATIBILITIES_MAX, REGISTRY_COMPARED_MAX_BYTES
from barnabas.registry.errors import invalid_schema, too_large
from barnabas.registry.schemas.parsed import Incompatibility, InvalidSchema, ParsedSchema
from barnabas.registry.state.parsing import Parser, Source
from barnabas.registry.state.values import Config, Content

_SHOWN_CHARACTERS = 2_000  # of the older schema, in a message


@dataclass(frozen=True, slots=True)
class Earlier:
    version: int
    content: Content
    source: Source


def incompatibilities(
    parser: Parser, config: Config, content: Content, parsed: ParsedSchema, earlier: Sequence[Earlier]
) -> tuple[str, ...]:
    """Messages as Confluent's registry writes them; of the newest version that differs, none where all is well."""
    level = config.compatibility_level or "NONE"
    group = config.compatibility_group
    if level == "NONE":
        return ()
    if group:
        earlier = [each for each in earlier if _group(each.content, group) == _group(content, group)]
    if not level.endswith("_TRANSITIVE"):
        earlier = earlier[-1:]
    _check_size(earlier)
    for each in reversed(earlier):
        found = list(_problems(parser, level, content, parsed, each))
        if found:
            shown = each.content.text[:_SHOWN_CHARACTERS]
            found += [f"{{oldSchemaVersion: {each.version}}}", f"{{oldSchema: '{shown}'}}"]
            found.append(f"{{validateFields: '{str(bool(config.validate_fields)).lower()}', compatibility: '{level}'}}")
            return tuple(found)
    return ()


def _check_size(earlier: Sequence[Earlier]) -> None:
    size = sum(len(each.content.text) for each in earlier)
    if size > REGISTRY_COMPARED_MAX_BYTES and len(earlier) > 1:
        raise too_large(
            f"{len(earlier)} versions with {size} bytes are too much to compare at once "
            f"(at most {REGISTRY_COMPARED_MAX_BYTES}): set a level that is not transitive"
        )


def _problems(parser: Parser, level: str, content: Content, parsed: ParsedSchema, earlier: Earlier) -> Iterator[str]:
    if earlier.content.type != content.type:
        yield "Incompatible because of different schema type"
        return
    before = parser.parse(earlier.source)
    both = level.startswith("FULL")
    try:
        if both or level.startswith("FORWARD"):
            yield from _told(before.unreadable(parsed), "old", "new")
        if both or level.startswith("BACKWARD"):
            yield from _told(parsed.unreadable(before), "new", "old")
    except InvalidSchema as problem:
        raise invalid_schema(f"Invalid schema of type {content.type}, details: {problem}") from None


def _told(found: Sequence[Incompatibility], reader: str, writer: str) -> Iterator[str]:
    for each in found[:INCOMPATIBILITIES_MAX]:
        where = f"The {reader} schema cannot read data of the {writer} schema at path '{each.path}'"
        yield f"{{errorType:'{each.kind}', description:'{where}: {each.message}', additionalInfo:'{each.path}'}}"


def _group(content: Content, name: str) -> str | None:
    metadata = content.metadata
    return None if metadata is None else (metadata.properties or {}).get(name)
