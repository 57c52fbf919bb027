"""`metrics.listeners`: what each path answers, and who may ask.

| path              | answer                                                                  | login          |
|-------------------|-------------------------------------------------------------------------|----------------|
| /metrics          | the text of scrape.py; with partitions=true a series for each partition | where set      |
| /health/live      | 200 while the process serves                                            | never          |
| /health/ready     | 200 when clients may come, 503 with the reason as JSON                  | never          |
"""

import asyncio
import gzip
import json
import logging
from concurrent.futures import Executor
from functools import partial
from ipaddress import ip_address
from typing import Protocol

from barnabas.broker.metrics.exposition import CONTENT_TYPE
from barnabas.broker.metrics.http.acceptor import Acceptor
from barnabas.broker.metrics.http.connection import HttpConnection
from barnabas.broker.metrics.http.login import LISTENER, BasicLogin, LoginNode
from barnabas.broker.metrics.http.request import Answer, Refused, Request
from barnabas.broker.metrics.lag import GroupLags
from barnabas.broker.metrics.readiness import why_not_ready
from barnabas.broker.metrics.scrape import MeteredNode, Scraper
from barnabas.broker.network.listener import cannot_listen
from barnabas.broker.peers.table import Peers
from barnabas.broker.platform import Platform
from barnabas.model.limits import METRICS_QUEUED_MAX_BYTES
from barnabas.model.settings import Settings
from barnabas.model.settings.listener_security import tls_settings
from barnabas.model.settings.listeners import Listener, parse_listeners
from barnabas.tls.contexts import RenewedContext, server_context

events = logging.getLogger("barnabas.events")

HTTP, HTTPS = "HTTP", "HTTPS"
_GZIP_LEVEL = 1
_GZIP_FROM_BYTES = 1_024
_RENEW_SECONDS = 5.0
_CHALLENGE = (("WWW-Authenticate", 'Basic realm="barnabas", charset="UTF-8"'),)


class EndpointNode(MeteredNode, LoginNode, Protocol):
    """The node, for what it measures and for who may read that."""

    @property
    def settings(self) -> Settings: ...
    @property
    def peers(self) -> Peers: ...
    @property
    def read_threads(self) -> Executor: ...
    @property
    def platform(self) -> Platform: ...
    @property
    def has_broker(self) -> bool: ...
    @property
    def is_open(self) -> bool: ...
    @property
    def stopped(self) -> asyncio.Event: ...


def metrics_listeners(settings: Settings) -> list[Listener]:
    items = settings["metrics.listeners"]
    return parse_listeners("metrics.listeners", items if isinstance(items, tuple) else (), {HTTP: HTTP, HTTPS: HTTPS})


class MetricsEndpoint:
    """Raises CannotListen, and KafkaError(INVALID_CONFIG) for certificates that cannot be used."""

    def __init__(self, node: EndpointNode) -> None:
        self._node = node
        self._stopping = False
        self._thread = node.platform.threads(1, "metrics")
        lags = GroupLags(node, node.groups, node.partitions, node.peers, node.read_threads)
        with_login = node.settings["metrics.authentication"] == "basic"
        self._login = BasicLogin(node, self._thread) if with_login else None
        self.scraper = Scraper(node, lags, self.why_not_ready, lambda: self._login.failed.total if self._login else 0)
        self._acceptors: list[Acceptor] = []
        self.addresses: list[tuple[str, int]] = []
        for listener in metrics_listeners(node.settings):
            self._listen(listener)
        self._renewal = asyncio.get_running_loop().call_later(_RENEW_SECONDS, self._renew)

    def _listen(self, listener: Listener) -> None:
        tls = None
        if listener.protocol == HTTPS:
            tls = RenewedContext(tls_settings(self._node.settings, LISTENER), server_context)
        if self._login is None and not _is_loopback(listener.host):
            events.warning(
                "metrics.listeners: anybody who reaches %s:%d may read the metrics of this node. Set "
                "metrics.authentication=basic, or listen on 127.0.0.1.",
                listener.host or "*",
                listener.port,
            )
        try:
            bound = self._node.platform.listen(listener.host, listener.port)
        except OSError as error:
            raise cannot_listen(error, listener.host, listener.port) from error
        self.addresses.append(bound.getsockname()[:2])
        make = partial(HttpConnection, self._serve, may_send=self._may_send)
        self._acceptors.append(Acceptor(bound, tls, lambda ended: make(ended)))

    def _may_send(self, size: int) -> bool:
        return size + sum(each.queued_bytes for each in self._acceptors) <= METRICS_QUEUED_MAX_BYTES

    def _renew(self) -> None:
        loop = asyncio.get_running_loop()
        for acceptor in self._acceptors:
            loop.run_in_executor(self._thread, acceptor.renew_certificates).add_done_callback(_renewed)
        self._renewal = loop.call_later(_RENEW_SECONDS, self._renew)

    # --- answers ------------------------------------------------------------------------------------------------------

    async def _serve(self, request: Request, connection: HttpConnection) -> Answer:
        match request.path:
            case "/health/live":
                return _json(200, {"status": "live"})
            case "/health/ready":
                why = self.why_not_ready()
                return _json(503, {"status": "not ready", "reason": why}) if why else _json(200, {"status": "ready"})
            case "/metrics":
                if self._login is not None:
                    try:
                        await self._login.check(request.fields.get("authorization", ""), connection.host)
                    except Refused as refused:
                        fields = _CHALLENGE if refused.status == 401 else ()
                        return Answer(refused.status, f"{refused}\n".encode(), fields=fields)
                connection.was_served = True
                return await self._metrics(request)
            case "/":
                return Answer(200, b"/metrics\n/metrics?partitions=true\n/health/live\n/health/ready\n")
        raise Refused(404, "there is /metrics, /health/live and /health/ready")

    async def _metrics(self, request: Request) -> Answer:
        every = request.query.get("partitions", "") in ("true", "1")
        body = await self.scraper.text(every=every)
        if len(body) < _GZIP_FROM_BYTES or not request.takes_gzip:
            return Answer(200, body, CONTENT_TYPE)
        loop = asyncio.get_running_loop()
        packed = await loop.run_in_executor(self._thread, partial(gzip.compress, body, _GZIP_LEVEL, mtime=0))
        fields = (("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
        return Answer(200, packed, CONTENT_TYPE, fields)

    def why_not_ready(self) -> str:
        node = self._node
        return why_not_ready(
            node.image,
            node.controller,
            node.quorum.high_watermark,
            broker_id=node.node_id if node.has_broker else None,
            is_open=node.is_open,
            stopping=self._stopping or node.stopped.is_set(),
        )

    def stopping(self) -> None:
        """From now on the node is not ready: whoever sends clients here should stop."""
        self._stopping = True

    def close(self) -> None:
        self._renewal.cancel()
        self.scraper.close()
        for acceptor in self._acceptors:
            acceptor.close()
        self._thread.shutdown(wait=False)


def _renewed(done: "asyncio.Future[None]") -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        events.error("new certificates of metrics.listeners are not used, the old ones stay: %s", error)


def _json(status: int, body: dict[str, str]) -> Answer:
    return Answer(status, json.dumps(body).encode() + b"\n", "application/json")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
