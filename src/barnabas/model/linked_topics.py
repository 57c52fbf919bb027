"""Leader epochs of linked topics, as the controller, the link and the command that turns it round compute them.

The epochs of a cluster lie in a block above those of its source; core/cluster/links.py says why.
"""

EPOCHS_OF_A_CLUSTER = 1 << 16


def epoch_block_above(newest: int) -> int:
    """The first leader epoch of the block above the one that `newest` is in."""
    return (newest // EPOCHS_OF_A_CLUSTER + 1) * EPOCHS_OF_A_CLUSTER
