"""Many seeds, in as many processes as asked for; a verdict each, as they come."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from itertools import repeat
from multiprocessing import get_context

from barnabas.sim.bugs import BUGS
from barnabas.sim.run import Verdict, run_seed


def run_seeds(
    seeds: Iterable[int], workers: int = 1, bug: str | None = None, nodes: int = 1, targeted: str = ""
) -> Iterator[Verdict]:
    """In the order of the seeds. What a seed does depends on nothing but the seed, so processes change nothing."""
    if workers <= 1:
        for seed in seeds:
            yield _one(seed, bug, nodes, targeted)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_one, seeds, repeat(bug), repeat(nodes), repeat(targeted), chunksize=1)


def _one(seed: int, bug: str | None, nodes: int, targeted: str) -> Verdict:
    if bug is None:
        return run_seed(seed, nullcontext, nodes, targeted)
    planted = BUGS[bug]
    return run_seed(seed, planted.planted, max(nodes, planted.nodes), targeted or planted.scenario)
