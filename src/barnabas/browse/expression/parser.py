"""The grammar: text to tree. Whatever it does not have is refused with the position.

condition  = and-terms joined by "or";  and-term = terms joined by "and";  term = "not" term | test
test       = "(" condition ")" | "has(" operand ")" | "exists(" operand ")"
           | operand [ "==" | "!=" | "<" | "<=" | ">" | ">=" | "contains" | "startswith" | "endswith" operand
                     | "~" text | "!~" text | "in [" literal, ... "]" ]
operand    = literal | path | ("key" | "value") [path] | "headers[" text "]"
           | "partition" | "offset" | "timestamp" | "length(" operand ")"
path       = steps of ".name", "." text, "[" number "]", "[" text "]", "[]";  "." alone is the whole value
literal    = text in quotes | number | "true" | "false" | "null"
"""

from datetime import UTC, datetime
from typing import cast

from barnabas.browse.expression.tokens import BadExpression, Token, tokens
from barnabas.browse.expression.tree import (
    And,
    Comparator,
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
    Scalar,
    Step,
    Text,
    Truthy,
)
from barnabas.model.limits import EXPRESSION_DEPTH_MAX, EXPRESSION_LIST_MAX, EXPRESSION_PATH_MAX

_COMPARATORS = frozenset({"==", "!=", "<", "<=", ">", ">=", "contains", "startswith", "endswith"})
_CONSTANTS: dict[str, Scalar] = {"true": True, "false": False, "null": None}
_OPERANDS = "a path (.name), key, value, headers, partition, offset, timestamp, length(...) or a literal"


def parse(text: str) -> Condition:
    """BadExpression when it is none."""
    parser = _Parser(tokens(text))
    if parser.next.kind == "end":
        raise BadExpression('the expression is empty; write something like .user.name == "ada"', 0)
    found = parser.condition()
    parser.end()
    return found


def parse_path(text: str) -> tuple[Step, ...]:
    """The path of a field of a value alone: `.user.name`, `.items[].card`."""
    parser = _Parser(tokens(text))
    if parser.next.text not in (".", "["):
        raise BadExpression("a path begins with a point, as in .user.name", parser.next.position)
    steps = parser.steps()
    parser.end()
    return steps


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0

    @property
    def next(self) -> Token:
        return self._tokens[self._at]

    def _advance(self) -> Token:
        token = self._tokens[self._at]
        self._at += token.kind != "end"
        return token

    def _take(self, text: str) -> bool:
        """Whether the next token is this sign or word, which is then taken."""
        token = self.next
        if token.text != text or token.kind not in ("sign", "name"):
            return False
        self._at += 1
        return True

    def _must(self, text: str, after: str) -> None:
        if not self._take(text):
            raise BadExpression(f"{text} is missing after {after}: found {self.next.shown()}", self.next.position)

    def end(self) -> None:
        if self.next.kind != "end":
            raise BadExpression(f"{self.next.shown()} does not belong here", self.next.position)

    # --- conditions -------------------------------------------------------------------------------------------------

    def condition(self) -> Condition:
        terms = [self._all()]
        while self._take("or"):
            terms.append(self._all())
        return terms[0] if len(terms) == 1 else Or(tuple(terms))

    def _all(self) -> Condition:
        terms = [self._term()]
        while self._take("and"):
            terms.append(self._term())
        return terms[0] if len(terms) == 1 else And(tuple(terms))

    def _term(self) -> Condition:
        self._depth += 1
        if self._depth > EXPRESSION_DEPTH_MAX:
            raise BadExpression(f"more than {EXPRESSION_DEPTH_MAX} brackets in each other", self.next.position)
        found = self._deeper_term()
        self._depth -= 1
        return found

    def _deeper_term(self) -> Condition:
        if self._take("not"):
            return Not(self._term())
        if self._take("("):
            found = self.condition()
            self._must(")", "the condition")
            return found
        for word in ("has", "exists"):
            if self._take(word):
                self._must("(", word)
                what = self._operand()
                self._must(")", "the path")
                return Present(what, not_null=word == "exists")
        return self._test()

    def _test(self) -> Condition:
        began = self.next.position
        left = self._operand()
        token = self.next
        if token.text in _COMPARATORS and token.kind in ("sign", "name"):
            self._advance()
            return self._compare(left, cast("Comparator", token.text), self.next.position)
        if self._take("~"):
            return self._matches(left)
        if self._take("!~"):
            return Not(self._matches(left))
        if self._take("in"):
            return OneOf(left, self._choices())
        if isinstance(left, Constant):
            raise BadExpression(f"a condition is missing: found only {self._tokens[self._at - 1].text}", began)
        return Truthy(left)

    def _compare(self, left: Operand, how: Comparator, position: int) -> Compare:
        right = self._operand()
        if isinstance(left, Fact) and left.name == "timestamp":
            right = _as_time(right, position)
        elif isinstance(right, Fact) and right.name == "timestamp":
            left = _as_time(left, position)
        return Compare(left, how, right)

    def _matches(self, left: Operand) -> Matches:
        token = self._advance()
        if token.kind != "text":
            raise BadExpression(f"a regular expression in quotes belongs behind ~, not {token.shown()}", token.position)
        return Matches(left, str(token.value), token.position)

    def _choices(self) -> tuple[Scalar, ...]:
        self._must("[", "in")
        choices: list[Scalar] = []
        while not self._take("]"):
            if choices:
                self._must(",", "a literal of the list")
            if len(choices) >= EXPRESSION_LIST_MAX:
                raise BadExpression(f"a list has at most {EXPRESSION_LIST_MAX} literals", self.next.position)
            token = self.next
            found = self._operand()
            if not isinstance(found, Constant):
                raise BadExpression(f"a list holds literals only: found {token.shown()}", token.position)
            choices.append(found.value)
        return tuple(choices)

    # --- operands ---------------------------------------------------------------------------------------------------

    def _operand(self) -> Operand:
        token = self.next
        if token.text in (".", "[") and token.kind == "sign":
            return Field("value", self.steps())
        self._advance()
        if token.kind in ("number", "text"):
            return Constant(token.value)
        if token.kind == "name":
            if token.text in _CONSTANTS:
                return Constant(_CONSTANTS[token.text])
            found = self._named(token)
            if found is not None:
                return found
            hint = f'; for a field of the value write .{token.text}, for a text "{token.text}"'
            raise BadExpression(f"{token.text} is not known{hint}", token.position)
        raise BadExpression(f"{token.shown()} where {_OPERANDS} belongs", token.position)

    def _named(self, token: Token) -> Operand | None:
        match token.text:
            case "key" | "value":
                return Field(token.text, self.steps()) if self._at_path() else Text(token.text)
            case "headers" | "header":
                self._must("[", token.text)
                name = self._advance()
                if name.kind != "text":
                    raise BadExpression('the name of a header belongs in quotes: headers["x"]', name.position)
                self._must("]", "the name of a header")
                return Header(str(name.value))
            case "partition" | "offset" | "timestamp":
                return Fact(token.text)
            case "length":
                self._must("(", "length")
                self._depth += 1
                if self._depth > EXPRESSION_DEPTH_MAX:
                    raise BadExpression(f"more than {EXPRESSION_DEPTH_MAX} brackets in each other", token.position)
                of = self._operand()
                self._depth -= 1
                self._must(")", "the path")
                return Length(of)
        return None

    def _at_path(self) -> bool:
        return self.next.kind == "sign" and self.next.text in (".", "[")

    def steps(self) -> tuple[Step, ...]:
        steps: list[Step] = []
        while self._at_path():
            if len(steps) >= EXPRESSION_PATH_MAX:
                raise BadExpression(f"a path has at most {EXPRESSION_PATH_MAX} steps", self.next.position)
            if self._take("."):
                token = self.next
                if token.kind in ("name", "text"):
                    self._advance()
                    steps.append(token.text if token.kind == "name" else str(token.value))
                elif token.kind == "number":
                    raise BadExpression(f"write [{token.text}] for an element of a list", token.position)
                elif token.text != "[" and (steps or token.text == "."):
                    raise BadExpression(f"a field's name belongs behind the point, not {token.shown()}", token.position)
            else:
                self._advance()
                steps.append(self._in_brackets())
        return tuple(steps)

    def _in_brackets(self) -> Step:
        if self._take("]"):
            return Each()
        token = self._advance()
        if token.kind == "text" or (token.kind == "number" and isinstance(token.value, int)):
            self._must("]", "an index")
            return cast("Step", token.value)
        raise BadExpression(f"a number, a name in quotes or nothing belongs in [], not {token.shown()}", token.position)


def _as_time(operand: Operand, position: int) -> Operand:
    """A time in quotes beside `timestamp` means its milliseconds; without a zone it is UTC."""
    if not isinstance(operand, Constant) or not isinstance(operand.value, str):
        return operand
    try:
        when = datetime.fromisoformat(operand.value)
        return Constant(round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000))
    except (ValueError, OverflowError):
        raise BadExpression(
            f"{operand.value[:40]!r} is not a time; write milliseconds or 2026-05-01T10:00", position
        ) from None
