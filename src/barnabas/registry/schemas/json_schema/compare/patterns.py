"""Whether the name of a property matches a pattern of patternProperties. A regular expression of a stranger can take
for ever, so only simple ones are tried; of the others it is not known."""

from __future__ import annotations

import re

_SIMPLE = re.compile(
    r"\^?(?:[\w \-:@/]|\\[dws.\-]|\.(?![*+])|\[[\w \-.:]+\])*(?:(?<=[\]\w.])[*+])?\$?|\^?\.[*+]\$?", re.ASCII
)
_LENGTH_MAX = 200


class Patterns:
    """Those of one comparison: a pattern is looked at once."""

    def __init__(self) -> None:
        self._known: dict[str, re.Pattern[str] | None] = {}

    def matches(self, pattern: str, name: str) -> bool | None:
        """None: not known. A simple pattern repeats one character at its end at most: that takes linear time for each
        place of the name where it may begin."""
        if pattern not in self._known:
            self._known[pattern] = _simple(pattern)
        simple = self._known[pattern]
        return None if simple is None or len(name) > _LENGTH_MAX else simple.search(name) is not None


def _simple(pattern: str) -> re.Pattern[str] | None:
    if len(pattern) > _LENGTH_MAX or not _SIMPLE.fullmatch(pattern):
        return None
    try:
        return re.compile(pattern, re.ASCII)
    except re.error:  # such as [z-a]
        return None
