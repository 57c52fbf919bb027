"""The path of a webhook: "/orders", "/sensors/{key}", "/events/{topic}/{key}"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

from barnabas.connect.errors import BadOption

_WORD = re.compile(r"\{([^{}]*)\}")


class Route:
    def __init__(self, path: str, topics: Sequence[str]) -> None:
        """`topics` are those that may be named: strangers make no topics."""
        words = _WORD.findall(path)
        if not path.startswith("/") or len(set(words)) != len(words) or not set(words) <= {"key", "topic"}:
            raise BadOption(f"option 'path' of http: {path!r}", "Write it as /orders, /sensors/{key} or /{topic}/{key}")
        if ("topic" in words) != bool(topics):
            raise BadOption("option 'topics' of http: names the topics that {topic} in 'path' may be, and only those")
        pieces = _WORD.split(path)  # text, word, text, ...
        pattern = "".join(
            re.escape(each) if place % 2 == 0 else f"(?P<{each}>[^/]+)" for place, each in enumerate(pieces)
        )
        self._pattern = re.compile(pattern)
        self._topics = frozenset(topics)

    def match(self, path: str) -> tuple[str | None, str | None] | None:
        """Topic and key, as far as the path names them; None: it is another path."""
        found = self._pattern.fullmatch(path)
        if found is None:
            return None
        named = {name: unquote(text, errors="replace") for name, text in found.groupdict().items()}
        topic = named.get("topic")
        if topic is not None and topic not in self._topics:
            return None
        return topic, named.get("key")
