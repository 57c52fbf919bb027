"""Whether the name of a property matches a pattern of patternProperties. A regular expression of a stranger can take
for ever, so only simple ones are tried; of the others it is not known."""

from __future__ import annotations

import re

_SIMPLE = re.compile(
    r"\^?(?:[\w \-:@/]|\\[dws.\-]|\.(?![*+])|\[[\w \-.:]+\])*(?:(?<=[\]\w.])[*+])?\$?|\^?\.[*+]\$?", re.ASCII
)
_PATTERN_MAX = 200


def matches(pattern: str, name: str) -> bool | None:
    """None: not known. A simple pattern repeats one character at its end at most: that takes linear time for each
    place of the name where it may begin."""
    if len(pattern) > _PATTERN_MAX or len(name) > _PATTERN_MAX or not _SIMPLE.fullmatch(pattern):
        return None
    try:
        return re.search(pattern, name, re.ASCII) is not None
    except re.error:  # such as [z-a]
        return None
