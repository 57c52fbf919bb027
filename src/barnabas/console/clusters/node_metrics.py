"""What nodes tell of themselves in /metrics: bytes in and out, requests, processor, memory, clients' own view.

A node says in its settings where it serves them (`metrics.listeners`); who serves none, or refuses this person, is left
out, and so is Apache Kafka. Scraping is done in threads, and never waited for longer than a moment. A node that refuses
is asked again after a minute: each wrong login is in its audit trail, and is an alert when there are many.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.console.clusters.facts import Node
from barnabas.console.clusters.settings import BROKER
from barnabas.console.clusters.throttling import Throttled, throttled_between
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.errors import LinkDown, UnknownApi
from barnabas.link.sasl import Credentials
from barnabas.observe.find import SETTING, metrics_url
from barnabas.observe.overview import Overview, Scrape, overview
from barnabas.observe.samples import Metrics
from barnabas.observe.scrape import NodeScraper, ScrapeFailed, password_for
from barnabas.wire.apis import DESCRIBE_CONFIGS

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeConfigsResponse

_FIND_SECONDS = 30.0
_SCRAPE_SECONDS = 2.0
_REFUSED_SECONDS = 60.0
_REFUSALS = (401, 403)

_Login = tuple[str, str]  # user and password


class NodeMetrics:
    def __init__(self, nodes: AsyncNodes, tls: ssl.SSLContext | None, credentials: Credentials | None) -> None:
        self._nodes = nodes
        self._tls = tls
        self._credentials = credentials
        self._urls: dict[int, str] = {}
        self._found_at = 0.0
        self._scrapers: dict[tuple[str, _Login | None], NodeScraper] = {}
        self._refused: dict[NodeScraper, tuple[float, ScrapeFailed]] = {}  # until when it is not asked, and why
        self._before: Scrape | None = None
        self._throttled: list[Throttled] | None = None

    async def scrape(self, up: Iterable[Node]) -> Overview | None:
        """Rates since the last scrape; None where no node serves metrics, or before there were two."""
        if time.monotonic() - self._found_at > _FIND_SECONDS:
            await self._find(up)
        if not self._urls:
            self._before = self._throttled = None
            return None
        found: dict[int, Metrics] = {}
        failed: dict[int, str] = {}

        async def one(node: int, url: str) -> None:
            try:
                found[node] = await self._scrape(self._scraper(url))
            except ScrapeFailed as error:
                failed[node] = str(error)

        await asyncio.gather(*(one(node, url) for node, url in self._urls.items()))
        before, self._before = self._before, Scrape(time.monotonic(), found, failed)
        if before is None:
            return None
        self._throttled = throttled_between(before, self._before)
        return overview(before, self._before)

    @property
    def throttled(self) -> list[Throttled] | None:
        """None where no node serves metrics to this person."""
        return self._throttled

    @property
    def last(self) -> dict[int, Metrics]:
        return {} if self._before is None else dict(self._before.metrics)

    def log_in_as(self, credentials: Credentials | None) -> None:
        self._credentials = credentials

    async def _scrape(self, scraper: NodeScraper) -> Metrics:
        until, why = self._refused.get(scraper, (0.0, None))
        if why is not None and time.monotonic() < until:
            raise why
        try:
            return await asyncio.to_thread(scraper.metrics)
        except ScrapeFailed as error:
            if error.status in _REFUSALS:
                self._refused[scraper] = time.monotonic() + _REFUSED_SECONDS, error
            raise

    def _scraper(self, url: str) -> NodeScraper:
        login = password_for(url, self._credentials)
        made = self._scrapers.get((url, login))
        if made is None:
            made = NodeScraper(url, login=login, tls=self._tls, timeout_s=_SCRAPE_SECONDS)
            self._scrapers[url, login] = made
        return made

    async def _find(self, up: Iterable[Node]) -> None:
        self._found_at = time.monotonic()
        urls: dict[int, str] = {}

        async def one(node: Node) -> None:
            resource = {"resource_type": BROKER, "resource_name": str(node.id), "configuration_keys": [SETTING]}
            try:
                answer: DescribeConfigsResponse = await self._nodes.ask(
                    node.id, DESCRIBE_CONFIGS, {"resources": [resource]}, timeout_s=_SCRAPE_SECONDS
                )
            except (LinkDown, UnknownApi):
                return
            for each in answer.results[0].configs if answer.results else ():
                if each.name == SETTING and (url := metrics_url(each.value, node.host)) is not None:
                    urls[node.id] = url

        await asyncio.gather(*(one(node) for node in up))
        self._urls = urls
        for unused in set(self._scrapers) - {(url, password_for(url, self._credentials)) for url in urls.values()}:
            scraper = self._scrapers.pop(unused)
            self._refused.pop(scraper, None)
            scraper.close()

    def close(self) -> None:
        for scraper in self._scrapers.values():
            scraper.close()
        self._scrapers.clear()
