"""What leaves on stdout: tables, JSON, colours.

Tables are drawn here and not by rich: importing rich costs more than the whole rest of `barnabas topic list`, and its
tables cut text to 80 columns when nobody is looking. On a terminal the flexible column is shortened to the width;
into a pipe nothing is ever cut and nothing is coloured (NO_COLOR is honoured, FORCE_COLOR too).
"""

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TextIO

_STYLES = {"dim": "2", "bold": "1", "green": "32", "yellow": "33", "red": "31", "cyan": "36", "blue": "34"}
_GAP = "  "
_COLUMN_MIN = 8  # a flexible column is never shortened below this: better a wrapped line than no text


class Column(NamedTuple):
    title: str
    right: bool = False
    flexible: bool = False
    style: str = ""


def coloured(stream: TextIO | None = None) -> bool:
    """Whether this stream wants colours."""
    if os.environ.get("FORCE_COLOR"):
        return True
    if "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb":
        return False
    return (stream or sys.stdout).isatty()


def paint(text: str, style: str, stream: TextIO | None = None) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and text and coloured(stream) else text


def say(text: str = "") -> None:
    """One line on stdout."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """One line on stderr: for people, never part of the output."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def quoted(text: str) -> str:
    """Text of unknown origin without control characters: a record must not drive the terminal that shows it."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else f"\\x{ord(char):02x}" for char in text)


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """Columns aligned under dim titles, two spaces apart."""
    lines = [[quoted(str(cell)) for cell in row] for row in rows]
    widths = [max([len(c.title), *(len(line[i]) for line in lines)]) for i, c in enumerate(columns)]
    if sys.stdout.isatty():
        _fit(columns, widths, shutil.get_terminal_size((80, 24)).columns)
    say(paint(_line(columns, widths, [c.title for c in columns]), "dim"))
    for line in lines:
        say(_line(columns, widths, line, styled=True))


def _fit(columns: Sequence[Column], widths: list[int], width: int) -> None:
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    flexible = sorted((i for i, c in enumerate(columns) if c.flexible), key=lambda i: -widths[i])
    for index in flexible:
        if over <= 0:
            return
        cut = min(over, max(0, widths[index] - _COLUMN_MIN))
        widths[index] -= cut
        over -= cut


def _line(columns: Sequence[Column], widths: Sequence[int], cells: Sequence[str], styled: bool = False) -> str:
    parts = []
    for index, (column, cell, width) in enumerate(zip(columns, cells, widths, strict=True)):
        text = cell if len(cell) <= width else cell[: width - 1] + "…"
        last = index == len(widths) - 1
        padded = text.rjust(width) if column.right else text if last else text.ljust(width)
        parts.append(paint(padded, column.style) if styled else padded)
    return _GAP.join(parts).rstrip()


def facts(pairs: Iterable[tuple[str, str]]) -> None:
    """`name  value` lines under each other, the names dim."""
    known = [(name, value) for name, value in pairs if value != ""]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        say(f"{paint(name.ljust(width), 'dim')}  {quoted(value)}")


def outcome(as_json: bool, result: object, text: str) -> None:
    """What a command did: a JSON document for programs, or one line for people."""
    if as_json:
        emit_json(result)
    else:
        say(text)


def emit_json(value: object) -> None:
    """One JSON document; dataclasses and named tuples as they are."""
    import msgspec

    say(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
