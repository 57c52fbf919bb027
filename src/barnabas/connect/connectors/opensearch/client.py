"""HTTP to the nodes of a cluster: one connection that stays open, another node when one does not answer."""

from __future__ import annotations

import gzip
import http.client
import ssl
from dataclasses import dataclass

from barnabas.connect.connectors.opensearch.options import Node, Settings
from barnabas.connect.errors import Unavailable

ANSWER_BYTES_MAX = 64_000_000  # of 10,000 records that all failed: less than a tenth of it
GZIP_LEVEL = 1  # a third of the time of 6, for a tenth more bytes


class TimedOut(Exception):
    """A node took the request and did not answer in time."""


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    node: Node


class Client:
    """Used by one thread."""

    def __init__(self, settings: Settings, first: int) -> None:
        """`first` spreads the writers over the nodes."""
        self._settings = settings
        self._at = first % len(settings.nodes)
        self._connection: http.client.HTTPConnection | None = None

    @property
    def node(self) -> Node:
        return self._settings.nodes[self._at]

    def request(self, method: str, path: str, body: bytes | None = None) -> Reply:
        """Asks each node once. Raises TimedOut, or Unavailable when no node can be reached."""
        headers = {"Accept": "application/json"}
        if self._settings.authorization:
            headers["Authorization"] = self._settings.authorization
        if body is not None:
            headers["Content-Type"] = "application/x-ndjson"
            if self._settings.options.compress:
                body = gzip.compress(body, GZIP_LEVEL)
                headers["Content-Encoding"] = "gzip"
        problems = []
        for _ in self._settings.nodes:
            try:
                return self._ask(method, path, body, headers)
            except TimeoutError:
                node = self._turn()
                raise TimedOut(f"{node} did not answer in {self._settings.options.timeout_seconds:g} s") from None
            except (OSError, http.client.HTTPException) as problem:
                problems.append(f"{self._turn()}: {_in_words(problem)}")
        raise Unavailable(f"opensearch cannot be reached: {'; '.join(problems)}", "Check 'url' and that it runs")

    def _turn(self) -> Node:
        """Goes on with the next node, and gives the one that failed."""
        node = self.node
        self.close()
        self._at = (self._at + 1) % len(self._settings.nodes)
        return node

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        used = self._connection is not None
        try:
            return self._send(method, path, body, headers)
        except TimeoutError:
            raise
        except (OSError, http.client.HTTPException):
            self.close()
            if not used:
                raise
        # The node may have closed a connection that was idle: a new one tells whether it is there.
        return self._send(method, path, body, headers)

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        connection = self._connection = self._connection or self._connect()
        try:
            connection.request(method, self.node.path + path, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            # A node that will not take so large a body says 413 and closes without having read it.
            answer = connection.getresponse()
        else:
            answer = connection.getresponse()
        data = answer.read(ANSWER_BYTES_MAX + 1)
        if len(data) > ANSWER_BYTES_MAX:
            self.close()
            raise Unavailable(f"opensearch at {self.node} gave an answer of more than {ANSWER_BYTES_MAX} bytes")
        if answer.will_close:
            self.close()
        return Reply(answer.status, data, self.node)

    def _connect(self) -> http.client.HTTPConnection:
        node, timeout = self.node, self._settings.options.timeout_seconds
        if node.tls:
            return http.client.HTTPSConnection(node.host, node.port, timeout=timeout, context=self._settings.tls)
        return http.client.HTTPConnection(node.host, node.port, timeout=timeout)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _in_words(problem: Exception) -> str:
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {problem.verify_message}; name its authority in 'ca'"
    if isinstance(problem, http.client.RemoteDisconnected):
        return "closed the connection without an answer"
    if isinstance(problem, http.client.HTTPException):
        return "does not speak HTTP as expected"
    if isinstance(problem, OSError):
        return problem.strerror or str(problem)
    return type(problem).__name__
