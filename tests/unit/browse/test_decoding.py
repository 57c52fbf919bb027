"""What a person sees of bytes: the kind and the reason, and a bounded answer for whatever is hostile."""

import os
import time

import pytest

from barnabas.browse.decoding import decode, schema_id_of
from barnabas.model.limits import DECODED_MAX_CHARS


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        (None, "null", "null"),
        (b"", "empty", ""),
        (b' {"a": 1}', "json", ' {"a": 1}'),
        (b"[1, 2.5e3]", "json", "[1, 2.5e3]"),
        (b'{"a": 1', "text", '{"a": 1'),
        (b"17", "text", "17"),
        ("grüße 🎉".encode(), "text", "grüße 🎉"),
        (b"a\tline\r\n" + b"b" * 40, "text", "a\tline\r\n" + "b" * 40),
        (b"\x1b[31mred\x1b[0m" + b"x" * 40, "text", "␛[31mred␛[0m" + "x" * 40),
        ("abc\u202edef".encode(), "text", "abc⟨U+202E⟩def"),
        (b"\0\0\0\5", "integer", "5"),
        (b"\xff" * 8, "integer", "-1"),
        ((1_700_000_000_000).to_bytes(8, "big"), "integer", "1700000000000"),
        (b"abc\xff\x00", "hex", "00000000  61 62 63 ff 00                                    |abc..|"),
    ],
)
def test_bytes_are_taken_for_what_they_look_like(data: bytes | None, kind: str, text: str) -> None:
    shown = decode(data)
    assert (shown.kind, shown.text, shown.truncated) == (kind, text, False)
    assert shown.reason


def test_confluents_wire_format_is_recognised() -> None:
    shown = decode(b'\0\0\0\0\x07{"a":1}')
    assert (shown.kind, shown.text, shown.schema_id) == ("json", '{"a":1}', 7)
    avro = decode(b"\0\0\0\x01\x00\x02\xff\x00abc")
    assert (avro.kind, avro.schema_id) == ("hex", 256)
    assert schema_id_of(b"\0\0\0\0\0abc") is None  # a registry counts from 1
    assert schema_id_of(b"\0\0\0\0\7") is None  # nothing behind it


HOSTILE = {
    "5 MB of JSON": b'{"a":[' + b"1," * 2_500_000 + b"1]}",
    "100,000 lists": b"[" * 100_000 + b"]" * 100_000,
    "100,000 objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "an endless number": b"[" + b"9" * 900_000 + b"]",
    "zeros": bytes(2_000_000),
    "control characters": bytes(range(32)) * 30_000,
    "some control characters": (b"\x1b" + b"x" * 30) * 40_000,
    "turned text": "\u202eabc".encode() * 300_000,
    "chance": os.urandom(1 << 20),
    "cut in a character": "€".encode() * 400_000,
    "invalid UTF-8": b"\xc3\x28" * 600_000,
    "lone surrogates": b"\xed\xa0\x80" * 1000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_value_has_a_bounded_answer(name: str) -> None:
    begun = time.thread_time()
    shown = decode(HOSTILE[name])
    assert time.thread_time() - begun < 0.2  # about 20 ms; the machine may be busy
    assert len(shown.text) <= DECODED_MAX_CHARS
    assert shown.bytes == len(HOSTILE[name])
    assert not any(ord(char) < 0x20 and char not in "\t\n\r" for char in shown.text)
    assert "\u202e" not in shown.text
    shown.text.encode()  # no surrogate is left


def test_a_value_that_was_cut_is_said_to_be() -> None:
    shown = decode(b'{"a": "' + b"x" * 100, 5_000_000)
    assert (shown.kind, shown.truncated, shown.bytes) == ("text", True, 5_000_000)
    assert "cut" in shown.reason
    half = decode("€€".encode()[:5], 100)
    assert (half.kind, half.text) == ("text", "€")
