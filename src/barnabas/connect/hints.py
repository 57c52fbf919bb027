"""The way out for a misspelt word."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def hint(word: object, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(str(word), names, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(names)}."
