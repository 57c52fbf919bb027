"""What `cluster drain` and `cluster voters` say when they take a voter out of the quorum."""

import pytest

from barnabas.cli.cluster.voters import Quorum, Replica, rejoins, too_few_voters, voters
from barnabas.cli.common.failure import USAGE, Failure
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP


def test_a_quorum_that_survives_no_loss_is_named() -> None:
    assert too_few_voters([1, 2, 3], [], DEFAULT_BOOTSTRAP) == ""
    told = too_few_voters([1, 3], [4, 5], DEFAULT_BOOTSTRAP)
    assert told.startswith("the quorum has 2 voters, nodes 1 and 3, left: when one of them is down")
    assert told.endswith("To make another node a voter, run: barnabas cluster voters --add 4")
    alone = too_few_voters([1], [], DEFAULT_BOOTSTRAP)
    assert alone.startswith("the quorum has 1 voter, node 1, left:")
    assert alone.endswith("start one more broker and controller, then run: barnabas cluster voters --add NODE")


def test_a_node_whose_settings_name_it_comes_back() -> None:
    assert "restarted: write controller.quorum.bootstrap.servers" in rejoins(2)


def test_the_leader_is_a_voter_and_an_observer_is_none() -> None:
    replicas = [Replica(2, "", "", "leader", 0), Replica(1, "", "", "voter", 0), Replica(4, "", "", "observer", None)]
    found = Quorum(2, 1, replicas)
    assert (found.voters, found.observers) == ([1, 2], [4])


def test_one_change_at_a_time() -> None:
    with pytest.raises(Failure, match="--add and --remove at once") as refused:
        voters(add=4, remove=2)
    assert refused.value.code == USAGE
