"""The order of a commit, against every order of events that a seed can make: each row once, nothing left open."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.ledger import Decision
from barnabas.pipelines.sink.prepared import Prepared
from barnabas.pipelines.sink.settle import Settlement, task_prefix
from tests.unit.pipelines.settle_world import BATCHES, TASKS, Driver, World, play

EVERY_ROW = {(batch, task): 1 for batch in range(BATCHES) for task in range(TASKS)}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.pipelines.sink.settle.WHILE_TASKS_DIE_S", (0.0, 0.0))


SEEDS = int(os.environ.get("BARNABAS_SETTLE", "160"))


@pytest.mark.parametrize("chunk", range(4))
def test_each_row_once(chunk: int) -> None:
    for seed in range(chunk, SEEDS, 4):
        world, drivers = play(seed)
        assert drivers[-1].told == "", f"seed {seed}: {drivers[-1].told}"
        assert Counter(world.visible) == EVERY_ROW, f"seed {seed}"
        open_now = [name for name, txn in world.txns.items() if txn.state == "Ongoing"]
        assert open_now == [], f"seed {seed}"


def test_the_world_does_disturb() -> None:
    """Or the test above proves nothing: drivers are killed, taken over, fenced, and micro-batches repeated."""
    told: Counter[str] = Counter()
    for seed in range(60):
        world, drivers = play(seed)
        told.update("taken over" if "taken over" in each.told else each.told.split(":")[0] for each in drivers)
        told["aborted"] += sum(txn.state == "CompleteAbort" for txn in world.txns.values())
        told["followed"] += len(world.decision.past_runs) if world.decision else 0
    assert told["killed"] > 30 and told["taken over"] > 5 and told["aborted"] > 30 and told["followed"] > 30, told


def test_a_transaction_that_timed_out_is_never_silent() -> None:
    """Without two-phase commit a transaction may end by itself: no row twice, and one that is missing is told of."""
    missing = 0
    for seed in range(60):
        world, drivers = play(seed, two_phase=False)
        counts = Counter(world.visible)
        assert not counts or max(counts.values()) == 1, f"seed {seed}"
        if counts != EVERY_ROW:
            missing += 1
            assert any("missing" in each.told for each in drivers), f"seed {seed}"
    assert missing


class _TidiesForEverybody(Settlement):
    """Aborts whatever is open in the query's name, as if every other driver were dead."""

    def _tidy(self, run: str) -> None:
        self._coordinators.abandon(self._coordinators.open_ids(task_prefix("query")))


class _ForgetsTheDead(Settlement):
    """Does not complete what a driver before it decided."""

    def commit(self, run: str, batch: int, prepared: Sequence[Prepared]) -> bool:
        if not self._opened:
            self._last, _ = self._decisions.open()
            self._opened, self._done = True, -1 if self._last is None else self._last.batch
        return super().commit(run, batch, prepared)


class _DecidesTwice(Settlement):
    """Takes a repeated micro-batch for a new one."""

    def _commit(self, run: str, batch: int, prepared: tuple[Prepared, ...]) -> bool:
        if not self._opened:
            self._last, self._done = self._decisions.open()
            self._opened = True
        if self._last is not None and batch == self._last.batch:
            self._complete()
            self._last, self._done = replace(self._last, batch=batch - 1), batch - 1
        return super()._commit(run, batch, prepared)


class _DecidesUnfenced(Settlement):
    """Writes its decision whoever has the ledger."""

    def _decide(self, decision: Decision) -> None:
        assert isinstance(self._decisions, Driver)
        self._decisions.take_ledger()
        super()._decide(decision)


class _AbortsUnasked(Settlement):
    """Aborts what Spark says has failed, without asking the ledger."""

    def abort(self, run: str, batch: int, prepared: Sequence[Prepared]) -> None:
        self._give_up(prepared)


@pytest.mark.parametrize(
    ("mistake", "seed"),
    [
        (_TidiesForEverybody, 40),
        (_ForgetsTheDead, 10),
        (_DecidesTwice, 0),
        (_DecidesUnfenced, 0),
        (_AbortsUnasked, 0),
    ],
)
def test_the_world_finds_a_planted_mistake(
    mistake: type[Settlement], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.unit.pipelines.settle_world.Settlement", mistake)
    found = []
    for each in range(seed, seed + 20):
        world, drivers = play(each)
        if Counter(world.visible) != EVERY_ROW or drivers[-1].told:
            found.append(each)
    assert found


def test_a_lost_transaction_may_be_gone_over() -> None:
    class Quiet(Driver):
        def _step(self) -> None:
            pass

    world = World(random.Random(1), two_phase=False)
    driver = Quiet(world, 0)
    prepared = world.begin("barnabas-spark/query/run0/w.0")
    world.write(prepared, (0, 0))
    settlement = Settlement("query", driver, driver)
    settlement._complete = lambda: None  # type: ignore[method-assign]  # the driver dies between deciding and completing
    settlement.commit("run0", 0, [prepared])
    world.expire_one()
    with pytest.raises(PipelineError, match="micro-batch 0 was decided, but 1 of its 1 transactions had timed out"):
        Settlement("query", driver, driver).commit("run1", 0, [])
    assert Settlement("query", driver, driver, fail_on_loss=False).commit("run1", 0, []) is False
