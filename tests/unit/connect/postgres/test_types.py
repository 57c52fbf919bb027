from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Iterable

import pytest

from barnabas.connect.connectors.postgres.capture.types import TypeFacts, converters, read_array
from barnabas.connect.contract import Value

UTC = datetime.UTC


def converted(oid: int, text: bytes, facts: dict[int, TypeFacts] | None = None) -> Value:
    def lookup(oids: Iterable[int]) -> dict[int, TypeFacts]:
        return {oid: each for oid, each in (facts or {}).items() if oid in set(oids)}

    return converters([oid], lookup)[oid](text)


@pytest.mark.parametrize(
    ("oid", "text", "value"),
    [
        (16, b"t", True),
        (16, b"f", False),
        (17, b"\\x00ff", b"\x00\xff"),
        (20, b"-9223372036854775808", -(2**63)),
        (25, "Ångström".encode(), "Ångström"),
        (114, b'{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}),
        (3802, b"12345678901234567890", 12345678901234567890),
        (114, b'"\\ud800"', '"\\ud800"'),  # the type json takes it; it is no Unicode
        (701, b"1e-07", 1e-07),
        (701, b"-Infinity", "-Infinity"),
        (700, b"NaN", "NaN"),
        (1082, b"2024-02-29", datetime.date(2024, 2, 29)),
        (1082, b"infinity", "infinity"),
        (1082, b"0044-03-15 BC", "0044-03-15 BC"),
        (1083, b"23:59:59.5", datetime.time(23, 59, 59, 500000)),
        (1083, b"24:00:00", "24:00:00"),
        (1114, b"2024-01-02 03:04:05.000001", datetime.datetime(2024, 1, 2, 3, 4, 5, 1)),
        (1184, b"2024-01-02 03:04:05+00", datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (1184, b"12345-01-01 00:00:00+00", "12345-01-01 00:00:00+00"),
        (1700, b"1.10", decimal.Decimal("1.10")),
        (2950, b"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        (1186, b"P1DT2H", "P1DT2H"),
        (99999, b"happy", "happy"),  # an enum that the catalog does not know any more
    ],
)
def test_text_to_value(oid: int, text: bytes, value: Value) -> None:
    found = converted(oid, text)
    assert found == value
    assert type(found) is type(value)


def test_domains_and_arrays_are_looked_up() -> None:
    facts = {50000: TypeFacts(base=50001), 50001: TypeFacts(base=23), 50002: TypeFacts(element=50000)}
    assert converted(50000, b"7", facts) == 7
    assert converted(50002, b"{7,NULL}", facts) == [7, None]


def test_a_type_that_leads_to_itself_ends() -> None:
    facts = {50000: TypeFacts(base=50001), 50001: TypeFacts(base=50000)}
    assert converted(50000, b"7", facts) == "7"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"{}", []),
        (b"{a,NULL,b}", ["a", None, "b"]),
        (b'{"NULL","a,b","{}","","q\\"q","\\\\"}', ["NULL", "a,b", "{}", "", 'q"q', "\\"]),
        (b"{{a,b},{c,NULL}}", [["a", "b"], ["c", None]]),
        (b"[0:1]={a,b}", ["a", "b"]),
        (b"[0:1][2:2]={{a},{b}}", [["a"], ["b"]]),
        ('{"ä ö",ü}'.encode(), ["ä ö", "ü"]),
    ],
)
def test_arrays(text: bytes, value: list[Value]) -> None:
    assert read_array(text, bytes.decode) == value


@pytest.mark.parametrize(
    "text", [b"", b"{", b"}", b"{a", b'{"a}', b"{{a}", b"{a}}", b"{{{{{{{a}}}}}}}", b"[0:1", b'{"\\}', b"a{}"]
)
def test_what_is_no_array_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_array(text, bytes.decode)


def test_a_large_array_with_escapes_takes_linear_time() -> None:
    element = b'"' + b"\\\\" * 20_000 + b'"'
    assert read_array(b"{" + b",".join([element] * 5) + b"}", bytes.decode) == ["\\" * 20_000] * 5
