"""What `cluster drain` says when it takes a voter out of the quorum."""

from barnabas.cli.cluster_leave import too_few_voters


def test_a_quorum_that_survives_no_loss_is_named() -> None:
    assert too_few_voters([1, 2, 3]) == ""
    assert too_few_voters([1, 3]).startswith("the quorum has 2 voters, nodes 1 and 3, left: when one of them is down")
    assert too_few_voters([1]).startswith("the quorum has 1 voter, node 1, left:")
    assert "add-controller" in too_few_voters([1])
