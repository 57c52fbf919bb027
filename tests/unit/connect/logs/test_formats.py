from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from barnabas.connect.connectors.logs.formats import Formats
from barnabas.connect.connectors.logs.syslog import parse_syslog
from barnabas.connect.connectors.logs.times import parse_time
from barnabas.connect.errors import BadOption

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def fields(pattern: str, line: str) -> tuple[dict[str, object], int | None]:
    return Formats([pattern], {}, "UTC").fields(line)


def test_combined() -> None:
    line = r'::1 - - [10/Oct/2000:13:55:36 -0700] "GET /a b HTTP/1.1" 404 - "-" "say \"hi\""'
    found, timestamp_ms = fields("nginx", line)
    when = datetime(2000, 10, 10, 13, 55, 36, tzinfo=timezone(timedelta(hours=-7)))
    assert found == {
        "client": "::1",
        "time": when,
        "method": "GET",
        "path": "/a b",
        "protocol": "HTTP/1.1",
        "status": 404,
        "bytes": 0,
        "agent": r"say \"hi\"",
    }
    assert timestamp_ms == int(when.timestamp() * 1000)


def test_combined_with_what_is_no_request() -> None:
    found, _ = fields("combined", r'1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] "\x16\x03\x01" 400 150 "-" "-" 0.01')
    assert found["request"] == r"\x16\x03\x01"
    assert found["status"] == 400


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "12:34:56.789 [main] INFO  org.example.App - hello",
            ("12:34:56.789", "main", "INFO", "org.example.App", "hello"),
        ),
        (
            "12:34:56.789 [main] INFO  org.example.App -- hello",
            ("12:34:56.789", "main", "INFO", "org.example.App", "hello"),
        ),
        (
            "2026-01-02 12:34:56,789 WARN  [pool-1] o.e.App - x - y",
            (datetime(2026, 1, 2, 12, 34, 56, 789000, tzinfo=UTC), "pool-1", "WARN", "o.e.App", "x - y"),
        ),
        (
            "2026-01-02T12:34:56.789Z  INFO 4711 --- [           main] o.e.Application  : Started",
            (datetime(2026, 1, 2, 12, 34, 56, 789000, tzinfo=UTC), "main", "INFO", "o.e.Application", "Started"),
        ),
        (
            "[2026-01-02 12:34:56,789] INFO [Broker id=1] up (kafka.server.Broker)",
            (
                datetime(2026, 1, 2, 12, 34, 56, 789000, tzinfo=UTC),
                None,
                "INFO",
                "kafka.server.Broker",
                "[Broker id=1] up",
            ),
        ),
        (
            "2026-01-02T12:34:56.789012345Z pool 1 INFO up",
            (datetime(2026, 1, 2, 12, 34, 56, 789012, tzinfo=UTC), "pool 1", "INFO", None, "up"),
        ),
    ],
)
def test_java(line: str, expected: tuple[object, ...]) -> None:
    found, _ = fields("java", line + "\njava.io.IOException: x\n\tat A.b(A.java:1)")
    assert tuple(found.get(name) for name in ("time", "thread", "level", "logger", "message")) == expected
    assert found["stack_trace"] == "java.io.IOException: x\n\tat A.b(A.java:1)"


def test_json_and_logfmt() -> None:
    assert fields("json", '{"a": [1], "ts": "2026-01-01T00:00:00Z"}') == (
        {"a": [1], "ts": "2026-01-01T00:00:00Z"},
        1767225600000,
    )
    assert fields("logfmt", r'level=info msg="a \"b\"\n" n=1 empty= flag')[0] == {
        "level": "info",
        "msg": 'a "b"\n',
        "n": "1",
        "empty": "",
        "flag": True,
    }


@pytest.mark.parametrize("pattern", ["nginx", "java", "json", "logfmt", "syslog", "^%{INT:n}$"])
@pytest.mark.parametrize("line", ["", "nothing of the kind", "[1, 2]", "\x00\ufffd", "{" * 5000])
def test_what_has_another_format_stays_whole(pattern: str, line: str) -> None:
    assert fields(pattern, line) == ({"message": line, "tags": ["unparsed"]}, None)


def test_patterns_are_tried_in_turn() -> None:
    formats = Formats(["json", "^%{INT:n:int}$"], {}, "")
    assert formats.fields("17")[0] == {"n": 17}
    assert formats.fields('{"a": 1}')[0] == {"a": 1}


@pytest.mark.parametrize("pattern", ["nginx", "java", "json", "logfmt", "syslog"])
@pytest.mark.parametrize(
    "line",
    [
        'a="\\" ' * 40_000,
        '"' * 200_000,
        "[" * 200_000,
        "<1>1 - - - - - " + '[a b="' * 30_000,
        "12:00:00 [" + " x" * 100_000,
        "12:00:00 [x] INFO x " + "- " * 100_000,
        "[2026-01-02 12:34:56,789] INFO " + " (x" * 60_000,
    ],
)
def test_no_line_takes_long(pattern: str, line: str) -> None:
    began = time.process_time()
    fields(pattern, line)
    assert time.process_time() - began < 1


def test_a_time_zone_that_is_not_there() -> None:
    with pytest.raises(BadOption, match="there is no 'Mars'"):
        Formats(["json"], {}, "Mars")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-02T03:04:05.123456789Z", datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)),
        ("2026/01/02 03:04:05", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("1767225600", datetime(2026, 1, 1, tzinfo=UTC)),
        ("1767225600.5", datetime(2026, 1, 1, 0, 0, 0, 500000, tzinfo=UTC)),
        ("1767225600000", datetime(2026, 1, 1, tzinfo=UTC)),
        ("Feb 28 10:00:00", datetime(2026, 2, 28, 10, tzinfo=UTC)),
        ("Dec 31 10:00:00", datetime(2025, 12, 31, 10, tzinfo=UTC)),
        ("Feb 29 10:00:00", datetime(2024, 2, 29, 10, tzinfo=UTC)),
        ("Foo 29 10:00:00", None),
        ("10/Foo/2000:13:55:36 -0700", None),
        ("10/Oct/2000:13:55:36 -9900", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_times(text: str, expected: datetime | None) -> None:
    assert parse_time(text, UTC, NOW) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '<34>1 2026-02-01T22:14:15.003Z host su 4711 ID47 [e@1 a="b\\"c" d=""][f] \ufeffsaid no',
            {
                "facility": "auth",
                "severity": "crit",
                "host": "host",
                "app": "su",
                "pid": "4711",
                "msgid": "ID47",
                "time": datetime(2026, 2, 1, 22, 14, 15, 3000, tzinfo=UTC),
                "structured": {"e@1": {"a": 'b"c', "d": ""}, "f": {}},
                "message": "said no",
            },
        ),
        ("<13>1 - - - - - - hello", {"facility": "user", "severity": "notice", "message": "hello"}),
        (
            "<13>Feb  5 17:32:18 host app[12]: hello",
            {
                "facility": "user",
                "severity": "notice",
                "time": datetime(2026, 2, 5, 17, 32, 18, tzinfo=UTC),
                "host": "host",
                "app": "app",
                "pid": "12",
                "message": "hello",
            },
        ),
        (
            "Feb  5 17:32:18 host kernel: [0.0] up",
            {
                "time": datetime(2026, 2, 5, 17, 32, 18, tzinfo=UTC),
                "host": "host",
                "app": "kernel",
                "message": "[0.0] up",
            },
        ),
        (
            "<13>Feb  5 17:32:18 app: no host",
            {
                "facility": "user",
                "severity": "notice",
                "time": datetime(2026, 2, 5, 17, 32, 18, tzinfo=UTC),
                "app": "app",
                "message": "no host",
            },
        ),
        ("<13>just text", {"facility": "user", "severity": "notice", "message": "just text"}),
        ("<192>x", None),
        ("just text", None),
    ],
)
def test_syslog(text: str, expected: dict[str, object] | None) -> None:
    assert parse_syslog(text, UTC, NOW) == expected
