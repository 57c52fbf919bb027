"""What `cluster status` calls healthy, and what it tells a script by its exit code."""

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.cli.cluster import voters
from barnabas.cli.cluster.health import DEGRADED, HEALTHY, UNAVAILABLE, exit_code, problems
from barnabas.cli.cluster.view import LogDirectory, View
from barnabas.cli.cluster.voters import Quorum, Replica, _newest, candidate
from barnabas.cli.common.failure import Failure
from barnabas.cli.main import main
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import uuid_text
from barnabas.operate.placement.nouns import Broker, Partition
from barnabas.testing.node import RunningNode
from tests.unit.broker.cluster import free_ports


def cluster(**changed: object) -> View:
    brokers = [Broker(number, "h", 9000 + number, None, True, role="voter") for number in (1, 2, 3)]
    partition = Partition("t", 0, 1, (1, 2, 3), (1, 2, 3))
    found = View("c", brokers, [partition], 1, quorum_leader=1, quorum_epoch=4, voters=[1, 2, 3])
    for name, value in changed.items():
        setattr(found, name, value)
    return found


def test_a_vote_that_belongs_to_a_lost_folder_is_a_voter_down() -> None:
    """The node is up and its replicas are whole, but the loss of one more voter stops the quorum."""
    assert exit_code(problems(cluster())) == HEALTHY
    (problem,) = problems(cluster(lost_votes=[2]))
    assert problem.severity == DEGRADED and "1 of 3 voters of the quorum down (2)" in problem.text
    assert "voters --remove 2, then barnabas cluster voters --add 2" in problem.way_out


def test_the_newer_folder_of_a_node_is_the_one_to_add(monkeypatch: pytest.MonkeyPatch) -> None:
    old = SimpleNamespace(replica_id=2, last_fetch_timestamp=100, name="old")
    new = SimpleNamespace(replica_id=2, last_fetch_timestamp=900, name="new")
    assert [each.name for each in _newest([old, new])] == [each.name for each in _newest([new, old])] == ["new"]
    found = Quorum(1, 4, [Replica(2, "old", "", "voter", 9), Replica(2, "new", "", "observer", 0)])
    monkeypatch.setattr("barnabas.cli.cluster.voters.quorum", lambda _: found)
    with pytest.raises(Failure, match="belongs to the old one") as refused:
        candidate(SimpleNamespace(brokers={2: ("h", 1)}, bootstrap="h:1"), 2)  # type: ignore[arg-type]
    assert "--remove 2" in refused.value.way_out


def test_a_node_that_is_up_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that was elected just now knows nobody who has not fetched from it."""
    told = [Quorum(1, 4), Quorum(1, 4), Quorum(1, 4, [Replica(3, "d", "", "observer", 0)])]
    monkeypatch.setattr(voters, "quorum", lambda _: told.pop(0) if len(told) > 1 else told[0])
    monkeypatch.setattr(voters, "may_vote", lambda *_: True)
    here: Any = SimpleNamespace(brokers={3: ("h", 1)}, bootstrap="h:1")
    assert voters.candidate(here, 3).id == 3
    told[:] = [Quorum(1, 4)]
    monkeypatch.setattr(voters, "_FOLLOWS_S", 0.2)
    with pytest.raises(Failure, match="node 3 is up, but does not follow the quorum") as refused:
        voters.candidate(here, 3)
    assert "from the quorum's leader, node 1" in refused.value.way_out


def test_another_change_of_the_voters_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that starts tells its address by one."""
    busy = SimpleNamespace(error_code=ErrorCode.REQUEST_TIMED_OUT, error_message="another change is under way")
    told = [busy, busy, SimpleNamespace(error_code=ErrorCode.NONE, error_message=None)]
    found = Quorum(1, 4, [Replica(each, uuid_text(bytes(16)), "", "voter", 0) for each in (1, 2, 3)])
    monkeypatch.setattr(voters, "quorum", lambda _: found)
    here: Any = SimpleNamespace(ask_any=lambda *_: told.pop(0) if len(told) > 1 else told[0], bootstrap="h:1")
    assert voters.remove_voter(here, 3) == [1, 2]
    told[:] = [busy]
    monkeypatch.setattr(voters, "_BUSY_S", 0.2)
    with pytest.raises(Failure) as refused:
        voters.remove_voter(here, 3)
    assert refused.value.message.endswith("request timed out (another change is under way)")


def test_a_full_disk_is_unavailable_where_nobody_else_can_lead() -> None:
    full = [LogDirectory(1, "/data", 1 << 40, 0)]
    assert exit_code(problems(cluster(disks=full))) == DEGRADED
    found = cluster(disks=full)
    found.brokers[0].leads = 2
    (problem,) = problems(found)
    assert problem.severity == UNAVAILABLE and "producers of the 2 partitions that it leads" in problem.text


def test_a_restarted_node_is_given_its_leaders_back() -> None:
    """`cluster balance` called it balanced while the node led nothing."""
    found = cluster(
        partitions=[
            Partition("t", 0, 2, (1, 2), (1, 2)),
            Partition("t", 1, 2, (2, 1), (1, 2)),
            Partition("t", 2, 2, (1, 2), (2,)),  # not in sync yet
        ]
    )
    assert [each.name for each in found.led_elsewhere] == ["t-0"]
    found.brokers[0].up = False
    assert found.led_elsewhere == []


def test_nodes_that_are_up_are_not_to_be_started() -> None:
    (problem,) = problems(cluster(partitions=[Partition("t", 0, 1, (1, 2, 3), (1, 2))]))
    assert "All nodes are up: replicas on 3" in problem.way_out


def test_a_node_that_waits_for_its_quorum_is_told_within_seconds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, *others = free_ports(3)
    voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate([own, *others], 1))
    nodes = [
        RunningNode(tmp_path / str(number), {"node.id": number, "controller.quorum.voters": voters}, port=port)
        for number, port in ((1, own), (2, others[0]))
    ]
    nodes[0].launch()
    try:
        began = time.monotonic()
        code = 1
        while code == 1 and time.monotonic() - began < 30:  # until it listens
            code = main(["cluster", "status", "--json", "-b", f"127.0.0.1:{own}"])
            told = capsys.readouterr()
        assert code == UNAVAILABLE and time.monotonic() - began < 20
        assert json.loads(told.out)["health"] == "unavailable"
        assert "waits for its quorum" in told.err
    finally:
        nodes[1].launch()
        for node in nodes:
            node.wait_until_ready()
        for node in nodes:
            node.ask_to_stop()
        for node in nodes:
            node.stop()
