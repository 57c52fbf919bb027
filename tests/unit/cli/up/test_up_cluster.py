"""`barnabas up --nodes`: what its nodes say and how they end, and what is told before any is started."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.cli.common.failure import Failure
from barnabas.cli.up import cluster as up_cluster
from barnabas.cli.up.cluster import Cluster, _ports
from barnabas.cli.up.options import UpOptions
from barnabas.cli.up.secure import tell
from tests.support.process import free_port
from tests.unit.cli.typed import Typed

PORTS = [19092, 19093, 19094]


def made(tmp_path: Path, **options: Any) -> Cluster:
    return Cluster("127.0.0.1", PORTS, tmp_path, UpOptions(nodes=3, **options))


def ended(cluster: Cluster, number: int, code: int) -> None:
    node: Any = cluster.nodes[number - 1]
    node.process = SimpleNamespace(returncode=code, poll=lambda: code)
    cluster._ended(node)


def test_each_node_has_its_own_port_folder_zone_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    def start(words: list[str], dies_by: signal.Signals) -> Any:
        started.append(words)
        return SimpleNamespace(stdout=[], wait=lambda: 0, returncode=0)

    monkeypatch.setattr(up_cluster, "start_command", start)
    cluster = made(
        tmp_path, zone=("a,b,c"), witness=True, secure=True, log_level="info", log_format="json", set=["x=1"]
    )
    for node in cluster.nodes:
        cluster._start(node)
    text = [" ".join(words) for words in started]
    voters = "1@127.0.0.1:19092,2@127.0.0.1:19093,3@127.0.0.1:19094"
    assert all(f"--set controller.quorum.voters={voters}" in line and "--set x=1" in line for line in text)
    assert all(f"--secure --bundle {tmp_path / 'secure'} --log-level info --log-format json" in line for line in text)
    assert ["--witness" in line for line in text] == [False, False, True]
    assert [line.split("--zone ")[1][0] for line in text] == ["a", "b", "c"]
    assert f"--port 19093 --data {tmp_path / 'node-2'}" in text[1] and "default.replication.factor=2" in text[0]
    assert cluster.bootstrap == "127.0.0.1:19092,127.0.0.1:19093", "clients are not sent to the witness"


def test_a_node_that_dies_is_started_again_and_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = made(tmp_path)
    first = cluster.nodes[0]
    cluster._hear(first, "127.0.0.1:19092")
    cluster._hear(first, "a line of its log")
    assert first.ready
    ended(cluster, 1, -9)
    cluster._hear(first, "127.0.0.1:19092")
    told = capsys.readouterr().err.splitlines()
    assert told == [
        "node 1 | a line of its log",
        "node 1 | was ended by SIGKILL; started again in 2 s",
        "node 1 | is back",
    ]


def test_a_node_that_cannot_start_stays_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = made(tmp_path)
    other: Any = cluster.nodes[1]
    other.process = SimpleNamespace(poll=lambda: None)
    for _ in range(3):
        ended(cluster, 1, 1)
    assert capsys.readouterr().err.splitlines()[-1] == "node 1 | left with exit code 1; it stays down"
    other.process = None
    with pytest.raises(Failure, match="no node can start"):
        ended(cluster, 1, 1)


def test_one_that_is_not_ready_in_time_is_named(tmp_path: Path) -> None:
    cluster = made(tmp_path)
    for node in cluster.nodes:
        running: Any = SimpleNamespace(poll=lambda: None)
        node.process = running
    cluster.nodes[0].ready = True
    with pytest.raises(Failure, match="node 2, 3 is not ready after 60 s"):
        cluster._watch(lambda: False, 0.0)


def test_the_first_signal_stops_and_the_second_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []
    monkeypatch.setattr("os._exit", codes.append)
    cluster = made(tmp_path)
    cluster._on_signal(signal.SIGINT, None)
    assert cluster._stopping and codes == []
    cluster._on_signal(signal.SIGINT, None)
    assert codes == [130]


def test_a_node_that_does_not_stop_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(up_cluster, "_STOP_SECONDS", 0.3)
    cluster = made(tmp_path)
    script = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "up\n"
    cluster.nodes[0].process = child
    with child:
        assert cluster._stop() is False
    assert "node 1 | did not stop in 0 s and was killed" in capsys.readouterr().err


@pytest.mark.parametrize("on_terminal", [False, True])
def test_what_is_told_when_all_are_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], on_terminal: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: on_terminal)
    cluster = made(tmp_path)
    cluster._tell_ready(1.5)
    told = capsys.readouterr().out
    assert f"barnabas: 3 nodes are up on {cluster.bootstrap}  ready in 1.5 s" in told and str(tmp_path) in told
    assert (f"barnabas cluster kill-test -b {cluster.bootstrap}" in told) == on_terminal
    made(tmp_path, quiet=True)._tell_ready(1.5)
    assert capsys.readouterr().out == f"{cluster.bootstrap}\n"


def test_how_each_client_connects_to_a_secured_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tell("h:1", UpOptions(), tmp_path)
    assert "logs in by admin.properties of barnabas secure init, named in BARNABAS_PROFILE" in capsys.readouterr().out
    (tmp_path / "my secure").mkdir()
    (tmp_path / "my secure" / "admin.properties").touch()
    tell("h:1", UpOptions(bundle=str(tmp_path / "my secure")), tmp_path)
    told = capsys.readouterr().out
    assert f"--command-config '{tmp_path / 'my secure' / 'admin.properties'}' --list" in told, "to be pasted"
    assert "kcat -b h:1 -F '" in told and "barnabas audit -b h:1 --denied" in told


def test_ports_are_neighbours_or_any_that_are_free(typed: Typed) -> None:
    found = _ports("127.0.0.1", 0, 3)
    assert len(set(found)) == 3
    first = free_port()
    assert _ports("127.0.0.1", first, 2) == [first, first + 1]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = typed("up", "--nodes", 2, "--port", port)
    assert said.code == 1 and f"cannot listen on 127.0.0.1:{port}: address already in use. Use other ports" in said.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--config", "x"), "--nodes and --config do not go together"),
        (("--set", "node.id=3"), "--nodes chooses node.id by itself"),
        (("--witness",), "--witness with --nodes 2: two data nodes and a witness are the least. Use --nodes 3."),
    ],
)
def test_what_makes_no_sense(typed: Typed, words: tuple[str, ...], told: str) -> None:
    said = typed("up", "--nodes", 2, *words)
    assert said.code == 2 and told in said.err and said.err.count("\n") == 1
