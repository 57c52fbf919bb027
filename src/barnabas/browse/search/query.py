"""What is searched for, and how a batch is looked through for it without opening its records.

A finder has two parts. `next_place` gives the next position in the bytes of a batch where a match may be: necessary,
not sufficient, and fast (bytes.find, or RE2 on all the bytes at once). `matches` judges one record. A regular
expression is looked for without its anchors (`^`, `$`, `\\b` and so on), which mean the ends of a field and not those
of a batch; an expression by a literal that the record must hold.
"""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec
import re2

from barnabas.browse.expression.compiling import regexp, test_of
from barnabas.browse.expression.literals import Literals, necessary
from barnabas.browse.expression.parser import parse
from barnabas.browse.expression.subject import Subject
from barnabas.browse.expression.tokens import BadExpression
from barnabas.model.limits import SEARCH_PATTERN_MAX_CHARS
from barnabas.wire.records import Record as WireRecord
from barnabas.wire.varints import varint

Kind = Literal["key", "text", "regex", "expression"]
NOWHERE = -1


class Query(msgspec.Struct, frozen=True):
    """`key`: a record's key is exactly this. `text` and `regex`: somewhere in its key, value or the value of a header,
    or only in the key (`in_key`). `expression`: see barnabas.browse.expression. `data` is
    looked for in place of `pattern` where a key or a text has bytes that are no text."""

    kind: Kind
    pattern: str = ""
    ignore_case: bool = False
    in_key: bool = False
    data: bytes | None = None

    def as_bytes(self) -> bytes:
        return self.pattern.encode("utf-8", "replace") if self.data is None else self.data


class Finder(NamedTuple):
    """`next_place` is None where every record has to be looked at. `looks_ahead`: to find one place it may look through
    all the bytes behind it, as a pattern such as `a.*z` does."""

    next_place: Callable[[bytes, int], int] | None
    matches: Callable[[int, WireRecord], bool]
    looks_ahead: bool = False


def finder(query: Query) -> Finder:
    """BadExpression when the pattern or the expression is none."""
    if max(len(query.pattern), len(query.data or b"")) > SEARCH_PATTERN_MAX_CHARS:
        raise BadExpression(f"a pattern has at most {SEARCH_PATTERN_MAX_CHARS} characters", 0)
    match query.kind:
        case "key":
            return _by_key(query.as_bytes())
        case "text" if not query.ignore_case:
            return _by_text(query.as_bytes(), query.in_key)
        case "text":
            return _by_regex(f"(?i){re2.escape(query.pattern)}", query.in_key)
        case "regex":
            return _by_regex(f"(?i){query.pattern}" if query.ignore_case else query.pattern, query.in_key)
        case "expression":
            return _by_expression(query.pattern)


def _by_key(key: bytes) -> Finder:
    stored = varint(len(key)) + key  # as it stands in a record: behind its length
    return Finder(
        (lambda payload, position: payload.find(stored, position)) if key else None,
        lambda partition, record: record.key == key,
    )


def _by_text(text: bytes, in_key: bool) -> Finder:
    def matches(_: int, record: WireRecord) -> bool:
        if record.key is not None and text in record.key:
            return True
        if in_key:
            return False
        if record.value is not None and text in record.value:
            return True
        return any(value is not None and text in value for _, value in record.headers)

    return Finder((lambda payload, position: payload.find(text, position)) if text else None, matches)


def _by_regex(pattern: str, in_key: bool) -> Finder:
    search = regexp(pattern).search

    def matches(_: int, record: WireRecord) -> bool:
        if record.key is not None and search(record.key) is not None:
            return True
        if in_key:
            return False
        if record.value is not None and search(record.value) is not None:
            return True
        return any(value is not None and search(value) is not None for _, value in record.headers)

    return Finder(_places_of(without_anchors(pattern)), matches, looks_ahead=True)


def _by_expression(text: str) -> Finder:
    condition = parse(text)
    test = test_of(condition)
    subject = Subject(0, 0, 0, None, None, ())  # one for all: making it takes as long as decoding JSON

    def matches(partition: int, record: WireRecord) -> bool:
        subject.becomes(partition, record)
        return test(subject)

    return Finder(_places_of_literals(necessary(condition)), matches)


def _places_of(pattern: str) -> Callable[[bytes, int], int] | None:
    """Where the pattern begins to match; None when it matches everywhere."""
    search = regexp(pattern).search
    if search(b"") is not None:
        return None

    def next_place(payload: bytes, position: int) -> int:
        found = search(payload, position)
        return NOWHERE if found is None else found.start()

    return next_place


def _places_of_literals(literals: Literals | None) -> Callable[[bytes, int], int] | None:
    if literals is None:
        return None
    found = sorted(literals.any)
    if not found:
        return lambda payload, position: NOWHERE
    escape = literals.escape
    if len(found) == 1 and not escape:
        only = found[0]
        return lambda payload, position: payload.find(only, position)
    if len(found) == 1:
        return _literal_or_escape(found[0], escape)
    if escape:
        found.append(escape)
    return _places_of("|".join(re2.escape(each).decode() for each in found))


def _literal_or_escape(literal: bytes, escape: bytes) -> Callable[[bytes, int], int]:
    """Two searches by bytes.find are faster than one by RE2; most batches have neither."""

    def next_place(payload: bytes, position: int) -> int:
        escaped = payload.find(escape, position)
        found = payload.find(literal, position, len(payload) if escaped < 0 else escaped + len(escape))
        return found if found >= 0 else escaped

    return next_place


_PIECES = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]|[\^$]|[^\\\[\^$]+|.", re.DOTALL)
_ANCHORS = frozenset({"^", "$", "\\b", "\\B", "\\A", "\\z"})


def without_anchors(pattern: str) -> str:
    """The same regular expression without what has no width: it matches wherever the pattern does, and elsewhere."""
    return "".join("(?:)" if piece in _ANCHORS else piece for piece in _PIECES.findall(pattern))
