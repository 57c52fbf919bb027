"""`barnabas mirror` between two nodes of this process: it copies until Ctrl-C, and says where it stands."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from barnabas import Admin, Consumer, Producer
from barnabas.cli.mirror.flows import flows_typed
from barnabas.cli.mirror.status import FlowStatus, PartitionRow, show, status_of
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.connectors.mirror.groups import GroupPlace
from barnabas.connect.errors import ConnectError
from barnabas.testing import running_node
from tests.support.members import until
from tests.support.process import free_port
from tests.unit.cli.typed import Typed

FAST = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.num.partitions": 1}


@pytest.fixture(scope="module")
def words() -> Iterator[list[str]]:
    """The clusters as they are typed; east has orders, of which billing has read two."""
    with running_node(FAST) as east, running_node(FAST) as west:
        with Admin(east.bootstrap) as admin:
            admin.create_topic("orders", partitions=1)
        with Producer(east.bootstrap) as producer:
            for value in (b"a", b"b", b"c"):
                producer.send("orders", value)
        assert list(Consumer("orders", bootstrap=east.bootstrap, group="billing", max_records=2))
        yield [f"east={east.bootstrap}", f"west={west.bootstrap}"]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.cli.mirror.status._SAMPLE_S", 0.05)


def ended_when(condition: Callable[[], bool]) -> threading.Thread:
    """Ctrl-C to the command that this process runs, as soon as it is so; or when it never is."""

    def watch() -> None:
        try:
            until(condition, "the mirror has done it", 25)
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    beside = threading.Thread(target=watch)
    beside.start()
    return beside


def test_the_life_of_a_mirror(typed: Typed, words: list[str]) -> None:
    east, west = words
    (flow,) = flows_typed(words, False, {})
    pasted = f"barnabas mirror run {east} {west}"
    said = typed("mirror", "status", *words)
    assert said.code == 1 and f"state not there. Start it: {pasted}" in said.lines()
    said = typed("mirror", "pause", *words)
    assert said.code == 1 and f"there is no mirror east -> west in {flow.target}. Start it: {pasted}" in said.err

    running: list[FlowStatus] = []

    def copied() -> bool:
        try:
            running.append(status_of(flow))
        except ConnectError:
            return False
        return running[-1].state == "running" and running[-1].lag == 0 and any(running[-1].groups)

    beside = ended_when(copied)
    said = typed("mirror", "run", *words)
    beside.join(30)
    assert said.code == 0 and "mirroring east -> west, as worker " in said.err
    assert running[-1].is_well and running[-1].workers == 1
    assert running[-1].partitions == [PartitionRow("orders", 0, 3, 0, running[-1].partitions[0].per_s, 0)]
    assert [message.value for message in Consumer("east.orders", bootstrap=flow.target, follow=False)] == [
        b"a",
        b"b",
        b"c",
    ]

    said = typed("mirror", "status", *words)
    assert said.code == 1 and "state no worker. Start it again (mirror run), as it was started" in said.lines()
    assert "behind 0 records" in said.lines()
    assert any(line.startswith("orders 0 3 0 0.0/s") for line in said.lines())
    assert any(line.startswith("billing east.orders 0 2 ") for line in said.lines())
    (told,) = typed("mirror", "status", *words, "--json").json()
    assert (told["lag"], told["partitions"][0]["offset"], told["groups"][0]["group"]) == (0, 3, "billing")

    resume = f"On again: barnabas mirror resume {east} {west}"
    assert typed("mirror", "pause", *words).out == f"mirror-east-west: paused. {resume}\n"
    assert typed("mirror", "pause", *words).out == f"mirror-east-west: paused already. {resume}\n"
    assert f"state paused. {resume}" in typed("mirror", "status", *words).lines()
    assert typed("mirror", "resume", *words, "--json").json() == {"mirrors": ["mirror-east-west"], "state": "running"}
    said = typed("mirror", "remove", *words)
    assert said.code == 2 and "Remove mirror-east-west and where they stand? Nobody is here to answer." in said.err
    assert typed("mirror", "remove", *words, "--yes").out == "removed mirror-east-west\n"
    assert typed("mirror", "status", *words, "--json").json()[0]["state"] == "not there"


def test_a_paused_mirror_stays_so_when_it_is_started(
    typed: Typed, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart of the machine must not undo a pause that was meant."""
    back, notes = [words[1], words[0]], list[str]()
    monkeypatch.setattr("barnabas.cli.mirror.running.note", notes.append)

    def run(told: int) -> None:
        beside = ended_when(lambda: len(notes) >= told)
        assert typed("mirror", "run", *back, "--no-groups").code == 0
        beside.join(30)

    run(1)
    assert notes[0].startswith("mirroring west -> east, as worker ")
    assert typed("mirror", "pause", *back).code == 0
    notes.clear()
    run(2)
    assert notes[0].startswith("mirroring west -> east (paused), as worker ")
    resume = f"barnabas mirror resume {' '.join(back)}"
    assert notes[1] == f"west -> east is paused: nothing is copied. To go on: {resume}"


def test_a_cluster_that_is_away_is_one_line(typed: Typed, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster.check, "__defaults__", (0.3,))  # seconds
    nowhere = f"away=127.0.0.1:{free_port()}"
    said = typed("mirror", "status", words[0], nowhere)
    assert said.code == 1 and said.err.count("\n") == 1 and nowhere.removeprefix("away=") in said.err


def test_check_says_what_would_run(typed: Typed) -> None:
    said = typed(
        "mirror", "run", "a=h:1", "b=h:2", "c=h:3", "--both", "--same-names", "--topics", "orders.*", "--check"
    )
    names = [f"mirror-{one}-{two}" for one in "abc" for two in "abc" if one != two]
    assert (said.code, said.out) == (0, f"makes sense: {', '.join(names)}\n")


def test_what_is_shown_of_each_flow(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [PartitionRow("orders", 0, 1200, None, 12.5, 3), PartitionRow("orders", 1, 7, 1500, 0.0, 0)]
    groups = [
        GroupPlace("billing", "east.orders", 0, 1200, 1100, 1100, 100, False),
        GroupPlace("audit", "east.orders", 1, 7, 7, None, 0, False),
        GroupPlace("live", "east.orders", 1, 7, 7, 7, 0, True),
    ]
    found = FlowStatus("east", "west", "failed", "no leader", 2, None, 12.5, 100, rows, groups)
    assert not found.is_well
    show([found, found._replace(state="running", problem="", partitions=[], groups=[])], ["", ". Well"], as_json=False)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for line in (
        "mirror east -> west", "state failed", "workers 2", "behind not known", "rate 12/s", "problem no leader",
        "read again at most 100 records, by a group that goes on at west",
        "orders 0 1200 - 12/s 3", "orders 1 7 1,500 0.0/s",
        "billing east.orders 0 1200 1100 <= 100", "audit east.orders 1 7 - 0", "live east.orders 1 7 7 active there",
        "state running. Well",
    ):  # fmt: skip
        assert line in lines, line
