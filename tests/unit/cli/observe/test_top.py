"""`barnabas top` against nodes with metrics and without."""

from __future__ import annotations

import io
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from barnabas import Admin, Consumer, Producer
from barnabas.cli.top import command
from barnabas.cli.top.tables import group_row, node_row, topic_row
from barnabas.observe.overview import GroupRow, NodeRow, Overview, TopicRow
from barnabas.testing import RunningNode, running_node
from tests.support.process import free_port
from tests.unit.cli.typed import Typed


@pytest.fixture(scope="module")
def metered() -> Iterator[RunningNode]:
    """A node that serves metrics; a topic, and a group that has read half of it."""
    with running_node({"metrics.listeners": f"http://127.0.0.1:{free_port()}"}) as node:
        fill(node)
        yield node


def fill(node: RunningNode) -> None:
    with Admin(node.bootstrap) as admin:
        admin.create_topic("orders", partitions=1)
    with Producer(node.bootstrap) as producer:
        for _ in range(10):
            producer.send("orders", b"x" * 100)
    assert list(Consumer("orders", bootstrap=node.bootstrap, group="billing", max_records=5))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_ONCE_S", 0.1)


def test_one_look_has_nodes_topics_and_what_is_wrong(typed: Typed, metered: RunningNode) -> None:
    said = typed("top", "--once", "-b", metered.bootstrap)
    assert said.code == 0 and said.lines()[0].startswith("NODE STATE IN/S OUT/S")
    assert any(line.startswith("orders ") for line in said.lines())
    assert said.lines()[-1] == "nothing is wrong"
    found = typed("top", "--json", "-b", metered.bootstrap).json()
    assert found["nodes"][0]["up"] and "orders" in {each["topic"] for each in found["topics"]}
    assert len(typed("top", "--json", "--rows", 1, "-b", metered.bootstrap).json()["topics"]) == 1


def test_a_node_without_metrics_is_asked_by_the_protocol(typed: Typed, barnabas_node: RunningNode) -> None:
    fill(barnabas_node)
    said = typed("top", "-b", barnabas_node.bootstrap)
    assert said.code == 0 and "No node serves metrics. Switch them on: barnabas up --set metrics.listeners=" in said.err
    assert f"1 {barnabas_node.bootstrap}" in said.lines() and "billing 5" in said.lines()
    found = typed("top", "--json", "-b", barnabas_node.bootstrap).json()
    assert found["groups"] == [{"group": "billing", "lag": 5}]


def test_the_live_screen_shows_what_is_wrong_in_red_words() -> None:
    from rich.console import Console

    down = NodeRow(2, False, "refused", 0.0, 0.0, 0.0, 0.0, None, 0, 0, 0.0, 0)
    up = NodeRow(1, True, "", 2048.0, 0.0, 1500.0, 12.0, 3.25, 4, 64 << 20, 12.0, 7)
    topics, groups = [TopicRow("orders\x1b[2J", 1500.0, 2048.0, 0.0, 1 << 20)], [GroupRow("g", "orders", None, None, 0)]
    out = io.StringIO()
    for seen in (Overview([up, down], topics, groups, ["3 partitions have no leader"]), Overview([up], [], [], [])):
        Console(file=out, width=140).print(command._picture(seen, 10))
    told = out.getvalue()
    assert "3 partitions have no leader" in told and "nothing is wrong" in told and "\x1b" not in told
    assert node_row(down) == ("2", "down", *[""] * 9)
    assert node_row(up) == ("1", "up", "2 KiB", "0 B", "1,500", "12", "3.2", "4", "64 MiB", "12", "7")
    assert topic_row(topics[0])[1:] == ("1,500", "2 KiB", "0 B", "1 MiB")
    assert group_row(groups[0]) == ("g", "orders", "?", "?", "0")
    assert group_row(GroupRow("g", "orders", 1200, 90.0, 2)) == ("g", "orders", "1 min 30 s", "1,200", "2")


def test_the_live_screen_looks_again_until_ctrl_c(
    typed: Typed, metered: RunningNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = list[float]()

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr(command, "time", SimpleNamespace(sleep=sleep))
    assert typed("top", "--interval", 0.5, "-b", metered.bootstrap).code == 0
    assert looks == [0.5] * 3
