"""Look-ups by id whose answer is in memory: the whole response as bytes, made once for each schema.

Everything else, and whatever is asked with a query or not found, goes the usual way (http.py), which says the same.
"""

from __future__ import annotations

from functools import lru_cache

from barnabas.registry.errors import RegistryError
from barnabas.registry.rest import answers
from barnabas.registry.rest.http import head_of, kind_wanted
from barnabas.registry.rest.service import Service
from barnabas.registry.state import questions
from barnabas.registry.state.values import Stored

_PATH = b"/schemas/ids/"
_DIGITS_MAX = 10
_KEPT = 1_000  # answers; at most a few megabytes of schemas as they are used
_KEPT_BYTES = 16 * 1024  # larger ones are made each time


class QuickAnswers:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._kept: dict[int, tuple[Stored, bytes]] = {}

    def answer(self, url: bytes, headers: list[tuple[bytes, bytes]]) -> bytes | None:
        if not url.startswith(_PATH):
            return None
        told = url[len(_PATH) :]
        if not told.isdigit() or len(told) > _DIGITS_MAX:
            return None
        stored = questions.by_id(self._service.contents, int(told), None)
        if stored is None:
            return None
        accepted = b""
        for name, value in headers:
            if name == b"accept":
                accepted = value
        head = _head(accepted)
        return None if head is None else head + self._body(stored)

    def _body(self, stored: Stored) -> bytes:
        """With its length and the empty line before it."""
        kept = self._kept.get(stored.id)
        if kept is not None and kept[0] is stored:
            return kept[1]
        told = answers.by_id(stored, None, with_subject=False, max_id=None, qualified=False)
        body = answers.encode(told)
        made = b"content-length: %d\r\n\r\n%b" % (len(body), body)
        if len(made) <= _KEPT_BYTES:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[stored.id] = (stored, made)
        return made


@lru_cache(64)
def _head(accepted: bytes) -> bytes | None:
    """Everything before the length."""
    try:
        kind = kind_wanted(accepted)
    except RegistryError:
        return None
    return b"HTTP/1.1 200 OK\r\n" + b"".join(b"%b: %b\r\n" % each for each in head_of(kind))
