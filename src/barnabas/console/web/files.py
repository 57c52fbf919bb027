"""The files of the pages, from memory: they are few, small, and all asked for at once by a first visit.

A browser keeps them and asks whether they are still the same (ETag), so that an upgrade is seen at once.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

_WORTH_COMPRESSING_BYTES = 1024
_HEADERS = {"Cache-Control": "no-cache", "Vary": "Accept-Encoding"}


class _File:
    def __init__(self, path: Path) -> None:
        kind = "text/javascript" if path.suffix == ".js" else mimetypes.guess_type(path.name)[0] or "text/plain"
        self.media_type = kind
        self.plain = path.read_bytes()
        smaller = gzip.compress(self.plain, mtime=0) if len(self.plain) >= _WORTH_COMPRESSING_BYTES else self.plain
        self.compressed = smaller if len(smaller) < len(self.plain) else None
        self.etag = f'"{hashlib.sha256(self.plain).hexdigest()[:16]}"'

    def answer(self, headers: Headers) -> Response:
        if headers.get("if-none-match") == self.etag:
            return Response(status_code=304, headers={**_HEADERS, "ETag": self.etag})
        if self.compressed is not None and "gzip" in headers.get("accept-encoding", ""):
            told = {**_HEADERS, "ETag": self.etag, "Content-Encoding": "gzip"}
            return Response(self.compressed, headers=told, media_type=self.media_type)
        return Response(self.plain, headers={**_HEADERS, "ETag": self.etag}, media_type=self.media_type)


class Files:
    """An ASGI application for all files below a folder; they are read once."""

    def __init__(self, folder: Path) -> None:
        self._files = {f"/{path.relative_to(folder).as_posix()}": path for path in folder.rglob("*") if path.is_file()}
        self._read: dict[str, _File] = {}

    def answer(self, name: str, headers: Headers) -> Response:
        if name not in self._files:
            raise HTTPException(404)
        if name not in self._read:
            self._read[name] = _File(self._files[name])
        return self._read[name].answer(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405)
        path: str = scope["path"]
        answer = self.answer(path.removeprefix(scope.get("root_path", "")), Headers(scope=scope))
        await answer(scope, receive, send)
