"""`barnabas quota` against a node: set, listed, removed, and who is throttled now."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from barnabas.testing import RunningNode
from tests.unit.cli.typed import Typed


@pytest.fixture(autouse=True)
def _at(barnabas_node: RunningNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BARNABAS_BOOTSTRAP", barnabas_node.bootstrap)


def test_quotas_are_set_listed_and_removed(typed: Typed) -> None:
    assert typed("quota", "list").out == "no quotas. Set one: barnabas quota set USER --produce 1MB/s\n"
    said = typed("quota", "set", "alice", "--produce", "1MB/s", "--requests", "50%")
    assert said.out == "user alice: produce 1 MB/s, requests 50%\n"
    assert typed("quota", "set", "--default", "--default-client", "--fetch", "512KiB/s").code == 0
    assert typed("quota", "set", "--ip", "10.0.0.7", "--connections", "10/s").code == 0
    assert typed("quota", "set", "bob", "--client", "app", "--partitions", "5/s").code == 0
    assert typed("quota", "list").lines()[1:] == [
        "address 10.0.0.7 connections 10/s",
        "every user, every client id fetch 512 KiB/s",
        "user alice produce 1 MB/s, requests 50%",
        "user bob, client app partitions 5/s",
    ]
    rows = typed("quota", "list", "--json").json()
    assert {"entity": {"user": "alice"}, "quotas": {"producer_byte_rate": 1e6, "request_percentage": 50.0}} in rows
    assert typed("quota", "remove", "alice").out == "user alice: no quotas any more\n"
    assert "alice" not in typed("quota", "list").out
    said = typed("quota", "remove", "alice")
    assert said.code == 1 and "user alice: no quota of its own" in said.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("set", "alice"), "which quota?"),
        (("set", "--produce", "1MB/s"), "whose quota?"),
        (("set", "alice", "--default", "--produce", "1MB/s"), "user 'alice' and --default are two entities"),
        (("set", "alice", "--ip", "10.0.0.7", "--connections", "1/s"), "an address has its quota whoever connects"),
        (("set", "alice", "--connections", "1/s"), "--connections is the quota of an address, and its only one"),
        (("set", "--ip", "10.0.0.7", "--produce", "1MB/s"), "--connections is the quota of an address"),
        (("set", "alice", "--produce", "fast"), "Write it as --produce"),
        (("set", "alice", "--produce", "0"), "Remove one with: barnabas quota remove"),
        (("remove",), "whose quota?"),
    ],
)
def test_words_that_make_no_sense(typed: Typed, words: tuple[str, ...], told: str) -> None:
    said = typed("quota", *words)
    assert said.code == 2 and told in said.err and said.err.count("\n") == 1


def test_what_the_cluster_refuses_is_told_with_its_reason(typed: Typed) -> None:
    said = typed("quota", "set", "--ip", "no address", "--connections", "1/s")
    assert said.code == 1 and "quota of address no address: the cluster refused it: invalid request: " in said.err


def test_who_is_throttled_now(typed: Typed, barnabas_node: RunningNode) -> None:
    assert typed("quota", "list", "--now").out == "nobody was throttled in the last ten seconds\n"
    told = {
        "user": "alice", "client_id": "app", "rule": {"user": "alice"}, "key": "producer_byte_rate",
        "limit": 1e6, "used": 2.5e6, "time_ms": 1500, "ago_ms": 200,
    }  # fmt: skip
    status(barnabas_node.data_dir / "node", [told, {**told, "user": "long ago", "ago_ms": 60_000}])
    header, row = typed("quota", "list", "--now").lines()
    assert header == "node client by the rule of quota uses throttled for ago"
    assert row.startswith("9 user alice, client app user alice produce 1 MB/s 2.5 MB/s 1.5 s ")
    (row,) = typed("quota", "list", "--now", "--json").json()
    assert (row["node"], row["user"]) == (9, "alice") and 200 <= row["ago_ms"] < 60_000


def status(folder: Path, throttled: list[dict[str, object]]) -> None:
    """What a node writes to its folder; the real one of the test says that nobody was throttled."""
    folder.mkdir()
    quotas = {"throttled": throttled}
    written = {"version": 1, "pid": os.getpid(), "node_id": 9, "written_ms": int(time.time() * 1000), "quotas": quotas}
    (folder / "status.json").write_text(json.dumps(written))
