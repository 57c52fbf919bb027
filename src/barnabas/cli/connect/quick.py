"""`connect run` and `connect worker` as they are mostly called, without typer: a worker runs for long, and typer with
what it imports would be a fifth of its memory and of its start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

_BOOTSTRAP = ("--bootstrap", "--bootstrap-server", "-b")


def quick(arguments: Sequence[str]) -> Callable[[], None] | None:
    """What the command does, or None: then typer has to look at it."""
    files: list[Path] = []
    bootstrap = None
    words = iter(arguments[1:])
    for word in words:
        flag, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if flag in _BOOTSTRAP:
            text = value if equals else next(words, None)
            if not text or text.startswith("-"):
                return None
            bootstrap = text
        elif word.startswith("-") or not word:
            return None
        else:
            files.append(Path(word))
    if arguments[:1] == ["run"] and files:
        return lambda: _run(files, bootstrap)
    if arguments[:1] == ["worker"] and not files:
        return lambda: _work(bootstrap)
    return None


def _run(files: list[Path], bootstrap: str | None) -> None:
    from barnabas.cli.connect.files import loaded
    from barnabas.cli.connect.problems import told_in_one_line
    from barnabas.cli.connect.running import run_definitions
    from barnabas.client.common.connection import bootstrap_or_default

    with told_in_one_line():
        run_definitions(bootstrap_or_default(bootstrap), loaded(files))


def _work(bootstrap: str | None) -> None:
    from barnabas.cli.connect.problems import told_in_one_line
    from barnabas.cli.connect.running import run_added
    from barnabas.client.common.connection import bootstrap_or_default

    with told_in_one_line():
        run_added(bootstrap_or_default(bootstrap))
