"""Pipelines in the browser: what a run tells, one that cannot begin, who may see them. From start to
stop on a real Spark: tests/spark/test_console.py."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Browser, expect

from barnabas.console.people.passwords import hashed
from tests.console.conftest import watch
from tests.support.cluster import BarnabasCluster
from tests.support.console import ConsoleProcess, Watched
from tests.support.members import QUIET, until


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("share") / "barnabas" / "pipelines"


@pytest.fixture(scope="module")
def own_console(
    cluster: BarnabasCluster, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleProcess]:
    """With a folder of pipelines of its own."""
    share = str(home.parent.parent)
    serving = ConsoleProcess(tmp_path_factory.mktemp("console"), cluster.bootstrap, env={"XDG_DATA_HOME": share})
    try:
        serving.start()
        yield serving
    finally:
        serving.stop()


@pytest.fixture
def page_of(browser: Browser, own_console: ConsoleProcess) -> Iterator[Watched]:
    yield from watch(browser, own_console.address)


def test_a_run_that_cannot_begin_says_why(page_of: Watched) -> None:
    """Its topics are missing, and nobody asked for data."""
    page = page_of.open("/c/local/pipelines")
    expect(page.get_by_text("No pipeline has run here")).to_be_visible()
    page.get_by_role("button", name="Start restore").click()
    page.get_by_role("dialog").get_by_role("button", name="Start").click()
    panel = page.get_by_role("region", name="restore")
    expect(panel.get_by_text("The last run failed:")).to_be_visible(timeout=60_000)
    expect(panel.get_by_role("alert")).to_contain_text("account-changes")


TELLS = """
import sys, time
from pathlib import Path
from barnabas.console.people.passwords import hashed
from barnabas.pipelines.framework.run_directory import RunDirectory
house = RunDirectory(Path(sys.argv[1]), sys.argv[2])
with house.occupied("now"):
    query = dict(name="totals", batches=4, rows=4200, rows_per_s=120.0, batch_ms=830, state_bytes=2048, late=0,
                 trouble="no node leads orders-2")
    house.tell("now", dict(pid=__import__("os").getpid(), pipeline=sys.argv[2], part="now", begun_at=time.time() - 90,
                           told_at=time.time() + 600, queries=[query], lag_records=77, lag_seconds=12.5, results=3,
                           bad=1, late=0, ui=None, master="local[2]"))
    print("told", flush=True)
    sys.stdin.read()
"""


@contextmanager
def told(home: Path, name: str) -> Iterator[subprocess.Popen[bytes]]:
    run = subprocess.Popen([sys.executable, "-c", TELLS, str(home), name], stdin=PIPE, stdout=PIPE)
    try:
        assert run.stdout is not None and run.stdout.readline() == b"told\n"
        yield run
    finally:
        run.kill()
        run.communicate()


def test_what_a_run_tells_is_shown(page_of: Watched, home: Path) -> None:
    """A pipeline of one's own, started elsewhere: it is seen and stopped here, and could not be started."""
    with told(home, "mine") as run:
        page = page_of.open("/c/local/pipelines")
        panel = page.get_by_role("region", name="mine")
        expect(panel.get_by_text("in trouble")).to_be_visible()
        expect(panel.get_by_text("no node leads orders-2")).to_be_visible()
        labels, values = panel.get_by_role("term").all_inner_texts(), panel.get_by_role("definition").all_inner_texts()
        shown = dict(zip(labels, values, strict=True))
        assert (shown["Rows/s"], shown["Rows"], shown["Last batch"]) == ("120/s", "4200", "830 ms")
        assert (shown["Lag"], shown["Behind"], shown["Dead letters"]) == ("77", "13 s", "1")
        panel.get_by_role("button", name="Stop mine").click()
        expect(panel.get_by_text("stopped", exact=True)).to_be_visible()
        until(lambda: run.poll() is not None, "it has ended")
        expect(panel.get_by_role("button", name="Start mine")).to_have_count(0)


def test_dead_letters_of_a_pipeline_are_a_click_away(page_of: Watched, cluster: BarnabasCluster, home: Path) -> None:
    name = "sensor-readings.dead-letter"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})
    admin.create_topics([NewTopic(name, 1, 3)])[name].result(30)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, **QUIET})
    producer.produce(name, b"not JSON at all", headers={"error": b"not JSON"})
    assert producer.flush(30) == 0
    with told(home, "anomalies"):
        page = page_of.open("/c/local/pipelines")
        panel = page.get_by_role("region", name="anomalies")
        expect(panel.get_by_text("1 dead letter", exact=True)).to_be_visible()
        panel.get_by_role("link", name=name).click()
        expect(page.get_by_text("not JSON at all").first).to_be_visible()


def test_a_console_for_others_shows_no_processes_of_its_machine(
    browser: Browser, cluster: BarnabasCluster, tmp_path: Path
) -> None:
    """Whoever signs in is not whoever the machine's processes act as."""
    config = tmp_path / "console.toml"
    config.write_text(f'[users]\nada = "{hashed("lovelace")}"\n[clusters.local]\nbootstrap = "{cluster.bootstrap}"\n')
    serving = ConsoleProcess(tmp_path / "console", cluster.bootstrap, ["--config", str(config)])
    try:
        serving.start()
        for watched in watch(browser, serving.address):
            watched.expected("401|403")
            page = watched.open("/c/local/pipelines")
            page.get_by_label("User").fill("ada")
            page.get_by_label("Password").fill("lovelace")
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_text("they act as its machine")).to_be_visible()
            token = page.request.get(f"{serving.address}/api/session").json()["csrf"]
            for what in ("start", "stop"):
                address = f"{serving.address}/api/clusters/local/pipelines/metrics/{what}"
                assert page.request.post(address, headers={"X-CSRF-Token": token}, data={}).status == 403
    finally:
        serving.stop()
