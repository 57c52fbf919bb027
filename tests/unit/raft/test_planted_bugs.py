"""The tests are tested: each planted bug is found by the worlds. The seed that found it first is tried first; when the
world has changed since, others are (RAFT_BUG_SEEDS=3000 for as many; then write the new seed down in planted.py).
"""

import os

import pytest

from tests.unit.raft.planted import BUGS, FOUND_BY, STATIC_BUGS, STATIC_FOUND_BY, planted
from tests.unit.raft.world import World

_SEEDS = int(os.environ.get("RAFT_BUG_SEEDS", "60"))


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name: str) -> None:
    with planted(BUGS[name]):
        for seed in (FOUND_BY.get(name, 0), *range(_SEEDS)):
            try:
                World(seed).run()
            except Exception:  # a Violation, QuorumBroken, or the machine or the disk falling over it: found
                return
    pytest.fail(f"{name}: not found in {_SEEDS} seeds")


@pytest.mark.parametrize("name", STATIC_BUGS)
def test_a_bug_in_how_new_disks_are_met_is_found(name: str) -> None:
    with planted(STATIC_BUGS[name]):
        for seed in (STATIC_FOUND_BY[name], *range(_SEEDS)):
            try:
                World(seed, static=True).run()
            except Exception:
                return
    pytest.fail(f"{name}: not found in {_SEEDS} seeds")


def test_without_a_bug_the_same_seeds_pass() -> None:
    for seed in FOUND_BY.values():
        World(seed).run()
