"""What a function of `barnabas.copy` gives back becomes these records."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.client.consumer.message import Message
from barnabas.client.copy.outputs import Output, outputs_of
from barnabas.client.errors import BadSetting

MESSAGE = Message("in", 3, 7, 1_000, b"k", b"v", (("h", b"1"),))


def made(result: Any, message: Message = MESSAGE) -> list[Output]:
    return list(outputs_of(result, message, "out"))


def output(key: Any, value: Any) -> Output:
    return Output("out", key, value, MESSAGE.headers, None, 1_000)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (None, []),
        (b"x", [output(b"k", b"x")]),
        ("text", [output(b"k", "text")]),
        (b"", [output(b"k", b"")]),
        (0, [output(b"k", 0)]),
        ({"a": 1}, [output(b"k", {"a": 1})]),
        (("q", b"x"), [output("q", b"x")]),
        ((None, b"x"), [output(None, b"x")]),
        ((b"k", None), [output(b"k", None)]),
        ([], []),
        ([b"x", None, ("q", b"y"), [b"z"]], [output(b"k", b"x"), output("q", b"y"), output(b"k", b"z")]),
        (MESSAGE, [output(b"k", b"v")]),
        (Output(value=b"x"), [Output("out", None, b"x", None, None, 1_000)]),
        (Output("else", "q", b"x", {"a": b"b"}, 2, 5), [Output("else", "q", b"x", {"a": b"b"}, 2, 5)]),
    ],
)
def test_results(result: Any, expected: list[Output]) -> None:
    assert made(result) == expected


def test_a_generator_is_many() -> None:
    assert made(value for value in (b"x", None, b"y")) == [output(b"k", b"x"), output(b"k", b"y")]


def test_a_message_without_a_time_is_written_now() -> None:
    assert made(b"x", MESSAGE._replace(timestamp_ms=-1))[0].timestamp_ms is None


@pytest.mark.parametrize("result", [(), (1,), (1, 2, 3)])
def test_a_tuple_is_a_pair(result: Any) -> None:
    with pytest.raises(BadSetting, match="Output"):
        made(result)
