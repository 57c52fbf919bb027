"""The real Prometheus scrapes a node, and its API gives back what the node counts."""

from __future__ import annotations

import json
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.metrics.conftest import MeteredNode, until
from tests.support.members import QUIET
from tests.support.process import free_port

CONFIG = """global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: barnabas
    params: {{partitions: ["true"]}}
    static_configs: [{{targets: ["{target}"]}}]
"""


@pytest.fixture(scope="module")
def prometheus(node: MeteredNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("prometheus")
    config, port = folder / "prometheus.yml", free_port()
    config.write_text(CONFIG.format(target=node.url.removeprefix("http://")))
    command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=Path(folder))
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def query(prometheus: str, expression: str) -> list[Any]:
    address = f"{prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return list(json.load(answer)["data"]["result"])
    except OSError:
        return []  # it is starting


def test_prometheus_scrapes_the_node(node: MeteredNode, prometheus: str) -> None:
    producer = Producer({**QUIET, "bootstrap.servers": node.bootstrap})
    for _ in range(50):
        producer.produce("scraped", b"x" * 100)
    assert producer.flush(20) == 0

    def value(expression: str) -> str | None:
        found = query(prometheus, expression)
        return found[0]["value"][1] if found else None

    until(lambda: value('up{job="barnabas"}') == "1")
    until(lambda: value('kafka_server_brokertopicmetrics_messagesin_total{topic="scraped"}') == "50")
    assert value('kafka_topic_partition_current_offset{topic="scraped",partition="0"}') == "50"
    assert value("sum(kafka_controller_kafkacontroller_activecontrollercount)") == "1"
    until(lambda: value("histogram_quantile(0.99, sum by (le) (rate(barnabas_request_seconds_bucket[1m])))"))
    assert value("kafka_network_requestmetrics_totaltimems{request='Produce',quantile='0.99'}") is not None
