"""A dictionary with a bound: what was put in first goes first."""

from __future__ import annotations

from threading import Lock
from typing import Generic, TypeVar

from barnabas.model.limits import REGISTRY_CACHE_MAX

Key = TypeVar("Key")
Kept = TypeVar("Kept")


class Cache(Generic[Key, Kept]):
    """`get` is the dictionary's own: it is on the way of every record."""

    def __init__(self, most: int = REGISTRY_CACHE_MAX) -> None:
        self._found: dict[Key, Kept] = {}
        self._most = most
        self._lock = Lock()
        self.get = self._found.get

    def put(self, key: Key, value: Kept) -> Kept:
        with self._lock:
            if len(self._found) >= self._most and key not in self._found:
                del self._found[next(iter(self._found))]
            self._found[key] = value
        return value

    def forget(self, key: Key) -> None:
        self._found.pop(key, None)
