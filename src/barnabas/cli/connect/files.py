"""Definitions in files that the person at the terminal names: Python beside them is theirs too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from barnabas.connect.definition.definition import Definition
from barnabas.connect.definition.loading import load_file
from barnabas.connect.errors import BadOption
from barnabas.connect.python_functions import allow_folder


def loaded(files: Sequence[Path]) -> list[Definition]:
    for each in files:
        allow_folder(each.resolve().parent)
    found = [each for file in files for each in load_file(file)]
    names = [each.name for each in found]
    if twice := sorted({each for each in names if names.count(each) > 1}):
        raise BadOption(f"two connectors have the name {twice[0]!r}", "Give each its own name.")
    return found
