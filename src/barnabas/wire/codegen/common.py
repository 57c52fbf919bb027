"""What the two code generators share: a growing function, names that never clash, runs of fixed-size fields.

The source they make is built only from our own schema files (field names, numbers, struct letters) and never from
anything received, which is why running it with `exec` is safe; codec.py does that in one place.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, TypeAlias, cast

from barnabas.wire.schema import FIXED_BYTES

Compiled: TypeAlias = Callable[..., Any]  # the schema decides what it takes and gives


class Source:
    """Lines of one function, with its indentation, its constants and its private names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.constants: dict[str, object] = {}
        self._names = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def name(self, stem: str) -> str:
        self._names += 1
        return f"{stem}_{self._names}"

    def constant(self, stem: str, value: object) -> str:
        for name, known in self.constants.items():
            if known is value:
                return name
        name = self.name(stem)
        self.constants[name] = value
        return name

    def compile(self, signature: str, label: str) -> Compiled:
        text = "\n".join([f"def {signature}:", *self.lines])
        namespace = dict(self.constants)
        exec(compile(text, label, "exec"), namespace)  # noqa: S102 - our own schema files are its only source
        return cast(Compiled, namespace[signature.partition("(")[0]])


class FixedRun:
    """Fields of known size that stand side by side, packed or unpacked by one call."""

    def __init__(self) -> None:
        self.letters: list[str] = []
        self.values: list[str] = []

    def add(self, letter: str, value: str) -> None:
        self.letters.append(letter)
        if letter != "x":
            self.values.append(value)

    def take(self) -> tuple[str, list[str], int]:
        """(struct format, the values, bytes) of the run, which is empty afterwards."""
        result = ">" + "".join(self.letters), self.values, sum(FIXED_BYTES[letter] for letter in self.letters)
        self.letters, self.values = [], []
        return result


_structs: dict[str, Struct] = {}


def struct_of(format_: str) -> Struct:
    """One Struct a format, shared by all compiled functions."""
    return _structs.setdefault(format_, Struct(format_))
