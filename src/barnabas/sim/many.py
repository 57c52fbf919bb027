"""Many seeds, in as many processes as asked for; a verdict each, as they come."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from itertools import repeat
from multiprocessing import get_context

from barnabas.sim.bugs import BUGS
from barnabas.sim.run import Verdict, run_seed


def run_seeds(seeds: Iterable[int], workers: int = 1, bug: str | None = None, nodes: int = 1) -> Iterator[Verdict]:
    """In the order of the seeds. What a seed does depends on nothing but the seed, so processes change nothing."""
    if workers <= 1:
        for seed in seeds:
            yield _one(seed, bug, nodes)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_one, seeds, repeat(bug), repeat(nodes), chunksize=1)


def _one(seed: int, bug: str | None, nodes: int) -> Verdict:
    if bug is None:
        return run_seed(seed, nullcontext, nodes)
    return run_seed(seed, BUGS[bug].planted, max(nodes, BUGS[bug].nodes))
