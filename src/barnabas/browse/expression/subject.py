"""The record that an expression is asked about: its parts are decoded when they are first needed, and once."""

from collections.abc import Sequence
from typing import Final

import msgspec

from barnabas.browse.expression.tree import Source


class Missing:
    """What a path finds where there is nothing."""


MISSING: Final = Missing()
_decode = msgspec.json.Decoder().decode


class Subject:
    __slots__ = ("_json", "headers", "key", "offset", "partition", "timestamp", "value")

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
        self._json: dict[Source, object] | None = None

    def json(self, source: Source) -> object:
        """The JSON of the key or the value; MISSING when it is none."""
        if self._json is None:
            self._json = {}
        elif source in self._json:
            return self._json[source]
        data = self.value if source == "value" else self.key
        found: object = MISSING
        if data:
            try:
                found = _decode(data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
                found = MISSING
        self._json[source] = found
        return found

    def text(self, source: Source) -> object:
        """Bytes that are not UTF-8 become U+FFFD; null stays null."""
        data = self.value if source == "value" else self.key
        return None if data is None else data.decode("utf-8", "replace")

    def header(self, name: str) -> list[object]:
        """The texts of all headers of this name."""
        values = [value for found, value in self.headers if found == name]
        return [None if value is None else value.decode("utf-8", "replace") for value in values]
