"""Bytes that a record must hold for an expression to be true of it: what a search looks for before it decodes anything.

A JSON text may be written with escapes (`\\u0061` for a), so for a literal inside JSON an escape counts as a possible
place too. None: nothing is certain, every record has to be looked at.
"""

from dataclasses import dataclass

from barnabas.browse.expression.tree import (
    And,
    Compare,
    Condition,
    Constant,
    Field,
    Header,
    Length,
    Matches,
    Not,
    OneOf,
    Operand,
    Or,
    Present,
    Scalar,
    Text,
    Truthy,
)

_TELLING = 3  # bytes; shorter ones are everywhere
_NEVER = 1 << 30  # the rarity of what no record has
_REPLACED = "\ufffd"  # what bytes that are no UTF-8 become: it is not in the record


@dataclass(frozen=True, slots=True)
class Literals:
    """At least one of `any` occurs, or, where `escaped`, the beginning of an escape does."""

    any: frozenset[bytes]
    escaped: bool
    names: bool = False  # of fields: most records have them

    @property
    def escape(self) -> bytes:
        """How an escape begins that could stand for a part of a literal; empty where there are none. Other characters
        than these have no shorter one than \\u."""
        if not self.escaped:
            return b""
        short = any(byte < 0x20 or byte in b'"\\\\/' for each in self.any for byte in each)
        return b"\\" if short else b"\\u"

    @property
    def rarity(self) -> tuple[bool, int]:
        """A value is rarer than a name, a long one rarer than a short one."""
        shortest = min((len(each) for each in self.any), default=_NEVER)
        return shortest >= _TELLING and not self.names, shortest


def necessary(condition: Condition) -> Literals | None:
    match condition:
        case And(terms):
            known = [found for each in terms if (found := necessary(each)) is not None]
            return max(known, key=lambda each: each.rarity, default=None)
        case Or(terms):
            return _union([necessary(each) for each in terms])
        case Compare(left, how, right):
            return _of_compare(left, how, right)
        case OneOf(left, choices):
            if None in choices:
                return None
            return _union([_of_value(left, each) for each in choices]) if choices else Literals(frozenset(), False)
        case Matches(left, _, _) | Present(left, _) | Truthy(left):
            return _of_path(left)
        case Not(_):
            return None


def _of_compare(left: Operand, how: str, right: Operand) -> Literals | None:
    if how == "!=":
        return None
    if isinstance(left, Constant) and not isinstance(right, Constant) and how == "==":
        left, right = right, left
    if not isinstance(right, Constant):
        if how == "==":  # both may be missing, and null equals null
            return None
        # A list may contain null, and what is missing equals null.
        return _of_path(left) if how == "contains" else _best([_of_path(left), _of_path(right)])
    if right.value is None:
        return None
    if how in ("==", "contains", "startswith", "endswith"):
        return _of_value(left, right.value)
    return _of_path(left)


def _of_value(operand: Operand, value: Scalar) -> Literals | None:
    """Of an operand that equals, or contains, this literal."""
    if isinstance(value, str) and value and _REPLACED not in value and isinstance(operand, Field | Text | Header):
        literal = value.encode("utf-8", "surrogatepass")
        return _best([Literals(frozenset({literal}), isinstance(operand, Field)), _of_path(operand)])
    return _of_path(operand)


def _of_path(operand: Operand) -> Literals | None:
    """Of an operand that is there: the names on its path."""
    match operand:
        case Field(_, steps):
            names = [step.encode("utf-8", "surrogatepass") for step in steps if isinstance(step, str) and step]
            return Literals(frozenset({max(names, key=len)}), True, True) if names else None
        case Header(name):
            return Literals(frozenset({name.encode("utf-8", "surrogatepass")}), False, True) if name else None
        case Length(of):
            return _of_path(of)
        case _:
            return None


def _best(found: list[Literals | None]) -> Literals | None:
    return max((each for each in found if each is not None), key=lambda each: each.rarity, default=None)


def _union(found: list[Literals | None]) -> Literals | None:
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    return Literals(
        frozenset().union(*(each.any for each in known)),
        any(each.escaped for each in known),
        any(each.names for each in known),
    )
