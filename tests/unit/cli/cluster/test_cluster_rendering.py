"""What `cluster status` and the moves say of clusters that no test wants to have: full disks, zones, stuck moves."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from barnabas.cli.cluster import command, moves
from barnabas.cli.cluster.balance import _rate
from barnabas.cli.cluster.health import problems
from barnabas.cli.cluster.kill_test import Outcome, _tell, listening_process
from barnabas.cli.cluster.view import LogDirectory, View
from barnabas.cli.cluster.zones import TopicSettings, show, told_loss
from barnabas.cli.common.failure import Failure
from barnabas.operate.placement.nouns import Broker, Partition
from barnabas.operate.placement.plan import Move
from barnabas.operate.zones import Loss, Needs, Zone
from tests.support.process import free_port


def shown(found: View, capsys: pytest.CaptureFixture[str]) -> list[str]:
    command._show(found, problems(found))
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines() if line.strip()]


def view(**more: object) -> View:
    brokers = [Broker(number, "h", 9000 + number, None, number != 3, role="voter") for number in (1, 2, 3)]
    lost = [Partition("orders", index, -1, (3,), ()) for index in range(25)]
    behind = Partition("__consumer_offsets", 0, 1, (1, 3), (1,))
    found = View("c", brokers, [*lost, behind], 1, quorum_leader=1, quorum_epoch=4, voters=[1, 2, 3])
    for name, value in more.items():
        setattr(found, name, value)
    return found


def test_partitions_without_a_leader_are_listed_and_cut_short(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(view(), capsys)
    assert "health unavailable" in lines and "25 partitions without a leader" in lines
    assert "orders-0 replicas 3 in sync none" in lines and "and 5 more" in lines
    assert "__consumer_offsets-0 replicas 1,3 in sync 1" in lines
    assert any(line.startswith("topics 1 topic, 25 partitions; 1 partition of internal topics") for line in lines)


def test_a_quorum_without_a_leader_and_a_controller_that_is_no_broker(capsys: pytest.CaptureFixture[str]) -> None:
    found = view(quorum_leader=-1, brokers=[Broker(1, "", 0, None, True, role="voter"), Broker(2, "", 0, None, False)])
    lines = shown(found, capsys)
    assert "quorum no leader is known now" in lines
    assert any("controller only" in line for line in lines) and any("not a broker now" in line for line in lines)


def test_disks_are_told_before_they_are_full() -> None:
    gib = 1 << 30
    nearly, failed = LogDirectory(1, "/data", 100 * gib, gib // 2), LogDirectory(2, "/data", -1, -1, failed=True)
    told = [each.text for each in problems(view(disks=[nearly, failed]))]
    assert "the disk of node 1 is nearly full: 512 MiB free" in told
    assert "node 2 cannot use its data folder /data" in told


def test_what_the_loss_of_a_zone_costs(capsys: pytest.CaptureFixture[str]) -> None:
    assert told_loss(Loss(quorum_kept=True)) == "all is served"
    loss = Loss(quorum_kept=False, without_leader=3, without_data=1, refuses_writes=2, partitions=["a-0", "a-1"])
    assert told_loss(loss) == (
        "the quorum is lost: nothing fails over, 1 partition without any replica, 2 partitions without a leader, "
        "2 partitions read-only"
    )
    show([])
    assert capsys.readouterr().out == ""
    show([Zone("north", [1, 2], 2, 1, 5, 9, loss)])
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines() if line]
    assert lines[1].startswith("north 1,2 2 1 5 9 the quorum is lost")
    assert lines[2] == "without north: a-0, a-1 and 3 more"


def test_settings_of_topics_that_name_zones() -> None:
    found = TopicSettings(
        {"a": {"min.insync.replicas": "2", "min.insync.zones": "", "leader.preferred.racks": "n, s"}, "b": {}}
    )
    assert found.needs() == {"a": Needs(2, 1), "b": Needs(1, 1)}
    assert found.preferred() == {"a": ["n", "s"]}


@pytest.mark.parametrize(
    ("text", "rate"), [(None, None), ("50MB", 50_000_000), ("200KB/s", 200_000), ("1 GiB", 1 << 30), ("512", 512)]
)
def test_rates(text: str | None, rate: int | None) -> None:
    assert _rate(text) == rate


def test_a_move_without_progress_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = [1000.0]
    monkeypatch.setattr(moves, "time", SimpleNamespace(monotonic=lambda: now[0]))
    move = Move(Partition("orders", 0, 1, (1,), (1,)), (2,), 0)
    with moves._Bar([move, move]) as bar:
        cluster: object = None
        bar.arrived(cluster, [move])  # type: ignore[arg-type]
        now[0] += moves._STILL_SECONDS + 1
        bar.arrived(cluster, [move])  # type: ignore[arg-type]
        bar.finished(move)
    told = capsys.readouterr().err
    assert "nothing has arrived for 2 min: orders-0. Is a node down?" in told
    assert "moved orders-0 to 2 (1/2)" in told


def test_a_broken_promise_is_said_aloud(capsys: pytest.CaptureFixture[str]) -> None:
    good = Outcome(1, 4711, 0.8, 2, 3000, 0, 0, 0)
    _tell(good)
    assert "nothing that was acknowledged is lost" in capsys.readouterr().out
    lost = Outcome(1, 4711, 0.8, 2, 3000, 2, 0, 0)
    assert good.good and not lost.good
    _tell(lost)
    told = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "lost 2" in told and "gap 800 ms" in told and "THE CLUSTER BROKE ITS PROMISE" in told


def test_nobody_listens_there() -> None:
    with pytest.raises(Failure, match="no process of yours on this machine listens on port") as refused:
        listening_process(free_port())
    assert "kill-test is for a cluster on this machine" in refused.value.way_out
