"""Requests by a connection that stays open."""

from __future__ import annotations

import base64
import http.client
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import unquote, urlsplit

from barnabas.connect.errors import Unavailable

_ANSWER_BYTES_MAX = 64 * 1024
_SAID_MAX = 200


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    said: str
    retry_after_s: float


class Service:
    """Where requests go, and who we are there."""

    def __init__(self, url: str, username: str, password: str, timeout_s: float) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self.tls = parts.scheme == "https"
        self.host, self.port = parts.hostname, parts.port or (443 if self.tls else 80)
        self.shown = f"{parts.scheme}://{self.host}:{self.port}"
        self.timeout_s = timeout_s
        self._files: tuple[str | None, str | None, str | None] = (None, None, None)
        self.authorization = ""
        username, password = username or unquote(parts.username or ""), password or unquote(parts.password or "")
        if username:
            self.authorization = "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()

    def use_files(self, ca: str, cert: str, key: str) -> None:
        self._files = (ca or None, cert or None, key or None)

    def connection(self) -> http.client.HTTPConnection:
        if not self.tls:
            return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout_s)
        ca, cert, key = self._files
        try:
            context = ssl.create_default_context(cafile=ca)
            if cert:
                context.load_cert_chain(cert, key)
        except (OSError, ssl.SSLError) as problem:
            way_out = "See ca_file, cert_file, key_file"
            raise Unavailable(f"http: certificates cannot be read: {problem}", way_out) from None
        return http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout_s, context=context)


class Client:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._connection: http.client.HTTPConnection | None = None

    def request(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Raises Unavailable when there is no answer."""
        all_headers = {"User-Agent": "barnabas", **headers}
        if self._service.authorization:
            all_headers.setdefault("Authorization", self._service.authorization)
        kept = self._connection is not None
        try:
            return self._request(method, target, body, all_headers)
        except (ConnectionError, http.client.BadStatusLine) as problem:
            self.close()
            if isinstance(problem, ConnectionRefusedError):
                raise self._failed("Connection refused") from None
            if not kept:
                raise self._failed("the connection was closed without an answer") from None
        except (OSError, http.client.HTTPException) as problem:
            self.close()
            raise self._failed(getattr(problem, "strerror", None) or str(problem) or type(problem).__name__) from None
        # A connection that was kept open may be closed by the other side at any time: that says nothing yet.
        try:
            return self._request(method, target, body, all_headers)
        except (OSError, http.client.HTTPException) as problem:
            self.close()
            raise self._failed(getattr(problem, "strerror", None) or str(problem) or type(problem).__name__) from None

    def _request(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        if self._connection is None:
            self._connection = self._service.connection()
        try:
            self._connection.request(method, target, body, dict(headers))
        except ssl.SSLError:  # of a certificate it is a ValueError, too
            raise
        except ValueError:  # says the header, which may be a secret
            raise http.client.HTTPException("a header or the path has characters that cannot be sent") from None
        response = self._connection.getresponse()
        data = response.read(_ANSWER_BYTES_MAX)
        if not response.isclosed():
            self.close()  # nobody needs the rest of it
        said = " ".join(data[:1000].decode(errors="replace").split())[:_SAID_MAX] if response.status >= 300 else ""
        return Answer(response.status, said, _retry_after(response.getheader("Retry-After")))

    def _failed(self, said: str) -> Unavailable:
        return Unavailable(f"no answer of {self._service.shown}: {said}")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _retry_after(given: str | None) -> float:
    """Seconds: the header has a number or a time."""
    if not given:
        return 0.0
    if given.strip().isdecimal():
        return float(given.strip()[:9])
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0
