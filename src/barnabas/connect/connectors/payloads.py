"""What sinks send that send bytes: a value as bytes, and names made of what a record has."""

from __future__ import annotations

import re
from collections.abc import Callable

from barnabas.connect.contract import Delivered, Value
from barnabas.connect.errors import BadOption
from barnabas.connect.values.formats import BadValue, encode_json

_WORD = re.compile(r"\{([^{}]*)\}")
WORDS = ("key", "topic", "partition", "offset", "timestamp")


def payload(value: Value) -> bytes:
    """Bytes and text as they are, structures as JSON, nothing for a tombstone. Raises BadValue."""
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return encode_json(value)


class Template:
    """A name with words of the record in it: "devices/{key}/set"."""

    def __init__(self, option: str, text: str) -> None:
        self.text = text
        self.words = _WORD.findall(text)
        for word in self.words:
            if word not in WORDS:
                known = ", ".join(f"{{{each}}}" for each in WORDS)
                raise BadOption(f"{option}: {{{word}}} is not known", f"There are {known}")

    def fill(self, record: Delivered, escape: Callable[[str], str] = str) -> str:
        """Raises BadValue if the record has no key that is text."""
        if not self.words:
            return self.text
        return _WORD.sub(lambda word: escape(self._part(word[1], record)), self.text)

    def _part(self, word: str, record: Delivered) -> str:
        if word == "key":
            return key_text(record.key)
        if word == "timestamp":
            return str(record.timestamp_ms)
        return str(getattr(record, word))


def key_text(key: Value) -> str:
    if isinstance(key, bytes):
        try:
            return key.decode()
        except UnicodeDecodeError:
            raise BadValue("the key is no text") from None
    if isinstance(key, str):
        return key
    if isinstance(key, int | float) and not isinstance(key, bool):
        return str(key)
    raise BadValue("there is no key" if key is None else "the key is no text")
