"""An expression's text cut into tokens, each with its position; a character that belongs to none is refused."""

import re
from typing import Literal, NamedTuple

import msgspec

from barnabas.model.limits import EXPRESSION_MAX_CHARS

Kind = Literal["name", "number", "text", "sign", "end"]

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>-?\d{1,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,3})?(?![\w.]))
      | (?P<name>[^\W\d]\w*)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<sign>==|!=|<=|>=|!~|[<>~.,()\[\]])
    )""",
    re.VERBOSE | re.DOTALL,
)
_BLANK = re.compile(r"\s*")


class BadExpression(ValueError):
    """What is wrong, and where: `position` counts characters from 0."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(f"{reason} (at character {position + 1})")
        self.reason = reason
        self.position = position


class Token(NamedTuple):
    kind: Kind
    text: str
    position: int
    value: str | int | float = ""  # of a number or a text

    def shown(self) -> str:
        return "the end" if self.kind == "end" else self.text


def tokens(text: str) -> list[Token]:
    if len(text) > EXPRESSION_MAX_CHARS:
        raise BadExpression(f"an expression has at most {EXPRESSION_MAX_CHARS} characters, not {len(text)}", 0)
    found: list[Token] = []
    position = 0
    while True:
        start = _blank_end(text, position)
        if start == len(text):
            return [*found, Token("end", "", start)]
        match = _TOKEN.match(text, position)
        if match is None:
            raise BadExpression(_why(text[start]), start)
        found.append(_token(match, start))
        position = match.end()


def _blank_end(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _token(match: "re.Match[str]", start: int) -> Token:
    if (number := match["number"]) is not None:
        whole = number.lstrip("-").isdigit()
        return Token("number", number, start, int(number) if whole else float(number))
    if (name := match["name"]) is not None:
        return Token("name", name, start)
    if (quoted := match["text"]) is not None:
        return Token("text", quoted, start, _unquoted(quoted, start))
    return Token("sign", match["sign"], start)


def _unquoted(quoted: str, start: int) -> str:
    """As JSON has it; in single quotes the double ones need no backslash."""
    inner = quoted[1:-1]
    if "\\" not in inner:
        return inner
    if quoted[0] == "'":
        inner = re.sub(r'\\.|"', _in_double_quotes, inner, flags=re.DOTALL)
    try:
        return msgspec.json.decode(f'"{inner}"'.encode(), type=str)
    except (msgspec.DecodeError, UnicodeEncodeError):
        raise BadExpression(f"{quoted} has an escape that JSON has not; write \\\\ for a backslash", start) from None


def _in_double_quotes(match: "re.Match[str]") -> str:
    return {"\\'": "'", '"': '\\"'}.get(match[0], match[0])


def _why(character: str) -> str:
    if character in "\"'":
        return "a text without its closing quote"
    if character == "=":
        return "= is not known; write == to compare"
    if character in "&|!":
        return f"{character} is not known; write and, or, not"
    return f"{character!r} is not known"
