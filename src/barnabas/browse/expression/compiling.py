"""A tree becomes closures: a test of a record that only calls functions made here.

Values are compared as JSON has them: numbers with numbers, texts with texts; anything else is unequal and in no order.
What is missing equals null. A path with `[]`, or a header, has several values: a test holds when it holds for any of
them. `!=` is the opposite of `==`.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import re2

from barnabas.browse.expression.parser import parse
from barnabas.browse.expression.paths import along, along_each
from barnabas.browse.expression.picking import Pick, picker
from barnabas.browse.expression.subject import MISSING, Subject
from barnabas.browse.expression.tokens import BadExpression
from barnabas.browse.expression.tree import (
    And,
    Compare,
    Condition,
    Constant,
    Each,
    Fact,
    Field,
    Header,
    Length,
    Matches,
    Not,
    OneOf,
    Operand,
    Or,
    Present,
    Text,
    Truthy,
)
from barnabas.model.limits import PATTERN_MAX_BYTES

Test = Callable[[Subject], bool]
Values = Callable[[Subject], Sequence[object]]
Holds = Callable[[object, object], bool]

_NUMBERS = (int, float)


def compiled(text: str) -> Test:
    """The test that an expression means; BadExpression when it is none."""
    return test_of(parse(text))


def compiled_decoded(text: str) -> Test:
    """The same for subjects whose values are decoded already (`Subject.of_decoded`)."""
    return _guarded(_test(parse(text), None))


def test_of(condition: Condition) -> Test:
    pick = picker(condition)
    return _guarded(_test(condition, pick))


def _guarded(inner: Test) -> Test:
    def test(subject: Subject) -> bool:
        subject.picked = None
        try:
            return inner(subject)
        except RecursionError:  # two values of a thousand levels, compared
            return False

    return test


def regexp(pattern: str, position: int = 0) -> "re2._Regexp":
    """RE2's: it takes linear time whatever the pattern is. Texts are UTF-8; groups are not captured."""
    options = re2.Options()
    options.never_capture = True
    options.max_mem = PATTERN_MAX_BYTES
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except (re2.error, UnicodeEncodeError) as problem:
        told = problem.args[0] if problem.args else "not a regular expression"
        reason = told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)
        raise BadExpression(f"RE2 knows no regular expression {pattern[:60]!r}: {reason}", position) from None


# --- conditions -------------------------------------------------------------------------------------------------------


def _test(condition: Condition, pick: Pick | None) -> Test:
    match condition:
        case And(terms):
            tests = [_test(each, pick) for each in terms]
            return lambda subject: all(test(subject) for test in tests)
        case Or(terms):
            tests = [_test(each, pick) for each in terms]
            return lambda subject: any(test(subject) for test in tests)
        case Not(what):
            inner = _test(what, pick)
            return lambda subject: not inner(subject)
        case Compare(left, how, right):
            return _compare(left, how, right, pick)
        case OneOf(left, choices):
            values = _values(left, pick)
            return lambda subject: any(_equal(value, choice) for value in values(subject) for choice in choices)
        case Matches(left, pattern, position):
            return _matches(left, pattern, position, pick)
        case Present(what, not_null):
            values = _values(what, pick)
            if not_null:
                return lambda subject: any(value is not MISSING and value is not None for value in values(subject))
            return lambda subject: any(value is not MISSING for value in values(subject))
        case Truthy(what):
            values = _values(what, pick)
            return lambda subject: any(
                value is not MISSING and value is not None and value is not False for value in values(subject)
            )


def _compare(left: Operand, how: str, right: Operand, pick: Pick | None) -> Test:
    if how == "!=":
        equal = _compare(left, "==", right, pick)
        return lambda subject: not equal(subject)
    holds = _HOLDS[how]
    lefts, rights = _values(left, pick), _values(right, pick)
    if isinstance(right, Constant):
        return _compare_constant(lefts, holds, right.value)
    return lambda subject: any(holds(one, other) for one in lefts(subject) for other in rights(subject))


def _compare_constant(values: Values, holds: Holds, constant: object) -> Test:
    """The most usual test, without a generator: any() with one takes twice as long."""

    def test(subject: Subject) -> bool:
        for value in values(subject):  # noqa: SIM110
            if holds(value, constant):
                return True
        return False

    return test


def _matches(left: Operand, pattern: str, position: int, pick: Pick | None) -> Test:
    search = regexp(pattern, position).search
    if isinstance(left, Text):  # the bytes as they are, without a text in between
        if left.source == "value":
            return lambda subject: subject.value is not None and search(subject.value) is not None
        return lambda subject: subject.key is not None and search(subject.key) is not None
    values = _values(left, pick)

    def test(subject: Subject) -> bool:
        return any(
            isinstance(value, str) and search(value.encode("utf-8", "replace")) is not None for value in values(subject)
        )

    return test


def _equal(left: object, right: object) -> bool:
    if left.__class__ is right.__class__:
        return left == right
    if left is MISSING or right is MISSING:
        return left is None or right is None
    if left.__class__ is bool or right.__class__ is bool:
        return False
    return left == right


def _ordered(compare: Callable[[Any, Any], bool]) -> Holds:  # two texts or two numbers
    def holds(left: object, right: object) -> bool:
        if isinstance(left, str):
            return isinstance(right, str) and compare(left, right)
        numbers = isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS)
        return numbers and not isinstance(left, bool) and not isinstance(right, bool) and compare(left, right)

    return holds


def _contains(left: object, right: object) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right in left
    return isinstance(left, list) and any(_equal(each, right) for each in left)


_HOLDS: dict[str, Holds] = {
    "==": _equal,
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "contains": _contains,
    "startswith": lambda left, right: isinstance(left, str) and isinstance(right, str) and left.startswith(right),
    "endswith": lambda left, right: isinstance(left, str) and isinstance(right, str) and left.endswith(right),
}


# --- operands ---------------------------------------------------------------------------------------------------------


def _values(operand: Operand, pick: Pick | None) -> Values:
    """All that an operand stands for in a record; one MISSING where a path leads nowhere."""
    match operand:
        case Constant(value):
            constant = (value,)
            return lambda subject: constant
        case Text(source):
            return lambda subject: (subject.text(source),)
        case Header(name):
            return lambda subject: subject.header(name) or (MISSING,)
        case Fact(name):
            fact = operator.attrgetter(name)
            return lambda subject: (fact(subject),)
        case Length(of):
            inner = _values(of, pick)
            return lambda subject: [_length(value) for value in inner(subject)]
        case Field(source, steps):
            if source == "value" and pick is not None:
                return pick.values(steps)
            read = Subject.value_json if source == "value" else Subject.key_json
            if not any(isinstance(step, Each) for step in steps):
                return lambda subject: (along(read(subject), steps),)
            return lambda subject: along_each(read(subject), steps) or (MISSING,)


def _length(value: object) -> object:
    return len(value) if isinstance(value, str | list | dict) else MISSING
