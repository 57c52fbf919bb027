"""Writes docs/cli.md from the commands themselves: `python tools/cli_page.py`. A test compares the two.

The page is the help of every command, as `barnabas COMMAND --help` prints it at 100 columns, in one place to read and
to search.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
COLUMNS = 100

HEAD = """# The command line

Made by `tools/cli_page.py` from the commands themselves; a test compares this page with them.

Every command takes `--help`. Commands that speak to a cluster take `--bootstrap` (`-b`), or the environment variable
`BARNABAS_BOOTSTRAP`, and else try 127.0.0.1:9092. Commands that list, show or change something take `--json` (or
`-o json`). Into a pipe nothing is coloured, cut or drawn: only the output goes to stdout, and notes for people go to
stderr. `NO_COLOR` is honoured.

Exit codes: 0 done, 1 failed (one line on stderr says why and what to do), 2 used wrongly, 130 stopped by Ctrl-C.
`BARNABAS_TRACE=1` shows where an error came from.

Completion for bash, zsh, fish and PowerShell: `barnabas --install-completion`.

## Places in a topic

`--from`, `--to` and `group reset --to` understand:

| words | place |
|---|---|
| `beginning`, `end` | the first record kept; where the next record will go |
| `1200` | an offset (`offset:1200` when it has 13 digits) |
| `-50` | fifty records before the end, in each partition |
| `-5m`, `2h ago`, `1d` | that long ago: `ms`, `s`, `m`, `h`, `d`, `w`, or the words |
| `2026-05-01T10:00`, `10:30`, `today`, `yesterday` | a time; local unless it says `Z` or an offset |
| `1777630000000` | milliseconds since 1970, as Kafka counts |

"""


def page() -> str:
    os.environ["COLUMNS"] = str(COLUMNS)  # help is drawn to the width of the terminal; the page has one width
    os.environ.pop("BARNABAS_BOOTSTRAP", None)
    import typer.main

    from barnabas.cli.app import app

    root = typer.main.get_command(app)
    parts = [HEAD]
    for path, context, depth in walk(root, "barnabas", None, 1):
        text = "\n".join(line.rstrip() for line in context.command.get_help(context).strip().splitlines())
        parts.append(f"{'#' * (depth + 1)} {path}\n\n```text\n{text}\n```\n\n")
    return "".join(parts).rstrip() + "\n"


def walk(command: Any, path: str, parent: Any, depth: int) -> Iterator[tuple[str, Any, int]]:
    """Every command with its context, in the order of the help."""
    name = path if parent is None else path.rpartition(" ")[2]
    context = command.context_class(command, info_name=name, parent=parent, **command.context_settings)
    yield path, context, depth
    for child in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from walk(command.get_command(context, child), f"{path} {child}", context, min(depth + 1, 3))


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.stdout.write(f"wrote {PAGE.name}\n")
