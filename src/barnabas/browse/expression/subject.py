"""The record that an expression is asked about: its parts are decoded when they are first needed, and once."""

from collections.abc import Sequence
from typing import Final

import msgspec

from barnabas.browse.expression.tree import Source
from barnabas.wire.records import Record as WireRecord


class Missing:
    """What a path finds where there is nothing."""


MISSING: Final = Missing()
_UNREAD: Final = object()
_decode = msgspec.json.Decoder().decode


def _json_of(data: bytes | None) -> object:
    if not data:
        return MISSING
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        return MISSING


def _bytes_of(value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    return msgspec.json.encode(value, enc_hook=str)


class Subject:
    __slots__ = ("_key_json", "_value_json", "headers", "key", "offset", "partition", "picked", "timestamp", "value")

    def __init__(
        self,
        partition: int,
        offset: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]],
    ) -> None:
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers
        self.picked: object = None  # what picking.py has decoded of it for the expression that is asked
        self._key_json: object = _UNREAD
        self._value_json: object = _UNREAD

    @classmethod
    def of_decoded(
        cls,
        place: tuple[int, int, int],  # partition, offset, timestamp
        key: object,
        value: object,
        headers: Sequence[tuple[str, bytes | None]],
    ) -> "Subject":
        """A record that somebody else has decoded: text, bytes, or what JSON says."""
        found = cls(*place, _bytes_of(key), _bytes_of(value), headers)
        found._key_json, found._value_json = key, value
        return found

    def becomes(self, partition: int, record: WireRecord) -> None:
        """Another record, in place."""
        self.partition = partition
        self.offset, self.timestamp, self.key, self.value, self.headers = record
        self._key_json = self._value_json = _UNREAD

    def value_json(self) -> object:
        """MISSING when it is no JSON."""
        found = self._value_json
        if found is _UNREAD:
            found = self._value_json = _json_of(self.value)
        return found

    def key_json(self) -> object:
        found = self._key_json
        if found is _UNREAD:
            found = self._key_json = _json_of(self.key)
        return found

    def text(self, source: Source) -> object:
        """Bytes that are not UTF-8 become U+FFFD; null stays null."""
        data = self.value if source == "value" else self.key
        return None if data is None else data.decode("utf-8", "replace")

    def header(self, name: str) -> list[object]:
        """The texts of all headers of this name."""
        values = [value for found, value in self.headers if found == name]
        return [None if value is None else value.decode("utf-8", "replace") for value in values]
