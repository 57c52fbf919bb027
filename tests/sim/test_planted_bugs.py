"""Testing the tests: each mistake, planted in the node's code, is found. The seed is one that finds it.

A change of the node gives every seed another history, in which a bug may not matter: then the others are tried. Without
the bug these seeds are clean. A run that fails because the bug's own code does (BrokenBug), or the simulation, does not
count. Those of a cluster run three nodes, some in the targeted scenario that the bug names; those of a link run two
clusters, of up to six nodes in all. That each fits the code it replaces is looked at in tests/unit/sim/test_bugs.py.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.coordinator.transactions import TxnDriver
from barnabas.sim.bugs import BUGS
from barnabas.sim.bugs.base import BrokenBug, Bug
from barnabas.sim.callback_cost import LOOP_HELD
from barnabas.sim.run import ITSELF_FAILED, run_seed
from tests.support.figures import Figure

FOUND_BY: dict[str, int] = {
    "ack-before-flush": 22,
    "fsync-skipped": 2,
    "folder-not-flushed": 2,
    "recovered-not-flushed": 1,
    "recovery-point-too-far": 1,
    "metadata-before-flush": 22,
    "sequences-forgotten": 2,
    "replay-forgotten": 2,
    "producer-ids-reused": 2,
    "unverified-batches": 3,
    "index-trusted": 5,
    "watermark-off-by-one": 1,
    "committed-to-watermark": 5,
    "abort-marker-missing": 1,
    "marker-before-prepare": 1,
    "aborted-offsets-count": 1,
    "waiter-leaks": 1,
    "ack-before-isr": 38,
    "one-follower-is-enough": 79,
    "new-leader-commits-all": 1,
    "joins-too-early": 38,
    "isr-before-answer": 38,
    "follower-before-fsync": 1,
    "cut-to-watermark": 113,
    "never-cut": 38,
    "sequences-lost-on-failover": 89,
    "vote-not-persisted": 4,
    "two-votes": 18,
    "quorum-of-one": 113,
    "zombie-acknowledges": 653,
    "earlier-marker-ends": 4,
    "torn-tail-served": 2,
    "min-isr-ignored": 1,
    "zones-ignored": 1,
    "ahead-kept": 3,
    "any-replica-leads": 2,
    "power-loss-unnoticed": 1,
    "former-life-counts": 2,
    "stale-leader-obeyed": 1,
    "pause-forgotten": 1,
    "marker-sent-once": 1,
    "coordinator-stays": 1,
    "timeout-by-clock": 2,
    "write-unchecked": 1,
    "link-epochs-not-above": 2,
    "promotion-without-epoch": 1,
    "groups-ahead": 4,
    "link-divergence-not-asked": 1,
    "cut-not-kept": 10,
    "source-transactions-stay-open": 1,
    "link-producer-ids-overlap": 1,
    "link-topic-by-name": 12,
    "out-of-range-to-end": 12,
    "link-start-not-followed": 11,
    "linked-topic-writable": 25,
    "link-commits-alone": 2,
    "promised-beyond-watermark": 2,
}

OTHERS = {1: (1, 2, 3, 5, 13, 22), 3: (38, 79, 89, 243, 903)}
IN_SCENARIO = (1, 2, 6, 25, 45)  # the others of a bug that has a targeted scenario


def test_every_bug_has_its_place() -> None:
    assert set(FOUND_BY) == set(BUGS)


def test_the_page_names_the_seeds() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| .* \| (\d) \| (?:`([a-z-]+)` )?(\d+) \|$", page, re.MULTILINE)
    told = {name: (int(nodes), scenario, int(seed)) for name, nodes, scenario, seed in rows}
    assert told == {name: (BUGS[name].nodes, BUGS[name].scenario, seed) for name, seed in FOUND_BY.items()}


ALWAYS = frozenset(
    {
        "fsync-skipped",
        "sequences-forgotten",
        "watermark-off-by-one",
        "abort-marker-missing",
        "two-votes",
        "pause-forgotten",
        "write-unchecked",
        "promotion-without-epoch",
        "cut-not-kept",
    }
)
"""A few in every `make test`; all of them by `make bugs`."""


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(name, seed, marks=() if name in ALWAYS else pytest.mark.long)
        for name, seed in sorted(FOUND_BY.items())
    ],
)
def test_a_planted_bug_is_found(name: str, seed: int, figure: Figure) -> None:
    bug = BUGS[name]
    others = IN_SCENARIO if bug.scenario else OTHERS[bug.nodes]
    for tried in (seed, *others):
        verdict = run_seed(tried, bug.planted, bug.nodes, bug.scenario)
        if any(_counts(problem, name) for problem in verdict.problems):
            figure("planted-bugs", planted=len(BUGS))
            return
    raise AssertionError(f"{name} is no longer found by seed {seed}, nor by {others}")


def _counts(problem: str, name: str) -> bool:
    """A loop that was held shows the one bug that holds it, and that one by nothing else."""
    return not problem.startswith(ITSELF_FAILED) and problem.startswith(LOOP_HELD) == (name == "pause-forgotten")


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda self, hosted, effects: self._send(hosted, None), "missing 1 required positional argument: 'code'"),
        (lambda self, hosted: None, "takes 2 positional arguments but 3 were given"),
    ],
    ids=["what it calls", "how it is called"],
)
def test_a_bug_whose_code_does_not_fit_the_node_is_not_found_but_broken(wrong: Callable[..., None], error: str) -> None:
    def make(right: Any) -> Any:
        return wrong

    bug = Bug("broken", "was written for another version of the node", TxnDriver, "drive", make)
    with pytest.raises(BrokenBug, match=error):
        run_seed(1, bug.planted, 1, "abandoned")
