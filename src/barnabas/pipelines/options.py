"""What the options of `format("barnabas")` share, for reading and for writing: names are compared in lower case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.nearest import nearest

ALMOST_THE_SAME = 0.85


def refuse_unknown(options: Mapping[str, str], known: Iterable[str], purpose: str = "") -> None:
    """`kafka.*` and `registry.*` are settings of clients, which others look at; `purpose` follows the name."""
    by_lower = {name.lower(): name for name in known}
    for name in options:
        if name.startswith(("kafka.", "registry.")) or name in by_lower:
            continue
        near = nearest(name, by_lower)
        hint = f": did you mean {by_lower[near]}?" if near else ""
        raise PipelineError(f"format barnabas has no option {name!r}{purpose}{hint}")


def refuse_not_yours(client: Mapping[str, str], why_not: Mapping[str, str]) -> None:
    """Settings of the client (`kafka.*`, without the prefix) that nobody may set here, each with its reason."""
    for name, why in why_not.items():
        if name in client:
            raise PipelineError(f"kafka.{name} cannot be set: {why}")


def refuse_misspelt(client: Mapping[str, str], used: Iterable[str]) -> None:
    """Of the client's settings (`kafka.*`, without the prefix) those that can only be a used one misspelt. Others may
    be any setting of a client, also one that has no effect here, so that a query can be moved without editing."""
    names = set(used)
    for name in client:
        near = nearest(name, names, ALMOST_THE_SAME)
        if name not in names and near is not None:
            raise PipelineError(f"there is no setting kafka.{name}: did you mean kafka.{near}?")


def flag(options: Mapping[str, str], name: str, default: bool) -> bool:
    text = options.get(name.lower(), str(default)).lower()
    if text not in ("true", "false"):
        raise PipelineError(f"{name} is true or false, not {text!r}")
    return text == "true"
