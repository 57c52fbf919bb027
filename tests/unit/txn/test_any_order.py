"""Any order of requests, timeouts, retries, lost replies, failed markers and reloads, at each transaction version.

After every step: a transaction's partitions hold its data with one outcome or none yet, the same in all (H4, H5); a
shard rebuilt from the log, whole or compacted, knows what the live one knows (S5); epochs never fall; whoever was
fenced is never told yes. And when faults stop and time passes, nothing stays open that could time out (S6).
"""

import inspect
import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

from tests.unit.txn.any_order import AnyOrder, AnyOrderOldCluster
from tests.unit.txn.steps import PARTITIONS, STEPS, TIMEOUT_MS

EXAMPLES = int(os.environ.get("TXN_EXAMPLES", 40))
WALKS = int(os.environ.get("TXN_WALKS", 25))


def _walk(machine: AnyOrder, seed: int, steps: int) -> None:
    rng = random.Random(seed)
    picks: dict[str, Callable[[], Any]] = {
        "name": lambda: rng.choice("aaab"),
        "survives": lambda: rng.randrange(4),
        "which": lambda: rng.randrange(1000),
        "partitions": lambda: set(rng.sample(PARTITIONS, rng.randint(1, 3))),
        "by_ms": lambda: rng.choice([1, 150, TIMEOUT_MS, 60_000]),
        "how": lambda: rng.choice(["answered", "answered", "answered", "late", "not yet safe"]),
    }
    for step in rng.choices(list(STEPS), list(STEPS.values()), k=steps):
        action = getattr(machine, step)
        names = inspect.signature(action).parameters
        action(**{name: picks[name]() if name in picks else rng.random() < 0.5 for name in names})
        for promise in AnyOrder.INVARIANTS:
            promise(machine)
    machine.teardown()


@pytest.mark.parametrize("seed", range(WALKS))
@pytest.mark.parametrize("kind", ["AnyOrder", "AnyOrderOldCluster"])
def test_a_long_walk(kind: str, seed: int) -> None:
    """Longer than hypothesis goes, and further from the beginning; it in turn finds the short way to a fault."""
    _walk(AnyOrder() if kind == "AnyOrder" else AnyOrderOldCluster(), seed, steps=80)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=EXAMPLES, stateful_step_count=40, deadline=None)
TestAnyOrderOldCluster = AnyOrderOldCluster.TestCase
TestAnyOrderOldCluster.settings = settings(max_examples=EXAMPLES // 2, stateful_step_count=40, deadline=None)
