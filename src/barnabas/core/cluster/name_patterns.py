"""Names that a link brings over: regular expressions of RE2, whose time is linear in the name."""

from collections.abc import Sequence

import re2

from barnabas.core.coordinator.pattern import Pattern
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.expressions import expression_problem
from barnabas.model.limits import LINK_PATTERN_MAX_BYTES, LINK_PATTERN_MAX_CHARS, LINK_PATTERNS_MAX


class NamePatterns:
    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._patterns = patterns

    @classmethod
    def of(cls, expressions: Sequence[str], setting: str) -> "NamePatterns":
        """`setting` is named where one cannot be used."""
        if len(expressions) > LINK_PATTERNS_MAX:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{setting}: {LINK_PATTERNS_MAX} expressions are the most")
        return cls([_compiled(text, setting) for text in expressions])

    def match(self, name: str) -> bool:
        return any(pattern.fullmatch(name) for pattern in self._patterns)


def _compiled(text: str, setting: str) -> Pattern:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = LINK_PATTERN_MAX_BYTES
    why = f"it is longer than {LINK_PATTERN_MAX_CHARS} characters"
    if len(text) <= LINK_PATTERN_MAX_CHARS:
        try:
            pattern: Pattern = re2.compile(text, options)
            return pattern
        except re2.error as problem:
            why = expression_problem(problem)
    raise KafkaError(ErrorCode.INVALID_CONFIG, f"{setting}: {text[:80]!r} is no regular expression: {why}")
