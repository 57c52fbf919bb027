r"""Java's .properties files, by the rules of java.util.Properties.load: `#` and `!` begin a comment, `=`, `:` or blanks
end a name, a line that ends in an odd number of backslashes goes on in the next, and \t \n \r \f \uXXXX are escapes;
before any other character a backslash is dropped. Nothing is an error: Java accepts every text.
"""

from collections.abc import Iterator

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> Iterator[tuple[str, str, int]]:
    """(name, value, line number) of each entry, in order; a later one of the same name counts more."""
    for line, number in _logical_lines(text):
        name_end = _end_of_name(line)
        rest = line[name_end:].lstrip(_BLANK)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_BLANK)
        yield _unescape(line[:name_end]), _unescape(rest), number


def _logical_lines(text: str) -> Iterator[tuple[str, int]]:
    pending, first = "", 0  # a line that goes on in the next
    for number, raw in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        line = raw.lstrip(_BLANK)
        if not pending:
            if not line or line[0] in "#!":
                continue
            first = number
        pending += line
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending = pending[:-1]
            continue
        yield pending, first
        pending = ""
    if pending:
        yield pending, first


def _end_of_name(line: str) -> int:
    position = 0
    while position < len(line):
        if line[position] == "\\":
            position += 2
        elif line[position] in "=:" or line[position] in _BLANK:
            return position
        else:
            position += 1
    return len(line)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        char = text[position]
        position += 1
        if char != "\\" or position >= len(text):
            out.append(char if char != "\\" else "")
            continue
        char = text[position]
        position += 1
        digits = text[position : position + 4]
        if char == "u" and len(digits) == 4 and all(digit in "0123456789abcdefABCDEF" for digit in digits):
            out.append(chr(int(digits, 16)))
            position += 4
        else:
            out.append(_ESCAPES.get(char, char))
    return "".join(out)
