"""Many small worlds, each from its seed. RAFT_SEEDS=5000 (or 300-5000) runs more.

What a seed means changes with the world, so a failure is kept as a scenario: remove_leader_crash.txt was found here.
"""

import os

import pytest

from tests.unit.raft.world import World


def _seeds() -> list[range]:
    first, _, last = os.environ.get("RAFT_SEEDS", "300").rpartition("-")
    seeds = range(int(first or 0), int(last))
    return [seeds[start : start + 20] for start in range(0, len(seeds), 20)]


@pytest.mark.parametrize("seeds", _seeds(), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_the_quorum_loses_nothing_and_comes_back(seeds: range) -> None:
    for seed in seeds:
        run(seed)


@pytest.mark.parametrize("seeds", _seeds()[::3], ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_voters_known_by_their_ids_alone_lose_nothing_either(seeds: range) -> None:
    """As `controller.quorum.voters` names them, also when one of them comes back with an empty disk."""
    for seed in seeds:
        run(seed, static=True)


def run(seed: int, static: bool = False) -> None:
    world = World(seed, static=static)
    try:
        world.run()
    except Exception as problem:
        problem.add_note(f"seed {seed}; again: World({seed}, tell=True, static={static}).run()")
        raise


def test_the_same_seed_tells_the_same_story() -> None:
    stories = []
    for _ in range(2):
        world = World(11, tell=True)
        world.run()
        stories.append(world.story)
    assert stories[0] == stories[1]
    assert len(stories[0]) > 10
