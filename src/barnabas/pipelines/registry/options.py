"""The options about a schema registry, the same for reading and for writing.

`registry` is its address (several with commas), `registry.*` are the client's settings by Confluent's names, such as
`registry.basic.auth.user.info`. `valueSubject` is the subject, `<topic>-value` without it; `schemaVersion` a version of
it or `latest`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.pipelines.errors import PipelineError

PREFIX = "registry."
NAMES = ("registry", "valueSubject", "schemaVersion")
FORMATS = {"avro": "AVRO", "protobuf": "PROTOBUF", "json-schema": "JSON"}  # by valueFormat: the registry's name
LATEST = "latest"


@dataclass(frozen=True)
class RegistryOptions:
    """Travels to the executors."""

    url: str = field(repr=False)  # a password may stand in it
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def parse_registry(options: Mapping[str, str]) -> RegistryOptions | None:
    """None when no registry is named. `options` by lower-case name."""
    url = options.get("registry", "").strip()
    settings = {name[len(PREFIX) :]: value for name, value in options.items() if name.startswith(PREFIX)}
    if not url:
        stray = next((name for name in ("valueSubject", "schemaVersion") if name.lower() in options), None)
        stray = stray or next((PREFIX + name for name in settings), None)
        if stray is not None:
            raise PipelineError(f'{stray} needs registry, the address of a schema registry: "http://127.0.0.1:8081"')
        return None
    return RegistryOptions(url, tuple(sorted(settings.items())))


def version_of(options: Mapping[str, str]) -> int | str | None:
    """`schemaVersion`, None when it is not given."""
    text = options.get("schemaversion", "").strip().lower()
    if not text or text == LATEST:
        return text or None
    if not text.isdigit() or int(text) == 0:
        raise PipelineError(f"schemaVersion is the number of a version or {LATEST}, not {text!r}")
    return int(text)


def subject_of(options: Mapping[str, str], topic: str | None) -> str:
    subject = options.get("valuesubject", "").strip()
    if subject:
        return subject
    if topic is None:
        raise PipelineError("say by valueSubject which subject of the registry has the schema: there is not one topic")
    return f"{topic}-value"
