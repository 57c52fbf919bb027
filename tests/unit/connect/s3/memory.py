"""A bucket in memory with conditional puts, for thousands of histories a second; tests/connect/s3 has a real one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from barnabas.connect.connectors.s3.store import Bucket, Found


class MemoryBucket(Bucket):
    """`before` is called before each request, and may raise; `after` when it is done, and may raise as well."""

    def __init__(self) -> None:
        self.prefix = ""
        self.objects: dict[str, bytes] = {}
        self.written: dict[str, int] = {}
        self.abouts: dict[str, dict[str, str]] = {}
        self.times: dict[str, int] = {}
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], None] = lambda: None

    def create(self, name: str, data: bytes, about: dict[str, str] | None = None) -> bool:
        self.before()
        new = name not in self.objects
        if new:
            self._set(name, data, about)
        self.after()
        return new

    def put(self, name: str, data: bytes) -> None:
        self.before()
        self._set(name, data, None)
        self.after()

    def _set(self, name: str, data: bytes, about: dict[str, str] | None) -> None:
        self.objects[name], self.abouts[name] = data, about or {}
        self.written[name] = self.written.get(name, 0) + 1

    def get(self, name: str, bytes_max: int) -> bytes | None:
        self.before()
        return self.objects.get(name)

    def about(self, name: str) -> dict[str, str] | None:
        self.before()
        return self.abouts.get(name) if name in self.objects else None

    def find(self, name: str) -> Found | None:
        return self._found(name) if name in self.objects else None

    def offsets(self) -> list[int]:
        """Of the rows of every object, as lines of JSON without compression."""
        data = [text for name, text in self.objects.items() if not name.startswith("_barnabas/")]
        return sorted(json.loads(line)["_offset"] for text in data for line in text.splitlines())

    def list(self, prefix: str, after: str = "") -> Iterator[Found]:
        self.before()
        yield from [self._found(name) for name in sorted(self.objects) if name.startswith(prefix) and name > after]

    def delete(self, names: Sequence[str]) -> None:
        self.before()
        for name in names:
            self.objects.pop(name, None)
        self.after()

    def range(self, name: str, start: int, end: int, etag: str) -> bytes:
        return self.objects[name][start:end]

    def _found(self, name: str) -> Found:
        data, at = self.objects[name], datetime.fromtimestamp(self.times.get(name, 0), UTC)
        return Found(name, len(data), at, hashlib.md5(data).hexdigest())
