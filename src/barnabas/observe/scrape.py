"""Scrapes one node over a connection that is kept: for a thread, with bounds on time and size."""

import base64
import gzip
import http.client
import zlib
from io import BytesIO
from ssl import SSLContext, create_default_context
from urllib.parse import urlsplit

from barnabas.link.sasl import Credentials
from barnabas.observe.samples import Metrics, parse

TIMEOUT_SECONDS = 5.0
ANSWER_MAX_BYTES = 256 * 1024 * 1024  # of text: some hundred thousand partitions
PACKED_MAX_BYTES = 32 * 1024 * 1024
_OUTSIDE = (http.client.HTTPException, OSError, ValueError, EOFError, zlib.error)


class ScrapeFailed(Exception):
    """Why there are no metrics, in one line. `status`: of a node that did answer."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


class NodeScraper:
    """`url` is that of the listener, without a path. `login`: user and password, where metrics.authentication=basic."""

    def __init__(
        self,
        url: str,
        *,
        login: tuple[str, str] | None = None,
        tls: SSLContext | None = None,
        timeout_s: float = TIMEOUT_SECONDS,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise ScrapeFailed(f"{url!r} is not http://host:port or https://host:port")
        self.url = url
        if parts.scheme == "https":
            self._connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=timeout_s, context=tls or create_default_context()
            )
        else:
            self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout_s)
        self._headers = {"Accept-Encoding": "gzip"}
        if login is not None:
            self._headers["Authorization"] = "Basic " + base64.b64encode(":".join(login).encode()).decode()

    def __repr__(self) -> str:
        return f"NodeScraper({self.url!r})"  # its login is nobody's business

    def metrics(self, *, partitions: bool = False) -> Metrics:
        """Raises ScrapeFailed."""
        return parse(self.text("/metrics?partitions=true" if partitions else "/metrics"))

    def text(self, path: str) -> str:
        was_open = self._connection.sock is not None
        try:
            return self._get(path)
        except ScrapeFailed:
            raise
        except _OUTSIDE as error:
            self.close()
            if not was_open:
                raise ScrapeFailed(_words(error)) from None
        try:
            return self._get(path)  # the node has closed the connection since
        except ScrapeFailed:
            raise
        except _OUTSIDE as error:
            self.close()
            raise ScrapeFailed(_words(error)) from None

    def _get(self, path: str) -> str:
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read(PACKED_MAX_BYTES + 1)
        if len(body) > PACKED_MAX_BYTES:
            self.close()
            raise ScrapeFailed(f"the answer has more than {PACKED_MAX_BYTES} bytes")
        if answer.status != http.client.OK:
            said = " ".join(body[:300].decode(errors="replace").split())
            raise ScrapeFailed(f"HTTP {answer.status}: {said}", answer.status)
        if answer.getheader("Content-Encoding") == "gzip":
            body = _unpacked(body)
        return body.decode()

    def close(self) -> None:
        self._connection.close()


def _unpacked(body: bytes) -> bytes:
    with gzip.GzipFile(fileobj=BytesIO(body)) as file:
        text = file.read(ANSWER_MAX_BYTES + 1)
    if len(text) > ANSWER_MAX_BYTES:
        raise ScrapeFailed(f"the answer has more than {ANSWER_MAX_BYTES} bytes")
    return text


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer"
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def password_for(url: str, credentials: Credentials | None) -> tuple[str, str] | None:
    """User and password for a node's metrics: through TLS, or to this machine, where nobody else can read it. Nodes
    know users of SCRAM only (metrics.authentication=basic); anything else would be a failed login in their trail."""
    if credentials is None or credentials.by_token or not credentials.mechanism.startswith("SCRAM"):
        return None
    parts = urlsplit(url)
    here = parts.hostname in ("localhost", "127.0.0.1", "::1")
    return (credentials.user, credentials.password) if parts.scheme == "https" or here else None
