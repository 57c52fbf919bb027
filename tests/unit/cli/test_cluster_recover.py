"""What `cluster recover` says before it gives up the records of lost nodes."""

from barnabas.broker.quorum.recovery import Held
from barnabas.cli.cluster.recover import loss


def test_the_loss_is_told_in_numbers() -> None:
    assert loss(1, [2, 3], Held(here=7, behind=2, elsewhere=1)) == (
        "what only nodes 2, 3 had is lost. Node 1 will lead the 7 partitions it has, 2 of them without having been in "
        "sync; 1 partition it has no replica of will have no leader. Go on only if nodes 2, 3 will never be started "
        "again on the old folders."
    )
    assert loss(2, [1], Held(here=1, behind=0, elsewhere=0)) == (
        "what only node 1 had is lost. Node 2 will lead the 1 partition it has. Go on only if node 1 will never be "
        "started again on the old folders."
    )
