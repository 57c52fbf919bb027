"""Zones as `cluster status` shows them, and what the settings of topics say about them."""

from __future__ import annotations

import pytest

from barnabas.cli.cluster.health import DEGRADED, UNAVAILABLE, problems
from barnabas.cli.cluster.view import View
from barnabas.cli.cluster.zones import TopicSettings, show, told_loss
from barnabas.operate.placement.nouns import Broker, Partition
from barnabas.operate.zones import Loss, Needs, Zone, refusing_writes


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        (Loss(True), "all is served"),
        (Loss(True, refuses_writes=1), "1 partition read-only"),
        (Loss(False, 2, 3, 4), "the quorum is lost: nothing fails over, 2 partitions without any replica, "
                               "1 partition without a leader, 4 partitions read-only"),
    ],
)  # fmt: skip
def test_a_loss_in_words(loss: Loss, told: str) -> None:
    assert told_loss(loss) == told


def test_a_line_for_each_zone_and_what_stops_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"t-{index}" for index in range(20)]
    show(
        [
            Zone("a", [1, 4], 2, 1, 7, 9, Loss(True, refuses_writes=22, partitions=names)),
            Zone("b", [2], 1, 1, 0, 9, Loss(True)),
        ]
    )
    out = capsys.readouterr().out
    assert "1,4" in out and "22 partitions read-only" in out and "t-19 and 2 more" in out and "all is served" in out
    show([])
    assert capsys.readouterr().out == "", "nobody names a zone"


def test_settings_of_topics() -> None:
    found = TopicSettings(
        {
            "a": {"min.insync.replicas": "2", "min.insync.zones": "3", "leader.preferred.racks": "x, y"},
            "kafka": {"min.insync.replicas": "1"},
            "hidden": {},
        }
    )
    assert found.needs() == {"a": Needs(2, 3), "kafka": Needs(), "hidden": Needs()}
    assert found.preferred() == {"a": ["x", "y"]}


def test_replicas_that_share_a_zone_needlessly_are_a_problem() -> None:
    brokers = [Broker(number, "h", 1, rack, True) for number, rack in ((1, "a"), (2, "a"), (3, "b"))]
    view = View("id", brokers, quorum_leader=1, voters=[1])
    view.partitions = [Partition("t", index, 1, (1, 2), (1, 2)) for index in range(7)]
    (problem,) = problems(view)
    assert problem.severity == DEGRADED and problem.text.startswith("7 partitions with replicas in one zone")
    assert problem.text.endswith("t-4, ...") and "cluster balance" in problem.way_out
    view.partitions = [Partition("t", 0, 1, (1, 3), (1, 3))]
    assert problems(view) == []


def test_partitions_that_refuse_writes_now_are_told() -> None:
    """As when min.insync.zones is more than there are."""
    brokers = [Broker(number, "h", 1, rack, True) for number, rack in ((1, "a"), (2, "b"))]
    view = View("id", brokers, quorum_leader=1, voters=[1])
    view.partitions = [Partition("t", 0, 1, (1, 2), (1, 2)), Partition("u", 0, 1, (1, 2), (1, 2))]
    view.refusing_writes = refusing_writes(brokers, view.partitions, {"t": Needs(1, 3), "u": Needs(1, 2)})
    (problem,) = problems(view)
    assert problem.severity == UNAVAILABLE
    assert problem.text == "1 partition in sync in too few zones for min.insync.zones: t-0"
    assert "lower min.insync.zones" in problem.way_out
