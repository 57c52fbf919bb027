"""What produce reads: lines in whatever pieces, keys, JSON objects; wrong ones named by their number."""

import os
import threading
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli.common.failure import Failure
from barnabas.cli.produce.lines import Input, parse_json, read_lines, split_key


def through_pipe(*pieces: bytes) -> list[bytes]:
    reader, writer = os.pipe()

    def write() -> None:
        for piece in pieces:
            os.write(writer, piece)
        os.close(writer)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        return [line for lines in read_lines(reader) for line in lines]
    finally:
        thread.join()
        os.close(reader)


def test_lines_come_whole_however_they_are_cut() -> None:
    assert through_pipe(b"on", b"e\ntw", b"o\n", b"three") == [b"one", b"two", b"three"]


def test_empty_lines_are_records_and_an_empty_input_is_none() -> None:
    assert through_pipe(b"\n\na\n") == [b"", b"", b"a"]
    assert through_pipe() == []


def test_windows_line_ends() -> None:
    assert through_pipe(b"a\r\nb\r", b"\nc\r\n") == [b"a", b"b", b"c"]


@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line and b"\r" not in line), max_size=20))
def test_what_is_joined_is_split_again(lines: list[bytes]) -> None:
    assert through_pipe(b"".join(line + b"\n" for line in lines)) == lines


def test_keys_are_cut_at_the_first_separator() -> None:
    assert split_key(b"ada:a:b", b":", 1) == Input(b"a:b", b"ada")
    with pytest.raises(Failure, match=r"line 7 has no ':'"):
        split_key(b"no key", b":", 7)


def test_json_with_everything() -> None:
    line = b'{"key":"k","value":{"a":[1,2]},"headers":{"h":"1","n":null},"partition":2,"timestamp":5}'
    assert parse_json(line, 1) == Input(b'{"a":[1,2]}', b"k", [("h", b"1"), ("n", None)], 2, 5)


def test_json_null_is_a_tombstone_and_base64_is_bytes() -> None:
    assert parse_json(b'{"key":"k","value":null}', 1) == Input(None, b"k")
    encoded = b64encode(b"\xff\x00")
    assert parse_json(b'{"value_base64":"%s","headers":[["h",{"base64":"%s"}]]}' % (encoded, encoded), 1) == Input(
        b"\xff\x00", None, [("h", b"\xff\x00")]
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"rubbish", "line 3 is not JSON"),
        (b"[1]", "line 3 is not a JSON object"),
        (b'{"key":"k"}', 'line 3 has no "value"'),
        (b'{"value":"v","partition":"x"}', "line 3: partition is not a whole number"),
        (b'{"value":"v","partition":true}', "line 3: partition is not a whole number"),
        (b'{"value":"v","timestamp":-5}', "line 3: timestamp is not a whole number"),
        (b'{"value":"v","headers":7}', "line 3: headers are neither"),
        (b'{"value":"v","headers":[["a"]]}', "line 3: headers are neither"),
        (b'{"value_base64":"%%%"}', "line 3: value_base64 is not base64"),
        (b'{"value_base64":5}', "line 3: value_base64 is not base64"),
        (b'{"value":"\xff"}', "line 3 is not JSON"),
    ],
)
def test_a_wrong_line_is_named(line: bytes, reason: str) -> None:
    with pytest.raises(Failure, match=reason):
        parse_json(line, 3)


@given(st.binary(max_size=60))
def test_no_bytes_break_it(line: bytes) -> None:
    try:
        parse_json(line, 1)
    except Failure as failure:
        assert failure.line().startswith("line 1")
