"""The doctor's checks on values that a healthy machine never shows."""

from __future__ import annotations

import json
import os
import resource
from collections import namedtuple
from pathlib import Path

import pytest

from barnabas.cli.doctor import health, node, system
from barnabas.cli.doctor.command import Check
from barnabas.cli.doctor.probe import Told
from barnabas.testing import RunningNode
from tests.unit.cli.typed import Typed

GIB = 1 << 30
Usage = namedtuple("Usage", "total used free")


def told(**more: object) -> Told:
    known = {
        "apis": dict.fromkeys((0, 1, 2, 3, 10, 11), (0, 9)), "cluster_id": "c", "controller_id": 1,
        "brokers": {1: ("h", 9092)}, "topics": 2, "leaderless": [], "sharing_a_zone": [], "round_trip_s": 0.001,
    }  # fmt: skip
    return Told(**{**known, **more})  # type: ignore[arg-type]


def found(told_: Told) -> dict[str, Check]:
    return {each.what: each for each in node._told(told_, ("h", 9092))}


def test_what_a_client_is_told() -> None:
    good = found(told())
    assert {each.status for each in good.values()} == {"ok"}
    assert good["told"].told == "node 1 sends clients to h:9092, as reached"
    assert found(told(apis={}))["apis"].told.startswith("Produce, Fetch, ListOffsets")
    assert found(told(leaderless=["t-0"]))["partitions"].told == "1 partition without a leader: t-0"
    assert found(told(sharing_a_zone=["t-0"]))["zones"].status == "warn"
    assert found(told(brokers={}))["told"].told == "no node at all"
    assert found(told(brokers={1: ("0.0.0.0", 9092)}))["told"].way_out == "Start it with --advertise HOST:PORT."
    away = found(told(brokers={1: ("127.0.0.1", 1)}))["told"]
    assert away.status == "fail" and "give it an address that clients can reach" in away.way_out


def test_latency_and_the_clock_of_the_node() -> None:
    assert node._latency([0.001] * 5, 5).status == "ok"
    assert node._latency([0.2] * 5, 5).way_out == "The disk or the network is slow."
    lost = node._latency([0.001] * 5, 3)
    assert (lost.status, lost.told) == ("fail", "2 of 5 records did not arrive")
    assert node._clock(0.2).status == "ok"
    assert node._clock(-90).told == "the node's clock is 1 min 30 s behind this one"


def test_a_record_is_written_and_its_topic_goes_again(typed: Typed, barnabas_node: RunningNode) -> None:
    said = typed("doctor", "--write", "-b", barnabas_node.bootstrap, "--json")
    checks = {each["what"]: each for each in said.json()["node"]}
    assert checks["write"]["status"] in ("ok", "warn") and checks["clock"]["status"] == "ok"
    assert typed("topic", "list", "-b", barnabas_node.bootstrap, "--json").json() == []
    shown = typed("doctor", "-b", barnabas_node.bootstrap)
    assert {"node", "health", "system"} <= set(shown.lines())


def status(folder: Path, **more: object) -> list[Check]:
    written = {"version": 1, "pid": os.getpid(), "node_id": 7, **more}
    (folder / "status.json").write_text(json.dumps(written))
    return list(health.checks(folder))


def test_what_a_node_says_of_itself(tmp_path: Path) -> None:
    (none,) = health.checks(tmp_path)
    assert none.told == f"no node runs with its data in {tmp_path}"
    (good,) = status(tmp_path)
    assert (good.status, good.told) == ("ok", "none on node 7")
    problem = {"what": "flush", "subject": "t-0", "reason": "the disk is full", "times": 3, "way_out": ""}
    bad, more = status(tmp_path, problems=[problem], problems_omitted=4)
    assert bad.told == "node 7, t-0: the disk is full (3 times)" and bad.way_out == "Look at the node's log."
    assert more.told == "node 7: 4 more"
    loop = {"holds": 2, "budget_ms": 50, "worst_ms": 140, "worst_where": "api.fetch", "worst_request": "fetch"}
    held = status(tmp_path, loop=loop)[-1]
    assert held.told == "node 7: held 2 times, at worst 140 ms by api.fetch, serving fetch"
    assert status(tmp_path, loop={**loop, "holds": 0})[-1].told == "node 7: never held for more than 50 ms"


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 2}', '{"version": 1, "pid": "x"}', " " * 20_000_000])
def test_a_status_that_no_running_node_wrote_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "status.json").write_text(text)
    (only,) = health.checks(tmp_path)
    assert only.told.startswith("no node runs")


@pytest.mark.parametrize(
    ("limits", "level"), [((512, 1 << 20), "fail"), ((4096, 4096), "warn"), ((1 << 20, 1 << 20), "ok")]
)
def test_open_files(monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], level: str) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    check = system._open_files()
    assert check.status == level
    assert ("/etc/security/limits.conf" in check.way_out) == (limits[1] == 4096)


@pytest.mark.parametrize(
    ("kind", "usage", "levels"),
    [
        ("ext4", Usage(100 * GIB, 0, 50 * GIB), ["ok", "ok"]),
        ("nfs4", Usage(100 * GIB, 0, 5 * GIB), ["warn", "warn"]),
        ("tmpfs", Usage(100 * GIB, 0, 1), ["warn", "fail"]),
    ],
)
def test_where_the_data_lie(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, usage: Usage, levels: list[str]
) -> None:
    monkeypatch.setattr(system, "_filesystem", lambda _: kind)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    checks = list(system._folder(tmp_path / "later"))
    assert [each.status for each in checks] == levels and "(will be made)" in checks[0].told


def test_a_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    (check,) = system._folder(tmp_path)
    assert (check.status, check.told) == ("fail", f"{tmp_path} cannot be written")


def test_the_file_system_is_that_of_the_longest_mount(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mounts = f"a / ext4 rw\nb {tmp_path} xfs rw\nc {tmp_path}/data nfs rw\nshort\n"
    monkeypatch.setattr(Path, "read_text", lambda self: mounts)
    assert system._filesystem(tmp_path) == "xfs" and system._filesystem(tmp_path / "data" / "x") == "nfs"
    assert system._filesystem(Path("/")) == "ext4"


def test_systems_that_do_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: Path) -> str:
        raise OSError

    monkeypatch.setattr(Path, "read_text", missing)
    assert system._filesystem(Path("/")) == ""
    assert system._memory().told == "this system does not tell"
    assert system._maps().told == "this system has no limit to look at"
    monkeypatch.setattr(Path, "read_text", lambda self: "MemTotal: 8000000 kB\nMemAvailable: 1000 kB\n")
    assert system._memory().status == "warn"
    monkeypatch.setattr(Path, "read_text", lambda self: "1000\n")
    assert system._maps().way_out == "sysctl -w vm.max_map_count=65530"
