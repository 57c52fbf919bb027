"""A node that serves its metrics, and a few words to read them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from barnabas.observe.samples import Metrics
from barnabas.observe.scrape import NodeScraper, ScrapeFailed
from tests.conftest import FAST_GROUPS
from tests.support.process import free_port
from tests.support.servers import BarnabasNode


class MeteredNode(BarnabasNode):
    url = ""

    def metrics(self, *, partitions: bool = False) -> Metrics:
        scraper = NodeScraper(self.url)
        try:
            return scraper.metrics(partitions=partitions)
        finally:
            scraper.close()

    def is_ready(self) -> bool:
        try:
            return "ready" in self.text("/health/ready")
        except ScrapeFailed:  # not yet, or not even the port
            return False

    def text(self, path: str = "/metrics?partitions=true") -> str:
        scraper = NodeScraper(self.url)
        try:
            return scraper.text(path)
        finally:
            scraper.close()


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeteredNode]:
    port = free_port()
    settings = FAST_GROUPS | {"metrics.listeners": f"http://127.0.0.1:{port}", "offsets.topic.num.partitions": "4"}
    settings |= {"transaction.state.log.num.partitions": "4"}
    server = MeteredNode(tmp_path_factory.mktemp("metered"), settings)
    server.url = f"http://127.0.0.1:{port}"
    server.start()
    until(server.is_ready)
    try:
        yield server
        assert server.alive(), server.tail()
    finally:
        server.stop()


def until(found: Callable[[], object], seconds: float = 20) -> None:
    """What is asked for in the background is there a moment later."""
    ends = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < ends, "it did not come true"
        time.sleep(0.1)
