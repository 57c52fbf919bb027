"""A bucket store that speaks S3's REST API on a real socket, for tests without Java: conditional puts, ranges,
metadata, listings in pages, deletes of many. Requests have to name the access key; signatures are s3proxy's to check
(tests/connect/s3)."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from tests.support.s3 import KEY, SECRET, S3Bucket

_PAGE = 1000
_XML = '<?xml version="1.0" encoding="UTF-8"?>'


@dataclass
class Stored:
    data: bytes
    about: dict[str, str] = field(default_factory=dict)
    at: float = field(default_factory=time.time)

    @property
    def etag(self) -> str:
        return f'"{hashlib.md5(self.data).hexdigest()}"'


class FakeS3:
    def __init__(self) -> None:
        self.buckets: dict[str, dict[str, Stored]] = {}
        self.requests: list[tuple[str, str]] = []
        self.fail_with: tuple[int, str] | None = None  # status and code of every answer
        self.lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"store": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def bucket(self, name: str, secret: str = SECRET) -> S3Bucket:
        self.buckets.setdefault(name, {})
        return S3Bucket(self, name, secret)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def __enter__(self) -> FakeS3:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Handler(BaseHTTPRequestHandler):
    store: FakeS3
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        return

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # a client that keeps connections closes them when it likes
            super().handle()

    # --- answers ----------------------------------------------------------------------------------------------------

    def _answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _refuse(self, status: int, code: str) -> None:
        self._answer(status, f"{_XML}<Error><Code>{code}</Code></Error>".encode(), {"Content-Type": "application/xml"})

    def _place(self) -> tuple[dict[str, Stored], str] | None:
        """The bucket and the name of the object; None: the request was refused."""
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urlsplit(self.path)
        self.store.requests.append((self.command, self.path))
        self.query = {name: values[0] for name, values in parse_qs(path.query, keep_blank_values=True).items()}
        name, _, key = unquote(path.path)[1:].partition("/")
        if self.store.fail_with is not None:
            self._refuse(*self.store.fail_with)
            return None
        if f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
            self._refuse(403, "InvalidAccessKeyId")
            return None
        bucket = self.store.buckets.get(name)
        if bucket is None:
            self._refuse(404, "NoSuchBucket")
            return None
        return bucket, key

    # --- requests ---------------------------------------------------------------------------------------------------

    def do_PUT(self) -> None:
        if (place := self._place()) is None:
            return
        bucket, name = place
        about = {key[11:]: text for key, text in self.headers.items() if key.lower().startswith("x-amz-meta-")}
        stored = Stored(self.body, about)
        with self.store.lock:
            if self.headers.get("If-None-Match") == "*" and name in bucket:
                taken = True
            else:
                taken, bucket[name] = False, stored
        if taken:
            self._refuse(412, "PreconditionFailed")
        else:
            self._answer(200, headers={"ETag": stored.etag})

    def do_GET(self) -> None:
        if (place := self._place()) is None:
            return
        bucket, name = place
        if not name:
            self._list(bucket)
            return
        found = bucket.get(name)
        if found is None:
            self._refuse(404, "NoSuchKey")
            return
        if self.headers.get("If-Match", found.etag) != found.etag:
            self._refuse(412, "PreconditionFailed")
            return
        headers = {"ETag": found.etag, "Last-Modified": formatdate(found.at, usegmt=True)}
        headers |= {f"x-amz-meta-{key}": text for key, text in found.about.items()}
        data, status = found.data, 200
        if wanted := self.headers.get("Range", ""):
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, end = int(first), min(int(last or len(data)), len(data) - 1)
            headers["Content-Range"] = f"bytes {start}-{end}/{len(data)}"
            data, status = data[start : end + 1], 206
        if self.command == "HEAD":
            headers["Content-Length"] = str(len(data))
        self._answer(status, data, headers)

    do_HEAD = do_GET

    def _list(self, bucket: dict[str, Stored]) -> None:
        prefix = self.query.get("prefix", "")
        after = self.query.get("continuation-token") or self.query.get("start-after", "")
        with self.store.lock:
            names = sorted(name for name in bucket if name.startswith(prefix) and name > after)
            page = names[: min(_PAGE, int(self.query.get("max-keys", _PAGE)))]
            found = [(name, bucket[name]) for name in page]
        text = f"{_XML}<ListBucketResult><IsTruncated>{str(len(names) > len(page)).lower()}</IsTruncated>"
        if len(names) > len(page):
            text += f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>"
        for name, each in found:
            at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(each.at))
            text += f"<Contents><Key>{escape(name)}</Key><Size>{len(each.data)}</Size><LastModified>{at}</LastModified>"
            text += f"<ETag>{escape(each.etag)}</ETag></Contents>"
        self._answer(200, f"{text}</ListBucketResult>".encode(), {"Content-Type": "application/xml"})

    def do_DELETE(self) -> None:
        if (place := self._place()) is not None:
            place[0].pop(place[1], None)
            self._answer(204)

    def do_POST(self) -> None:
        if (place := self._place()) is None:
            return
        if "delete" not in self.query:
            self._refuse(501, "NotImplemented")
            return
        names = [each.text or "" for each in ElementTree.fromstring(self.body).iter() if each.tag.endswith("Key")]
        for name in names:
            place[0].pop(name, None)
        gone = "".join(f"<Deleted><Key>{escape(name)}</Key></Deleted>" for name in names)
        body = f"{_XML}<DeleteResult>{gone}</DeleteResult>"
        self._answer(200, body.encode(), {"Content-Type": "application/xml"})
