"""`${env:NAME}` and `${file:/path}` in options: secrets and what differs from machine to machine, resolved where the
connector runs, so that a definition that is stored in the cluster has none of them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from barnabas.connect.contract import Value
from barnabas.connect.errors import BadOption

_REFERENCE = re.compile(r"\$\{(env|file):([^}]*)\}")
_FILE_MAX_BYTES = 64 * 1024


def resolved(value: Value) -> Value:
    if isinstance(value, str):
        return _REFERENCE.sub(_found, value)
    if isinstance(value, dict):
        return {name: resolved(each) for name, each in value.items()}
    if isinstance(value, list):
        return [resolved(each) for each in value]
    return value


def is_reference(value: object) -> bool:
    return isinstance(value, str) and _REFERENCE.search(value) is not None


def _found(reference: re.Match[str]) -> str:
    kind, name = reference[1], reference[2]
    if kind == "env":
        if name not in os.environ:
            raise BadOption(f"${{env:{name}}}: there is no environment variable {name}", f"Set it: export {name}=...")
        return os.environ[name]
    try:
        with Path(name).expanduser().open("rb") as file:
            text = file.read(_FILE_MAX_BYTES + 1)
    except OSError as error:
        raise BadOption(f"${{file:{name}}}: {(error.strerror or str(error)).lower()}") from None
    if len(text) > _FILE_MAX_BYTES:
        raise BadOption(f"${{file:{name}}}: the file has more than {_FILE_MAX_BYTES} bytes")
    return text.decode("utf-8", "replace").rstrip("\n")
