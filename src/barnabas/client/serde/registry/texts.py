"""A schema that is given as a dict, as a text or as the path of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from barnabas.client.errors import BadSetting


def text_of(source: object, word: str) -> str:
    """`word` names the format in an error. A text that begins like JSON is a schema; any other is a file's name."""
    if isinstance(source, (Mapping, list)):
        return json.dumps(source, separators=(",", ":"), ensure_ascii=False)
    if isinstance(source, str) and source.lstrip().startswith(("{", "[", '"')):
        return source.strip()
    if isinstance(source, (str, Path)):
        return read_schema(Path(source), word)
    name = source.__name__ if isinstance(source, type) else type(source).__name__
    raise BadSetting(f"{name} is no {word} schema: a dataclass, a model, a struct, a dict, a JSON text or a path is")


def read_schema(path: Path, word: str) -> str:
    try:
        return path.read_text().strip()
    except UnicodeDecodeError:
        raise BadSetting(f"cannot read the {word} schema {path}: it is not UTF-8") from None
    except OSError as error:
        raise BadSetting(f"cannot read the {word} schema {path}: {(error.strerror or str(error)).lower()}") from None
