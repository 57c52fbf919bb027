"""JSON as the texts of schemas are written in it: read within the limits, written as Confluent's registry writes it.

Written means: no white space, the order of keys as it is, characters beyond ASCII as they are, and numbers as Java
prints them. The text of a schema is its identity (the same text has the same id), so a schema that moves here from
Confluent's registry has to keep its text.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import NoReturn

from barnabas.model import limits
from barnabas.model.json_values import Json
from barnabas.registry.schemas.parsed import InvalidSchema

# A string or comment that does not end ends with the text: what begins one is looked at once.
_COMMENT = re.compile(r"""("[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z))|/\*.*?(?:\*/|\Z)|//[^\n]*""", re.DOTALL)
_CONTROL = re.compile(r"\\u[0-9a-f]{4}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class TextReader:
    """Reads the texts of one schema and of all that it refers to, and counts what they hold."""

    def __init__(self) -> None:
        self._nodes = self._bytes = 0

    def read(self, text: str, name: str = "", *, comments: bool = False, exact: bool = False) -> Json:
        """The value of a JSON text; `name` is that of the reference whose text it is. `comments`: Avro's parser in
        Java takes them, so registered schemas have them. `exact`: numbers with a fraction are decimals, written as
        they were, as Confluent keeps those of JSON Schema."""
        where = f"reference {name!r}: " if name else ""
        self._count_bytes(text, where)
        try:
            value = self._decoded(text, comments, _EXACT if exact else _DECODER)
        except RecursionError:
            raise InvalidSchema(f"{where}{_too_deep()}") from None
        except json.JSONDecodeError as error:
            raise InvalidSchema(f"{where}not JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
        except ValueError as error:
            raise InvalidSchema(f"{where}not JSON: {error}") from None
        self._count_nodes(value, where)
        if _SURROGATE.search(text) and not _is_unicode(written(value)):
            raise InvalidSchema(f"{where}half of a surrogate pair is no character")
        return value

    @staticmethod
    def _decoded(text: str, comments: bool, decoder: json.JSONDecoder) -> Json:
        try:
            return decoder.decode(text)
        except json.JSONDecodeError:
            if not comments or ("/*" not in text and "//" not in text):
                raise
            return decoder.decode(_COMMENT.sub(lambda found: found[1] or " ", text))

    def _count_bytes(self, text: str, where: str) -> None:
        if len(text) > limits.SCHEMA_MAX_BYTES:  # before it is encoded
            raise InvalidSchema(f"{where}{_too_long()}")
        if not _is_unicode(text):
            raise InvalidSchema(f"{where}half of a surrogate pair is no character")
        size = len(text.encode())
        self._bytes += size
        if size > limits.SCHEMA_MAX_BYTES:
            raise InvalidSchema(f"{where}{_too_long()}")
        if self._bytes > limits.SCHEMA_TOTAL_MAX_BYTES:
            raise InvalidSchema(f"schema and references have more than {limits.SCHEMA_TOTAL_MAX_BYTES:,} bytes")

    def _count_nodes(self, value: Json, where: str) -> None:
        level, depth = [value], 0
        while level:
            depth += 1
            self._nodes += len(level)
            if self._nodes > limits.SCHEMA_NODES_MAX:
                raise InvalidSchema(f"schema and references have more than {limits.SCHEMA_NODES_MAX:,} values")
            if depth > limits.SCHEMA_NESTING_MAX:
                raise InvalidSchema(f"{where}{_too_deep()}")
            below: list[Json] = []
            for each in level:
                if type(each) is dict:
                    below.extend(each.values())
                elif type(each) is list:
                    below.extend(each)
            level = below


def written(value: Json) -> str:
    """The text of a value, as Jackson writes it."""
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int | Decimal):
        return str(value)  # of a decimal as Java's BigDecimal.toString
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, list):
        return f"[{','.join(written(each) for each in value)}]"
    return "{" + ",".join(f"{quoted(key)}:{written(each)}" for key, each in value.items()) + "}"


def quoted(text: str) -> str:
    result = json.dumps(text, ensure_ascii=False)
    # Java's hexadecimal digits are capitals.
    return _CONTROL.sub(lambda found: "\\u" + found[0][2:].upper(), result) if "\\u" in result else result


def java_double(number: float) -> str:
    """As Java prints a double: a fraction always, an exponent below a thousandth and from ten million on."""
    if number != number or number in (float("inf"), float("-inf")):
        return '"NaN"' if number != number else '"Infinity"' if number > 0 else '"-Infinity"'
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    digits, _, exponent = f"{number!r}".lower().partition("e")
    sign, digits = ("-", digits[1:]) if digits[0] == "-" else ("", digits)
    whole, _, fraction = digits.partition(".")
    power = int(exponent or 0) + len(whole) - 1
    figures = whole + fraction
    leading = len(figures) - len(figures.lstrip("0"))
    power, figures = power - leading, figures[leading:].rstrip("0")
    return f"{sign}{figures[0]}.{figures[1:] or '0'}E{power}"


def sorted_keys(value: Json) -> Json:
    """The value with the keys of its objects in order, at any depth."""
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(each) for each in value] if isinstance(value, list) else value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _float(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{digits[:40]} is beyond a double")
    return number


def _decimal(digits: str) -> Decimal:
    if len(digits) > _DIGITS_MAX:
        raise ValueError(f"{digits[:40]}... has more than {_DIGITS_MAX} digits")
    number = Decimal(digits)
    if number and not _SMALLEST <= number.adjusted() <= _LARGEST:
        raise ValueError(f"{digits[:40]} is beyond a double")
    return number


def _too_deep() -> str:
    return f"nested deeper than {limits.SCHEMA_NESTING_MAX}"


def _too_long() -> str:
    return f"longer than {limits.SCHEMA_MAX_BYTES:,} bytes"


_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_float)
_EXACT = json.JSONDecoder(parse_constant=_no_number, parse_float=_decimal)
_DIGITS_MAX = 400
_SMALLEST, _LARGEST = -323, 307  # powers of ten, as a double has them
_WORDS = {None: "null", True: "true", False: "false"}
