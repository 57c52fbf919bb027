"""Scrapes the nodes of a cluster side by side, again and again; finds those that come and go."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from barnabas.cli.common.login import Login
from barnabas.observe.find import FoundNode, find_nodes
from barnabas.observe.overview import Overview, Scrape, overview
from barnabas.observe.samples import Metrics
from barnabas.observe.scrape import NodeScraper, ScrapeFailed, password_for

if TYPE_CHECKING:
    from barnabas.client.admin.admin import Admin

_FIND_EVERY_S = 10.0
_THREADS = 8


class Watch:
    def __init__(self, admin: Admin, login: Login) -> None:
        self._admin = admin
        self._login = login
        self._nodes: dict[int, FoundNode] = {}
        self._scrapers: dict[str, NodeScraper] = {}
        self._threads = ThreadPoolExecutor(_THREADS, "scrape")
        self._next_find = 0.0
        self._last: Scrape | None = None
        self.find()

    def find(self) -> None:
        for node in find_nodes(self._admin):
            known = self._nodes.get(node.node_id)
            if node.url is not None or known is None or known.url is None:
                self._nodes[node.node_id] = node  # one that is gone stays, and is said to be down
        self._next_find = time.monotonic() + _FIND_EVERY_S

    @property
    def nodes(self) -> list[FoundNode]:
        return list(self._nodes.values())

    @property
    def serves(self) -> bool:
        return any(node.url for node in self._nodes.values())

    def scrape(self) -> Scrape:
        served = [node for node in self._nodes.values() if node.url]
        metrics: dict[int, Metrics] = {}
        failed = {node.node_id: node.why for node in self._nodes.values() if not node.url}
        for node, found in zip(served, self._threads.map(self._scraped, served), strict=True):
            if isinstance(found, str):
                failed[node.node_id] = found
            else:
                metrics[node.node_id] = found
        return Scrape(time.monotonic(), metrics, failed)

    def _scraped(self, node: FoundNode) -> Metrics | str:
        assert node.url is not None
        try:
            scraper = self._scrapers.get(node.url)
            if scraper is None:
                login = password_for(node.url, self._login.credentials)
                scraper = self._scrapers[node.url] = NodeScraper(node.url, login=login, tls=self._login.tls)
            return scraper.metrics()
        except ScrapeFailed as error:
            return f"{node.url}: {error}"

    def look(self) -> Overview:
        """What is now, compared with the last look."""
        now = self.scrape()
        before, self._last = self._last or now, now
        return overview(before, now)

    def find_again(self) -> None:
        if time.monotonic() >= self._next_find:
            self.find()

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for scraper in self._scrapers.values():
            scraper.close()
