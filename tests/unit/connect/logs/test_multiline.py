from __future__ import annotations

import pytest

from barnabas.connect.connectors.logs.multiline import Joiner, Multiline, named_multiline
from barnabas.connect.errors import BadOption

TRACE = b"""12:00:00.000 [main] ERROR App - failed
java.lang.IllegalStateException: no
\tat App.main(App.java:1)
Caused by: java.io.IOException: disk
\t... 1 more
12:00:01.000 [main] INFO App - next"""


def joined(rule: Multiline, text: bytes) -> list[bytes]:
    joiner = Joiner(rule)
    lines = text.split(b"\n")
    events, sizes = joiner.add(lines, [len(line) + 1 for line in lines])
    assert joiner
    last, last_sizes = joiner.flush()
    assert not joiner
    assert sum(sizes + last_sizes) == len(text) + 1
    return events + last


@pytest.mark.parametrize("given", ["java", Multiline(first=r"^\d\d:\d\d:")])
def test_a_stack_trace_is_one_event(given: str | Multiline) -> None:
    assert [event.count(b"\n") for event in joined(named_multiline(given), TRACE)] == [4, 0]


def test_an_event_has_limits() -> None:
    lines = b"\n".join([b"start", *[b" more"] * 9])
    assert [each.count(b"\n") + 1 for each in joined(Multiline(more="^ ", lines=4), lines)] == [4, 4, 2]
    assert [len(each) for each in joined(Multiline(more="^ ", bytes=20), lines)] == [17, 17, 17, 5]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("jawa", "there is no 'jawa'"),
        (Multiline(), "either 'first' or 'more'"),
        (Multiline(first="a", more="b"), "either 'first' or 'more'"),
        (Multiline(first="a", lines=0), "more than 0"),
    ],
)
def test_what_cannot_be_right(given: str | Multiline, said: str) -> None:
    with pytest.raises(BadOption, match=said):
        named_multiline(given)


def test_a_bad_expression_is_named() -> None:
    with pytest.raises(BadOption, match=r"'multiline' of logs.*missing"):
        Joiner(Multiline(first="(a"))
