from __future__ import annotations

import time

import pytest

from barnabas.connect.connectors.logs.grok import PATTERNS, Grok
from barnabas.connect.contract import Value
from barnabas.connect.errors import BadOption


def grok(pattern: str, line: str, **own: str) -> dict[str, Value] | None:
    return Grok(pattern, own, lambda text: None).match(line)


def test_fields_and_types() -> None:
    assert grok(
        "%{IP:client} %{WORD:method} %{URIPATH:path} %{NUMBER:bytes:int} %{NUMBER:s:float}", "::1 GET /a 17 0.5"
    ) == {
        "client": "::1",
        "method": "GET",
        "path": "/a",
        "bytes": 17,
        "s": 0.5,
    }


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_every_pattern_compiles(name: str) -> None:
    Grok(f"%{{{name}:field}}", {}, lambda text: None)


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        ("IPV4", ["127.0.0.1", "255.255.255.255"], ["256.1.1.1", "1.2.3"]),
        ("IPV6", ["::1", "fe80::1%eth0", "2001:db8:0:0:0:0:0:1", "::ffff:10.0.0.1"], ["1.2.3.4", "abc"]),
        ("UUID", ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]),
        (
            "TIMESTAMP_ISO8601",
            ["2026-11-18T01:02:03.456Z", "2026-11-18 01:02:03,456 +0100".replace(" +", "+")],
            ["18/11"],
        ),
        ("HTTPDATE", ["10/Oct/2000:13:55:36 -0700"], ["10/Okt/2000:13:55:36"]),
        ("SYSLOGTIMESTAMP", ["Oct  5 13:55:36"], ["5 Oct"]),
        ("LOGLEVEL", ["WARN", "error", "Information"], ["loud"]),
        ("NUMBER", ["1", "-1.5", "1e9", ".5"], ["x"]),
        ("QS", [r'"a \" b"', "'c'"], ['"open']),
        ("URI", ["http://user:pw@example.com:80/a?b=c", "file:///etc"], ["example"]),
        ("MAC", ["00:11:22:33:44:55"], ["00:11"]),
        ("EMAILADDRESS", ["a.b+c@example.com"], ["a@"]),
        ("JAVACLASS", ["org.example.App$Inner"], ["1a"]),
    ],
)
def test_patterns(name: str, yes: list[str], no: list[str]) -> None:
    whole = Grok(f"^%{{{name}:field}}$", {}, lambda text: None)
    assert [whole.match(each) for each in yes] == [{"field": each} for each in yes]
    assert [whole.match(each) for each in no] == [None] * len(no)


def test_a_line_of_apache() -> None:
    line = '10.0.0.1 - bob [10/Oct/2000:13:55:36 -0700] "GET /a?b HTTP/1.1" 200 2326 "-" "curl/8"'
    found = grok("%{COMBINEDAPACHELOG}", line)
    assert found is not None
    assert (found["client"], found["status"], found["bytes"], found["path"]) == ("10.0.0.1", 200, 2326, "/a?b")
    assert "request" not in found


def test_patterns_of_ones_own_and_plain_groups() -> None:
    assert grok(r"%{ORDER:order} (?P<rest>.*)", "A-17 äöü", ORDER=r"[A-Z]-\d+") == {"order": "A-17", "rest": "äöü"}


def test_what_does_not_convert_stays_text() -> None:
    assert grok("%{WORD:n:int} %{WORD:t:time}", "abc def") == {"n": "abc", "t": "def"}
    assert grok("%{INT:n:int}", "9" * 5000) == {"n": "9" * 5000}


@pytest.mark.parametrize(
    ("pattern", "own", "said"),
    [
        ("%{NOPE:x}", {}, "no pattern %{NOPE}"),
        ("%{WORD:x:date}", {}, "type 'date' of field 'x'"),
        ("(", {}, "missing"),
        ("%{WORD}", {}, "names no field"),
        ("%{A:x}", {"A": "%{B}", "B": "%{A}"}, "deep"),
        ("%{A:x}", {"A": "%{B}" * 100, "B": "%{C}" * 100, "C": "y" * 100}, "more than 65536"),
        ("(?=a)%{WORD:x}", {}, "invalid perl operator"),
    ],
)
def test_what_cannot_be_right(pattern: str, own: dict[str, str], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        Grok(pattern, own, lambda text: None)


def test_no_pattern_is_exponential() -> None:
    began = time.process_time()
    assert grok("^(?P<a>(a+)+)$", "a" * 20_000 + "b") is None
    assert time.process_time() - began < 2
