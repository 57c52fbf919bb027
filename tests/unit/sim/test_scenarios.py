"""One short seed of each kind of world: every fault strikes once, and the promises hold; and a mistake that is put into
the node's code is found. Many seeds, and all mistakes, are in tests/sim."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import pytest

from barnabas.sim.bugs import BUGS
from barnabas.sim.faults import FAULTS, OF_CLUSTERS, Fault
from barnabas.sim.faults.between_clusters import ClustersApart, ClustersOneWay, NodeApart, ResetsBetweenClusters
from barnabas.sim.faults.calm_kill import CalmKill
from barnabas.sim.linked.scenario import Linked
from barnabas.sim.run import Verdict, run_seed
from barnabas.sim.scenarios.cluster import ClusterScenario
from barnabas.sim.scenarios.one_node import Scenario
from barnabas.sim.scenarios.targeted import TARGETED
from barnabas.sim.seeds import run_seeds
from barnabas.sim.world import World

OF_ONE = ("unheard-ends", "page-cache", "abandoned")
OF_SEVERAL = ("cut-logs", "late-requests", "moved-groups", "strangers", "slow-disks", "zones")
BETWEEN = (ClustersApart, ClustersOneWay, NodeApart, ResetsBetweenClusters)

Run = Callable[[type[Scenario], int], Verdict]


def shortened(name: str, fault_seconds: float, quiet_seconds: float) -> type[Scenario]:
    base = TARGETED[name]

    def begin(self: Scenario, seed: int) -> None:
        base.__init__(self, seed)
        self.fault_seconds = fault_seconds

    return type(f"Short{base.__name__}", (base,), {"__init__": begin, "quiet_seconds": quiet_seconds})


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(scenario: type[Scenario], seed: int) -> Verdict:
        monkeypatch.setitem(TARGETED, "this one", scenario)
        return run_seed(seed, targeted="this one")

    return run


def holds(verdict: Verdict) -> None:
    """What callbacks cost is for tests/sim: here a tracer may be on."""
    problems = [each for each in verdict.problems if not each.startswith("S10")]
    assert not problems, "\n".join([*problems[:5], *verdict.story[-20:]])
    assert verdict.answers > 50 and verdict.acknowledged > 0


class EachFaultOnce(ClusterScenario):
    """In the order of the tables, whatever the seed."""

    kinds_of_all: tuple[type[Fault], ...] = (*FAULTS, *OF_CLUSTERS, CalmKill)
    quiet_seconds = 6.0

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.loses_unflushed = True
        flushed = {"flush.messages": "1"}
        self.topics = {name: (count, configs | flushed) for name, (count, configs) in self.topics.items()}
        self.settings |= {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}

    async def trouble(self, world: World) -> None:
        for kind in self.kinds_of_all:
            world.count(kind.name)
            await kind(world, self.victim(world), Random(self.random.getrandbits(64))).strike()
            await asyncio.sleep(0.5)


def test_each_fault_strikes_once_and_the_promises_hold(run: Run) -> None:
    verdict = run(EachFaultOnce, 1)
    holds(verdict)
    assert set(verdict.faults) == {kind.name for kind in EachFaultOnce.kinds_of_all}


@pytest.mark.parametrize("name", [*OF_ONE, *OF_SEVERAL])
def test_a_short_seed_of_a_scenario(name: str, run: Run) -> None:
    holds(run(shortened(name, 3.0, 3.0), 1))


class EachFaultBetween(Linked):
    """Those between the clusters once each, in the order of the table."""

    quiet_seconds = 2.0

    async def trouble(self, world: World) -> None:
        for kind in BETWEEN:
            cluster = self.random.choice(world.clusters)
            await kind(cluster, self.victim(cluster), Random(self.random.getrandbits(64))).strike()
        if self.now:
            await self._promote_now(world)


@pytest.mark.parametrize(("seed", "sizes", "now"), [(33, (1, 1), False), (37, (1, 3), True)])
def test_a_link_from_its_making_to_its_reverse(seed: int, sizes: tuple[int, int], now: bool, run: Run) -> None:
    """Promoted as planned, and with what is there while both clusters write."""
    scenario = EachFaultBetween(seed)
    assert (scenario.sizes, scenario.now) == (sizes, now)
    holds(run(EachFaultBetween, seed))


def test_a_seed_is_the_same_history_every_time(run: Run) -> None:
    first, again = (run(shortened("abandoned", 2.0, 2.0), 3) for _ in range(2))
    assert first.digest == again.digest and first.answers == again.answers


def test_a_mistake_in_the_node_is_found_and_its_story_told() -> None:
    (verdict,) = run_seeds([1], bug="watermark-off-by-one")
    assert not verdict.ok and verdict.story
    assert BUGS["watermark-off-by-one"].nodes == 1
