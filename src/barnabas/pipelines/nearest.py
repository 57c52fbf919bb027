"""The name that was probably meant, for an error about one that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    found = difflib.get_close_matches(name, sorted(known), 1, cutoff)
    return found[0] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ " Did you mean 'orders'?", or nothing."""
    near = nearest(name, known)
    return f" Did you mean {near!r}?" if near is not None else ""
