"""The tests are tested: each planted bug is found by the worlds, by an invariant that it breaks. Any other exception
fails the test: the world fell over the bug instead of seeing what it does. The seed that found it first is tried first;
when the world has changed since, others are (RAFT_BUG_SEEDS=3000 for as many; then write the new seed down in
planted.py).
"""

import os

import pytest

from tests.unit.raft.ledger import invariant_of
from tests.unit.raft.planted import BUGS, FOUND_BY, STATIC_BUGS, STATIC_FOUND_BY, Bug, planted
from tests.unit.raft.world import World

_SEEDS = int(os.environ.get("RAFT_BUG_SEEDS", "60"))


def _find(name: str, bug: Bug, first: int, *, static: bool = False) -> None:
    with planted(bug):
        for seed in (first, *range(_SEEDS)):
            try:
                World(seed, static=static).run()
            except Exception as problem:
                broken = invariant_of(problem)
                if broken in bug.breaks:
                    return
                problem.add_note(f"{name}: seed {seed} breaks {broken or 'no invariant'}, not one of {bug.breaks}")
                raise
    pytest.fail(f"{name}: not found in {_SEEDS} seeds")


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name: str) -> None:
    _find(name, BUGS[name], FOUND_BY.get(name, 0))


@pytest.mark.parametrize("name", STATIC_BUGS)
def test_a_bug_in_how_new_disks_are_met_is_found(name: str) -> None:
    _find(name, STATIC_BUGS[name], STATIC_FOUND_BY[name], static=True)


def test_without_a_bug_the_same_seeds_pass() -> None:
    for seed in FOUND_BY.values():
        World(seed).run()
