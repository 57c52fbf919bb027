"""Alerts about a single node: a real Prometheus, and a node in this process, on a small disk, whose troubles are
caused. Together with test_dashboard_and_alerts.py every alert of deploy/ fires once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition
from barnabas.testing import RunningNode, running_node
from tests.metrics.prometheus import Prometheus, shortened
from tests.metrics.test_dashboard_and_alerts import ALERTS
from tests.support.members import until
from tests.support.process import free_port
from tests.support.wire import WireClient

pytestmark = [pytest.mark.timeout(180), pytest.mark.xdist_group("prometheus")]
DISK_BYTES = 96 << 20
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36


class Single(NamedTuple):
    node: RunningNode
    prometheus: Prometheus
    login_address: str
    data: Path
    settings: dict[str, str]

    def fires(self, alert: str) -> None:
        until(lambda: alert in self.prometheus.firing(), f"{alert} fires", 20)

    def on_loop(self, work: Callable[[], object]) -> None:
        assert self.node._loop is not None
        self.node._loop.call_soon_threadsafe(work)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small tmpfs."""
    if os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    place = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(place)]
    if (mounted := subprocess.run(mount, capture_output=True, text=True, check=False)).returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture(scope="module")
def single(disk: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Single]:
    folder = tmp_path_factory.mktemp("single")
    plain, login, metrics = (f"127.0.0.1:{free_port()}" for _ in range(3))
    settings = {
        "listeners": f"PLAINTEXT://{plain},LOGIN://{login}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.login.plain.sasl.jaas.config": f'{PLAIN} user_alice="right";',
        "metrics.listeners": f"http://{metrics}",
        "log.flush.offset.checkpoint.interval.ms": "500",
    }
    data = disk / "data"
    rules = shortened(ALERTS, folder / "alerts.yml")
    prometheus = Prometheus(folder / "prometheus", {"single": [metrics]}, rules)
    prometheus.start()
    try:
        with running_node(settings, data_dir=data) as node:
            until(lambda: bool(prometheus.query("barnabas_ready == 1")), "the node is scraped", 20)
            yield Single(node, prometheus, login, data, settings)
    finally:
        prometheus.stop()


def test_a_loop_that_is_held_up(single: Single) -> None:
    for _ in range(8):
        single.on_loop(lambda: time.sleep(0.15))
        time.sleep(0.3)  # each is a stall of its own
    single.fires("BarnabasLoopStalls")


def test_wrong_passwords(single: Single) -> None:
    def guess() -> None:
        with WireClient(single.login_address, 30) as client:
            client.call(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
            client.call(SASL_AUTHENTICATE, 1, {"auth_bytes": b"\0alice\0wrong"})

    threads = [threading.Thread(target=guess) for _ in range(25)]
    for thread in threads:
        thread.start()
    single.fires("BarnabasFailedLogins")
    for thread in threads:
        thread.join(30)


def test_a_part_that_fails(single: Single) -> None:
    """A folder stands where recovery points are to be written."""
    in_the_way = single.data / "recovery-point-offset-checkpoint.tmp"

    def stands() -> bool:
        with suppress(FileExistsError):  # for a moment, when the node has just written them
            in_the_way.mkdir()
        return in_the_way.is_dir()

    until(stands, "the folder is there", 10)
    single.fires("BarnabasPartFails")
    in_the_way.rmdir()
    until(lambda: "BarnabasPartFails" not in single.prometheus.firing(), "it ends with the failure", 20)


def test_a_damaged_replica(single: Single) -> None:
    """As if it could not have been opened: a node repairs what a test can do to a log without a failing disk."""
    node = single.node._node
    assert node is not None
    damaged = TopicPartition("orders", 0)
    reason = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "input/output error")
    single.on_loop(lambda: node.partitions.unusable.update({damaged: reason}))
    single.fires("BarnabasOfflineReplicas")
    single.on_loop(lambda: node.partitions.unusable.pop(damaged))


def test_a_disk_that_fills_up(single: Single) -> None:
    """Within the hour, says the clock of the node, which is moved on; then to the last tenth."""
    single.node.stop()
    began = time.time()
    with running_node(single.settings, data_dir=single.data, movable_clock=True) as node:
        scraped = f"barnabas_ready == 1 and timestamp(barnabas_ready) > {began}"
        until(lambda: bool(single.prometheus.query(scraped)), "the node is scraped", 20)
        (single.data / "filler").write_bytes(bytes(DISK_BYTES // 2))
        node.advance(minutes=6)
        single.fires("BarnabasDiskFullSoon")
        free = shutil.disk_usage(single.data).free
        (single.data / "filler-2").write_bytes(bytes(free - DISK_BYTES // 20))
        single.fires("BarnabasDiskNearlyFull")


def test_no_alert_is_left_out() -> None:
    """Each is named in a test of these two files."""
    files = (Path(__file__), Path(__file__).with_name("test_dashboard_and_alerts.py"))
    tests = "".join(file.read_text() for file in files)
    named = {name for call in re.findall(r"\.fires\(([^)]*)\)", tests) for name in re.findall(r'"(Barnabas\w+)"', call)}
    alerts = {rule["alert"] for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]}
    assert alerts <= named
