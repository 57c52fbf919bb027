"""Events of several lines: where one begins, and where it is cut."""

from __future__ import annotations

import msgspec

from barnabas.connect.connectors.logs.grok import compile_regexp
from barnabas.connect.errors import BadOption

# What continues an event of Java: lines with space before them, causes, how many frames were left out, nothing.
_NAMED = {
    "java": r"^(?:\s|$|Caused by:|Suppressed:|\.\.\. \d+ |[\w.$]+(?:Exception|Error)(?:: |$))",
    "indented": r"^\s",
}


class Multiline(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The option `multiline`: how first lines look (`first`), or those that go on (`more`; also one of the names)."""

    first: str = ""
    more: str = ""
    lines: int = 500
    bytes: int = 1024 * 1024
    timeout_s: float = 5.0


def named_multiline(given: str | Multiline) -> Multiline:
    if isinstance(given, Multiline):
        if bool(given.first) == bool(given.more):
            raise BadOption("option 'multiline' of logs: give either 'first' or 'more'")
        if given.lines < 1 or given.bytes < 1 or given.timeout_s <= 0:
            raise BadOption("option 'multiline' of logs: 'lines', 'bytes' and 'timeout_s' are more than 0")
        return msgspec.structs.replace(
            given, first=_NAMED.get(given.first, given.first), more=_NAMED.get(given.more, given.more)
        )
    if given not in _NAMED:
        raise BadOption(f"option 'multiline' of logs: there is no {given!r}", f"There are: {', '.join(_NAMED)}")
    return Multiline(more=_NAMED[given])


class Joiner:
    """Joins the lines of an event. Lines come in with what they take in the file; events go out with the same. One
    whose end is not known yet is kept, and the position stays before it."""

    def __init__(self, rule: Multiline) -> None:
        self._rule = rule
        self.timeout_s = rule.timeout_s
        self._begins = bool(rule.first)
        self._regexp = compile_regexp(rule.first or rule.more, "multiline")
        self._lines: list[bytes] = []
        self._bytes = 0
        self._size = 0

    def __bool__(self) -> bool:
        """Whether an event is kept."""
        return bool(self._lines)

    def add(self, lines: list[bytes], sizes: list[int]) -> tuple[list[bytes], list[int]]:
        """The events that are complete by these lines, and the bytes that each takes in the file."""
        events: list[bytes] = []
        taken: list[int] = []
        search, begins, rule = self._regexp.search, self._begins, self._rule
        for line, size in zip(lines, sizes, strict=True):
            first = (search(line) is not None) == begins
            full = len(self._lines) >= rule.lines or self._bytes + len(line) >= rule.bytes
            if self._lines and (first or full):
                self._out(events, taken)
            self._lines.append(line)
            self._bytes += len(line) + 1
            self._size += size
        return events, taken

    def flush(self) -> tuple[list[bytes], list[int]]:
        events: list[bytes] = []
        taken: list[int] = []
        if self._lines:
            self._out(events, taken)
        return events, taken

    def _out(self, events: list[bytes], taken: list[int]) -> None:
        events.append(b"\n".join(self._lines))
        taken.append(self._size)
        self._lines, self._bytes, self._size = [], 0, 0
