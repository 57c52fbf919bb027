"""The name that was probably meant, for an error about one that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from barnabas.pipelines.errors import PipelineError

ALMOST_THE_SAME = 0.85


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    found = difflib.get_close_matches(name, sorted(known), 1, cutoff)
    return found[0] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ " Did you mean 'orders'?", or nothing."""
    near = nearest(name, known)
    return f" Did you mean {near!r}?" if near is not None else ""


def refuse_misspelt(client: Mapping[str, str], used: Iterable[str]) -> None:
    """Of the client's settings (`kafka.*`, without the prefix) those that can only be a used one misspelt. Others may
    be any setting of a client, also one that has no effect here, so that a query can be moved without editing."""
    names = set(used)
    for name in client:
        near = nearest(name, names, ALMOST_THE_SAME)
        if name not in names and near is not None:
            raise PipelineError(f"there is no setting kafka.{name}: did you mean kafka.{near}?")
