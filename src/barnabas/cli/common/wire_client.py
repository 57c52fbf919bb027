"""Kafka's protocol spoken by hand, for what no client library offers: one request, one answer, bounded waits.

`call` is the exchange on one connection. `Cluster` knows the nodes: it asks the bootstrap address who they are, keeps a
connection to each that is spoken to, and uses the newest version of an API that both sides know. Plain TCP only.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from struct import Struct
from types import TracebackType
from typing import Any, Self

from barnabas.cli.common import link as settings
from barnabas.cli.common.failure import Failure
from barnabas.model.errors import ErrorCode
from barnabas.model.limits import CLI_ANSWER_MAX_BYTES
from barnabas.wire.apis import API_VERSIONS, DESCRIBE_CLUSTER, FIND_COORDINATOR, METADATA, SERVED
from barnabas.wire.codec import decode_response, encode_request
from barnabas.wire.errors import ProtocolError
from barnabas.wire.headers import request_header, response_header

TIMEOUT_S = 3.0
ANSWER_S = 30.0  # for requests that wait for something at the other side
SERVING_S = 8.0  # a node that serves clients answers sooner; one that waits for its quorum does not
TRANSACTION_KEY = 1  # FindCoordinator's kind of key
_LENGTH = Struct(">i")
_CORRELATION_ID = 1
_CLIENT_ID = "barnabas-cli"


class NoAnswer(Exception):
    """What answered is no Kafka node, or nothing did; one line."""


class Silent(NoAnswer):
    """Something listens there, and does not answer."""


def connect(host: str, port: int, timeout_s: float = TIMEOUT_S) -> socket.socket:
    try:
        return socket.create_connection((host, port), timeout=timeout_s)
    except TimeoutError:
        raise NoAnswer("no answer: a firewall may drop the packets") from None
    except socket.gaierror:
        raise NoAnswer("the name does not resolve") from None
    except OSError as error:
        raise NoAnswer((error.strerror or str(error)).lower()) from None


def call(link: socket.socket, api_key: int, version: int, body: Mapping[str, Any]) -> Any:
    request = request_header(api_key, version, _CORRELATION_ID, _CLIENT_ID) + encode_request(api_key, version, body)
    try:
        link.sendall(_LENGTH.pack(len(request)) + request)
        (length,) = _LENGTH.unpack(_read(link, 4))
        if not 4 <= length <= CLI_ANSWER_MAX_BYTES:
            raise NoAnswer("what answers there does not speak Kafka's protocol")
        header = len(response_header(api_key, version, _CORRELATION_ID))
        return decode_response(api_key, version, _read(link, length), header)
    except TimeoutError:
        raise Silent(
            "connected, but no answer came: it may wait for its quorum or for TLS, or be another service"
        ) from None
    except (OSError, ProtocolError) as error:
        raise NoAnswer(f"connected, but the answer is not Kafka's: {error}") from None


def _read(link: socket.socket, wanted: int) -> bytes:
    parts = bytearray()
    while len(parts) < wanted:
        part = link.recv(min(wanted - len(parts), 1 << 20))
        if not part:
            raise NoAnswer(
                "the connection was closed before an answer came: it may be another service, or wait for TLS"
            )
        parts += part
    return bytes(parts)


class NotServing(Failure):
    """It takes connections and does not answer: a node that does not serve clients yet."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"{where} takes connections, but does not answer: it waits for its quorum, or is another service",
            "The log of the node says what it waits for; a majority of the voters has to be up.",
        )


class _Node:
    """One connection, and the versions it speaks."""

    def __init__(self, host: str, port: int) -> None:
        self.link = connect(host, port, settings.CONNECT_TIMEOUT_S)
        self.link.settimeout(SERVING_S)
        known = call(self.link, API_VERSIONS, 0, {}).api_keys
        self.link.settimeout(ANSWER_S)
        self._newest = {each.api_key: (each.min_version, each.max_version) for each in known}

    def ask(self, api_key: int, body: Mapping[str, Any]) -> Any:
        api = SERVED[api_key]
        low, high = self._newest.get(api_key, (0, -1))
        version = min(high, api.max_version)
        if version < max(low, api.min_version):
            name = api.name.title().replace("_", "")
            raise Failure(f"the node does not know {name}", "It is older than Kafka 3.0, or another kind of server.")
        return call(self.link, api_key, version, body)


class Cluster:
    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._nodes: dict[int, _Node] = {}
        self._first = self._reach()
        # Not Metadata, which names who has just died for some seconds more.
        brokers = self._ask(self._first, DESCRIBE_CLUSTER, {}, bootstrap).brokers
        self.brokers: dict[int, tuple[str, int]] = {each.broker_id: (each.host, each.port) for each in brokers}

    def _reach(self, also: Iterable[tuple[str, int]] = ()) -> _Node:
        from barnabas.client.common.connection import addresses
        from barnabas.client.errors import CannotReach

        reasons, silent = [], False
        for host, port in dict.fromkeys([*addresses(self.bootstrap), *also]):
            try:
                return _Node(host, port)
            except NoAnswer as error:
                reasons.append(str(error))
                silent = silent or isinstance(error, Silent)
        if silent:
            raise NotServing(self.bootstrap)
        reason = "; ".join(dict.fromkeys(reasons))
        raise CannotReach(self.bootstrap, f"{reason}. Is a node up? Try: barnabas up")

    def ask_any(self, api_key: int, body: Mapping[str, Any]) -> Any:
        """One request to whichever node answers: the one spoken to so far, or, when it has gone, another."""
        try:
            return self._first.ask(api_key, body)
        except NoAnswer:
            self._first.link.close()
            self._first = self._reach(self.brokers.values())
            return self._ask(self._first, api_key, body, self.bootstrap)

    def ask_briefly(self, api_key: int, body: Mapping[str, Any], seconds: float) -> Any | None:
        """As `ask_any`, but None when no answer comes in time."""
        assert seconds < ANSWER_S
        self._first.link.settimeout(seconds)
        try:
            answer = self._first.ask(api_key, body)
        except NoAnswer:
            self._first.link.close()  # an answer that comes late would be taken for that of the next request
            self._first = self._reach(self.brokers.values())
            return None
        self._first.link.settimeout(ANSWER_S)
        return answer

    def ask(self, node_id: int, api_key: int, body: Mapping[str, Any]) -> Any:
        """One request to one node."""
        host, port = self.brokers[node_id]
        where = f"node {node_id} at {host}:{port}"
        if node_id not in self._nodes:
            try:
                self._nodes[node_id] = _Node(host, port)
            except NoAnswer as error:
                raise Failure(f"cannot reach {where}: {error}", "Find out more: barnabas doctor") from None
        return self._ask(self._nodes[node_id], api_key, body, where)

    def _ask(self, node: _Node, api_key: int, body: Mapping[str, Any], where: str) -> Any:
        try:
            return node.ask(api_key, body)
        except NoAnswer as error:
            raise Failure(f"{where}: {error}") from None

    def metadata(self, topics: list[str] | None) -> Any:
        """The cluster's topics; None asks for all."""
        wanted = None if topics is None else [{"name": name} for name in topics]
        return self._ask(self._first, METADATA, {"topics": wanted, "allow_auto_topic_creation": False}, self.bootstrap)

    def coordinator(self, transactional_id: str) -> int:
        """The node that decides about this id."""
        body = {"key": transactional_id, "key_type": TRANSACTION_KEY, "coordinator_keys": [transactional_id]}
        answer = self._ask(self._first, FIND_COORDINATOR, body, self.bootstrap)
        found = answer.coordinators[0] if answer.coordinators else answer
        if found.error_code:
            raise refused(found.error_code, f"find the coordinator of {transactional_id!r}")
        return int(found.node_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for node in (self._first, *self._nodes.values()):
            node.link.close()


def refused(code: int, doing: str) -> Failure:
    """A node's no as one line."""
    try:
        name = ErrorCode(code).name
    except ValueError:
        name = f"error {code}"
    if code in (ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_LEADER_OR_FOLLOWER):
        return Failure(f"{doing}: the quorum has no leader", "See which voters are down: barnabas cluster status")
    return Failure(f"{doing}: the cluster said no: {name.lower().replace('_', ' ')}")
