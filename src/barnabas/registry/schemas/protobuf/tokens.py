"""The words of a .proto file, one at a time, and the one place that says where in the text an error is.

One regular expression matches white space, comments and the next token. Its quantifiers are possessive, so that no text
makes it go back; the text is read once, from the front to the end.
"""

from __future__ import annotations

import re
from typing import NoReturn

from barnabas.model.limits import SCHEMA_NODES_MAX
from barnabas.registry.schemas.parsed import InvalidSchema

_TOKEN = re.compile(
    r"""
    (?: \s++ | //[^\n]*+ | /\*(?: [^*]++ | \*(?!/) )*+\*/ )*+
    (?: (?P<name> [A-Za-z_]\w*+ )
      | (?P<number> (?: 0[xX][0-9a-fA-F]++ | \d++(?:\.\d*+)?(?:[eE][+-]?\d++)?[fF]? | \.\d++(?:[eE][+-]?\d++)?[fF]? ) )
      | (?P<string> "(?: [^"\\\n]++ | \\. )*+" | '(?: [^'\\\n]++ | \\. )*+' )
      | (?P<symbol> [^\s\w] )
      | (?P<end> \Z )
      | (?P<other> . )
    )""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_LETTERS = {
    b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v",
    b"\\": b"\\", b"'": b"'", b'"': b'"', b"?": b"?",
}  # fmt: skip
_SHOWN_MAX = 40  # characters of a token in an error
NAME_MAX = 256  # characters of one name; people's are a tenth of it


class Budget:
    """How many nodes a schema and all that it refers to may still have."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = SCHEMA_NODES_MAX

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise InvalidSchema(f"the schema has more than {SCHEMA_NODES_MAX:,} types, fields and options")


class Tokens:
    """`kind` and `text` are those of the next token, which `take` and `take_...` go past."""

    __slots__ = ("_end", "_source", "_start", "budget", "custom_options", "kind", "text")

    def __init__(self, source: str, budget: Budget) -> None:
        self._source = source
        self.budget = budget
        self.custom_options = False  # whether an option named an extension so far
        self._start = self._end = 0
        self.kind, self.text = "", ""
        self.take()

    def take(self) -> str:
        taken = self.text
        found = _TOKEN.match(self._source, self._end)
        assert found is not None and found.lastgroup is not None  # `other` and `end` match anything
        kind = found.lastgroup
        self.kind, self.text = kind, found[kind]
        self._start, self._end = found.span(kind)
        return taken

    def fail(self, message: str) -> NoReturn:
        raise InvalidSchema(f"{self.where()}: {message}")

    def where(self) -> str:
        before = self._source[: self._start]
        return f"line {before.count(chr(10)) + 1}, column {self._start - before.rfind(chr(10))}"

    def unexpected(self, wanted: str) -> NoReturn:
        if self.kind == "end":
            self.fail(f"expected {wanted}, but the text ends")
        if self.text == "/" and self._source.startswith("/*", self._start):
            self.fail("this comment does not end")
        if self.text in ('"', "'"):
            self.fail("this string does not end")
        shown = self.text if len(self.text) <= _SHOWN_MAX else self.text[:_SHOWN_MAX] + "..."
        self.fail(f"expected {wanted}, found {shown!r}")

    def at(self, text: str) -> bool:
        return self.text == text and self.kind != "string"

    def take_if(self, text: str) -> bool:
        if self.text == text and self.kind != "string":
            self.take()
            return True
        return False

    def expect(self, text: str) -> None:
        if self.text != text or self.kind == "string":
            self.unexpected(repr(text))
        self.take()

    def take_name(self, what: str = "a name") -> str:
        if self.kind != "name":
            self.unexpected(what)
        if len(self.text) > NAME_MAX:
            self.fail(f"a name of {len(self.text):,} characters; {NAME_MAX} are allowed")
        return self.take()

    def take_path(self, what: str = "a type") -> str:
        """A name with dots, which may start with one."""
        parts = [self.take()] if self.at(".") else []
        parts.append(self.take_name(what))
        length = len(parts[-1])
        while self.at("."):
            parts.append(self.take())
            parts.append(self.take_name("a name after the dot"))
            length += len(parts[-1]) + 1
            if length > 2 * NAME_MAX:
                self.fail(f"a name of more than {2 * NAME_MAX} characters")
        return "".join(parts)

    def take_integer(self, what: str, low: int, high: int) -> int:
        negative = low < 0 and self.take_if("-")
        if self.kind != "number":
            self.unexpected(what)
        value = integer(self.text)
        if value is None:
            self.fail(f"expected {what}, found {self.text[:_SHOWN_MAX]!r}")
        value = -value if negative else value
        if not low <= value <= high:
            self.fail(f"{what} has to be from {low} to {high}")
        self.take()
        return value

    def take_string(self, what: str = "a string in quotes") -> bytes:
        if self.kind != "string":
            self.unexpected(what)
        parts = []
        while self.kind == "string":
            parts.append(self._unescaped(self.text[1:-1]))
            self.take()
        return b"".join(parts)

    def take_text(self, what: str) -> str:
        try:
            return self.take_string(what).decode()
        except UnicodeDecodeError:
            self.fail(f"{what} is not UTF-8")

    def _unescaped(self, text: str) -> bytes:
        try:
            raw = text.encode()
        except UnicodeEncodeError:
            self.fail("half of a surrogate pair in a string")
        return _ESCAPE.sub(self._escape, raw) if b"\\" in raw else raw

    def _escape(self, found: re.Match[bytes]) -> bytes:
        octal, hexadecimal, short, long, letter = found.groups()
        if octal is not None:
            return bytes((int(octal, 8) & 0xFF,))
        if hexadecimal is not None:
            return bytes((int(hexadecimal, 16),))
        if letter is not None:
            if letter not in _LETTERS:
                self.fail(f"unknown escape \\{letter.decode('latin-1')} in a string")
            return _LETTERS[letter]
        point = int(short or long, 16)
        if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
            self.fail("an escape in a string is no character of Unicode")
        return chr(point).encode()


def integer(text: str) -> int | None:
    """Decimal, hexadecimal or octal, as C has them; nothing where the text is none of them or longer than any."""
    if len(text) > 32:
        return None
    try:
        if text[:2] in ("0x", "0X"):
            return int(text, 16)
        if len(text) > 1 and text[0] == "0":
            return int(text, 8)
        return int(text)
    except ValueError:
        return None
