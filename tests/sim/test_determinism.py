"""The same seed gives the same history, to the byte: in this process, in another one, whatever ran before."""

import os
import subprocess
import sys

import pytest

from barnabas.sim.run import run_seed


@pytest.mark.parametrize(("nodes", "seed"), [(1, 3), (3, 4)])
def test_a_seed_is_the_same_history_every_time(nodes: int, seed: int) -> None:
    first = run_seed(seed, nodes=nodes)
    run_seed(seed + 100, nodes=nodes)
    again = run_seed(seed, nodes=nodes)
    assert (first.digest, first.answers, first.faults) == (again.digest, again.answers, again.faults)
    assert first.answers > 100


def test_two_clusters_are_the_same_history_every_time() -> None:
    first, again = (run_seed(4, targeted="linked") for _ in range(2))
    assert (first.digest, first.answers, first.faults) == (again.digest, again.answers, again.faults)


def test_two_seeds_are_two_histories() -> None:
    assert run_seed(2).digest != run_seed(3).digest


@pytest.mark.parametrize(("nodes", "seed", "scenario"), [(1, 5, ""), (3, 12, ""), (1, 1, "linked")])
def test_another_process_with_another_order_of_sets_sees_the_same(nodes: int, seed: int, scenario: str) -> None:
    code = (
        f"from barnabas.sim.run import run_seed; print(run_seed({seed}, nodes={nodes}, targeted={scenario!r}).digest)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": order},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for order in ("1", "2")
    }
    assert len(found) == 1
