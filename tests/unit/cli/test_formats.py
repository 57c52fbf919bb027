"""How consume writes records, and that produce --json takes back what consume --json writes."""

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli.common import human
from barnabas.cli.consume.formats import Shown, json_lines, renderer
from barnabas.cli.produce.lines import parse_json

from .fakes import FakeMessage


def test_text_is_the_values_and_null_is_said() -> None:
    render = renderer("text", Shown())
    assert render([FakeMessage(b"one"), FakeMessage(None), FakeMessage(b"\xff")]) == b"one\nnull\n\xff\n"


def test_text_with_all_columns() -> None:
    message = FakeMessage(b"v", b"k", [("h", b"1"), ("n", None)], partition_=2, offset_=7)
    render = renderer("text", Shown(keys=True, headers=True, timestamps=True, offsets=True))
    assert render([message]) == f"{human.moment(message.timestamp_)}\t2:7\th=1,n=null\tk\tv\n".encode()


def test_raw_adds_nothing() -> None:
    assert renderer("raw", Shown())([FakeMessage(b"a\n"), FakeMessage(None), FakeMessage(b"b")]) == b"a\nb"


def test_a_record_cannot_drive_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    shown = renderer("text", Shown(keys=True))([FakeMessage(b"\x1b[2Jgone\r\x07", b"\x1b]0;title\x07")])
    assert b"\x1b" not in shown
    assert shown == b"\\x1b]0;title\\x07  \\x1b[2Jgone\\x0d\\x07\n"


def test_json_says_everything() -> None:
    line = json_lines([FakeMessage(b"v", b"k", [("h", b"\xff")], partition_=1, offset_=9)])
    assert json.loads(line) == {
        "topic": "views", "partition": 1, "offset": 9, "timestamp": 1_777_630_000_000,
        "key": "k", "value": "v", "headers": [["h", {"base64": "/w=="}]],
    }  # fmt: skip


pieces: Any = st.none() | st.binary(max_size=12)


@given(pieces, pieces, st.lists(st.tuples(st.text(max_size=5), pieces), max_size=3))
def test_json_comes_back_as_it_was(
    value: bytes | None, key: bytes | None, headers: list[tuple[str, bytes | None]]
) -> None:
    line = json_lines([FakeMessage(value, key, headers)]).rstrip(b"\n")
    assert b"\n" not in line
    back = parse_json(line, 1)
    assert (back.value, back.key, back.headers or []) == (value, key, headers)
    assert (back.partition, back.timestamp) == (0, 1_777_630_000_000)
