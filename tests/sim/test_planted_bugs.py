"""Testing the tests: each mistake, planted in the node's code, is found. The seed is one that finds it.

A change of the node gives every seed another history, in which a bug may not matter: then the others are tried. Without
the bug these seeds are clean. Those of a cluster run three nodes, some in the targeted scenario that the bug names.
"""

import pytest

from barnabas.sim.bugs import BUGS
from barnabas.sim.run import run_seed

FOUND_BY: dict[str, int] = {
    "ack-before-flush": 22,
    "fsync-skipped": 1,
    "folder-not-flushed": 1,
    "recovered-not-flushed": 1,
    "recovery-point-too-far": 1,
    "metadata-before-flush": 22,
    "sequences-forgotten": 2,
    "replay-forgotten": 2,
    "producer-ids-reused": 1,
    "unverified-batches": 3,
    "index-trusted": 5,
    "watermark-off-by-one": 1,
    "committed-to-watermark": 5,
    "abort-marker-missing": 2,
    "marker-before-prepare": 42,
    "aborted-offsets-count": 2,
    "waiter-leaks": 2,
    "ack-before-isr": 38,
    "one-follower-is-enough": 79,
    "new-leader-commits-all": 243,
    "joins-too-early": 79,
    "isr-before-answer": 38,
    "follower-before-fsync": 1,
    "cut-to-watermark": 903,
    "never-cut": 89,
    "sequences-lost-on-failover": 89,
    "vote-not-persisted": 4,
    "two-votes": 18,
    "quorum-of-one": 113,
    "zombie-acknowledges": 653,
    "earlier-marker-ends": 4,
    "torn-tail-served": 4,
    "min-isr-ignored": 1,
    "any-replica-leads": 2,
    "power-loss-unnoticed": 1,
    "former-life-counts": 1,
    "stale-leader-obeyed": 6,
    "pause-forgotten": 1,
    "marker-sent-once": 1,
    "coordinator-stays": 1,
    "timeout-by-clock": 2,
}

OTHERS = {1: (1, 2, 3, 5, 13, 22), 3: (38, 79, 89, 243, 903)}
IN_SCENARIO = (1, 2, 6, 25, 45)  # the others of a bug that has a targeted scenario


def test_every_bug_has_its_place() -> None:
    assert set(FOUND_BY) == set(BUGS)


ALWAYS = frozenset(
    {"fsync-skipped", "sequences-forgotten", "watermark-off-by-one", "abort-marker-missing", "two-votes"}
)
"""A few in every `make test`; all of them by `make bugs`."""


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(name, seed, marks=() if name in ALWAYS else pytest.mark.long)
        for name, seed in sorted(FOUND_BY.items())
    ],
)
def test_a_planted_bug_is_found(name: str, seed: int) -> None:
    bug = BUGS[name]
    others = IN_SCENARIO if bug.scenario else OTHERS[bug.nodes]
    for tried in (seed, *others):
        if not run_seed(tried, bug.planted, bug.nodes, bug.scenario).ok:
            return
    raise AssertionError(f"{name} is no longer found by seed {seed}, nor by {others}")
