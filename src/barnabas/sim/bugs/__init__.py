"""Mistakes to plant, one a file, so that the tests can be tested: each has to be found by some seed.

A folder for each part of the node that they break.
"""

from barnabas.sim.bugs import (
    access,
    cluster_links,
    controller,
    groups,
    producers,
    raft,
    replication,
    requests,
    storage,
    transactions,
)
from barnabas.sim.bugs.base import Bug

BUGS: dict[str, Bug] = {
    bug.name: bug
    for folder in (
        storage,
        producers,
        groups,
        transactions,
        replication,
        controller,
        raft,
        requests,
        access,
        cluster_links,
    )
    for bug in folder.BUGS
}

__all__ = ["BUGS", "Bug"]
