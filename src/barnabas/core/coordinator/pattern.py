"""A compiled regular expression of RE2, whose package has no types."""

from typing import Protocol


class Pattern(Protocol):
    def fullmatch(self, text: str) -> object | None: ...
