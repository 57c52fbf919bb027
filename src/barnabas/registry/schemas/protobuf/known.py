"""Files that every schema may import without a reference, as in Confluent's registry: Google's and Confluent's types.

`known/` has their definitions in canonical form, made by tools/known_protos.py. They are read when a schema first needs
one of them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from barnabas.registry.schemas.protobuf.parser import read_file
from barnabas.registry.schemas.protobuf.tokens import Budget, Tokens
from barnabas.registry.schemas.protobuf.tree import File

_FOLDER = Path(__file__).parent / "known"
_PREFIXES = ("google", "confluent")


def may_be_meant(text: str) -> bool:
    """Whether the text says a word that all names and paths of these files start with."""
    return any(prefix in text for prefix in _PREFIXES)


@cache
def files() -> dict[str, File]:
    """By path, as an import says it, in an order in which each stands behind what it imports."""
    read = {
        path.relative_to(_FOLDER).as_posix(): read_file(Tokens(path.read_text(), Budget()))
        for path in sorted(_FOLDER.rglob("*.proto"))
    }
    ordered: dict[str, File] = {}

    def enter(path: str) -> None:
        for each in read[path].imports:
            if each.path not in ordered:
                enter(each.path)
        ordered.setdefault(path, read[path])

    for path in read:
        enter(path)
    return ordered
