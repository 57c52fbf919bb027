"""A small world for the exactly-once sink: coordinators, the ledger and drivers that die, stall and meet.

Every request of a driver is a step. Between two steps the scheduler, with a seeded dice, lets another driver go on or
kills one; a driver that is not let go on for long is the zombie that comes back. Drivers do what Spark does: repeat the
first micro-batch that the checkpoint does not call committed, with task attempts that sometimes fail half-way.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.ledger import Decision
from barnabas.pipelines.sink.prepared import Described, Fenced, NotOpen, Prepared
from barnabas.pipelines.sink.settle import Settlement, task_prefix

QUERY = "query"
BATCHES, TASKS = 5, 2  # the last micro-batch is left to the last driver, who tidies up with it


class Death(BaseException):
    """kill -9."""


@dataclass
class Txn:
    """`epoch` is that of the transaction's records, `client` what a request must carry: higher once it is prepared."""

    producer_id: int
    epoch: int = 0
    client: int = 0
    state: str = "Empty"
    rows: list[tuple[int, int]] = field(default_factory=list)

    def abort(self) -> None:
        self.state, self.rows = "CompleteAbort", []
        self.client += 1
        self.epoch = self.client


@dataclass
class World:
    dice: random.Random
    two_phase: bool = True
    txns: dict[str, Txn] = field(default_factory=dict)
    visible: list[tuple[int, int]] = field(default_factory=list)
    decision: Decision | None = None
    done: int = -1
    ledger_epoch: int = 0
    committed_batch: int = -1  # Spark's own commit log

    def begin(self, name: str) -> Prepared:
        txn = self.txns.setdefault(name, Txn(len(self.txns)))
        if txn.state == "Ongoing":
            txn.abort()
        txn.client += 1
        txn.epoch, txn.state, txn.rows = txn.client, "Empty", []
        return Prepared(name, txn.producer_id, txn.epoch)

    def write(self, prepared: Prepared, row: tuple[int, int]) -> None:
        txn = self.txns[prepared.transactional_id]
        if txn.client != prepared.producer_epoch:
            raise Fenced("late write")
        txn.state = "Ongoing"
        txn.rows.append(row)

    def prepare(self, prepared: Prepared) -> Prepared | NotOpen:
        txn = self.txns[prepared.transactional_id]
        mine = txn.state == "Ongoing" and txn.epoch == prepared.producer_epoch
        if not self.two_phase:
            return prepared if mine else NotOpen("no longer open")
        if txn.state != "Ongoing":
            self.begin(prepared.transactional_id)
            return NotOpen("no longer open")
        txn.client += 1
        name = prepared.transactional_id
        return Prepared(name, txn.producer_id, txn.client) if mine else NotOpen("somebody else's")

    def commit(self, prepared: Prepared) -> Prepared | NotOpen:
        txn = self.txns[prepared.transactional_id]
        if txn.state == "CompleteCommit" and prepared.producer_epoch == txn.client - 1:
            return Prepared(prepared.transactional_id, txn.producer_id, txn.client)  # the same request again
        if txn.client != prepared.producer_epoch or txn.state != "Ongoing":
            return NotOpen(txn.state)
        self.visible += txn.rows
        txn.state = "CompleteCommit"
        txn.client += 1
        txn.epoch = txn.client
        return Prepared(prepared.transactional_id, txn.producer_id, txn.client)

    def expire_one(self) -> None:
        """A timeout; what is prepared has none."""
        ongoing = [txn for txn in self.txns.values() if txn.state == "Ongoing" and txn.epoch == txn.client]
        if ongoing:
            self.dice.choice(ongoing).abort()


class Driver(threading.Thread):
    """One run of the query. `turn` is what the scheduler gives, `rested` what it waits for."""

    def __init__(self, world: World, number: int, batches: int = BATCHES) -> None:
        super().__init__(daemon=True)
        self.world, self.run_id = world, f"run{number}"
        self.turn, self.rested = threading.Semaphore(0), threading.Semaphore(0)
        self.dying = False
        self.batches = batches
        self.told = ""
        self.over = False
        self._mine = 0
        self._workers = 0

    # --- being scheduled --------------------------------------------------------------------------------------------

    def run(self) -> None:
        try:
            self._step()
            self._query()
        except Death:
            self.told = "killed"
        except PipelineError as error:
            self.told = str(error)
        self.over = True
        self.rested.release()

    def _step(self) -> None:
        self.rested.release()
        self.turn.acquire()
        if self.dying:
            raise Death

    def go_on(self) -> None:
        self.turn.release()
        self.rested.acquire()

    # --- what Spark does --------------------------------------------------------------------------------------------

    def _query(self) -> None:
        settlement = Settlement(QUERY, self, self)
        for batch in range(self.world.committed_batch + 1, self.batches):
            messages = [self._task(batch, task) for task in range(TASKS)]
            prepared = [each for each in messages if each is not None]
            try:
                settlement.commit(self.run_id, batch, prepared)
            except PipelineError:
                settlement.abort(self.run_id, batch, prepared)
                raise
            self._step()
            self.world.committed_batch = max(self.world.committed_batch, batch)
            if self.world.dice.random() < 0.2:  # Spark may take another Python process for the next commit
                settlement = Settlement(QUERY, self, self)

    def _task(self, batch: int, task: int) -> Prepared | None:
        self._step()
        decision = self.world.decision
        overlooked = self.world.dice.random() < 0.3  # a look at the ledger that does not take it over may be too early
        if decision is not None and batch <= decision.batch and not overlooked:
            return None
        while True:
            self._workers += 1
            prepared = self.world.begin(f"{task_prefix(QUERY, self.run_id)}w{self._workers}.0")
            self._step()
            self.world.write(prepared, (batch, task))
            if self.world.dice.random() > 0.2:
                return prepared  # else this attempt failed, or lost against another: its transaction stays open

    # --- Decisions --------------------------------------------------------------------------------------------------

    def open(self) -> tuple[Decision | None, int]:
        self._step()
        self.world.ledger_epoch += 1
        self._mine = self.world.ledger_epoch
        self._step()
        return self.world.decision, self.world.done

    def decide(self, decision: Decision) -> None:
        self._step()
        if self._mine != self.world.ledger_epoch:
            raise Fenced("the ledger")
        self.world.decision = decision
        self._step()
        if self.world.dice.random() < 0.05:
            raise PipelineError("no answer in time")  # and nobody knows whether it is decided

    def take_ledger(self) -> None:
        """For a mistake on purpose."""
        self._mine = self.world.ledger_epoch

    def mark_done(self, batch: int) -> None:
        self._step()
        self.world.done = max(self.world.done, batch)

    # --- Coordinators -----------------------------------------------------------------------------------------------

    def commit(self, prepared: Sequence[Prepared]) -> list[Prepared | NotOpen]:
        return self._each(prepared, self.world.commit)

    def prepare(self, prepared: Sequence[Prepared], now_ms: int) -> list[Prepared | NotOpen]:
        return self._each(prepared, self.world.prepare)

    def _each(
        self, prepared: Sequence[Prepared], ask: Callable[[Prepared], Prepared | NotOpen]
    ) -> list[Prepared | NotOpen]:
        results = []
        for each in prepared:
            self._step()
            results.append(ask(each))
        return results

    def abandon(self, transactional_ids: Sequence[str]) -> None:
        for name in transactional_ids:
            self._step()
            self.world.begin(name)

    def describe(self, transactional_ids: Sequence[str], now_ms: int) -> dict[str, Described | None]:
        self._step()
        found: dict[str, Described | None] = {}
        for name in transactional_ids:
            txn = self.world.txns.get(name)
            found[name] = None if txn is None else Described(txn.state, txn.producer_id, txn.epoch, None, 0)
        return found

    def open_ids(self, prefix: str) -> list[str]:
        return self._ids(prefix, "Ongoing")

    def begun_ids(self, prefix: str) -> list[str]:
        return self._ids(prefix, "Ongoing", "Empty")

    def _ids(self, prefix: str, *states: str) -> list[str]:
        self._step()
        return [name for name, txn in self.world.txns.items() if name.startswith(prefix) and txn.state in states]


def play(seed: int, *, two_phase: bool = True) -> tuple[World, list[Driver]]:
    """Drivers come, stall, die; the last one is left in peace and finishes."""
    world = World(random.Random(seed), two_phase)
    dice = random.Random(seed + 1)
    drivers: list[Driver] = []
    alive: list[Driver] = []

    def start(batches: int = BATCHES - 1) -> None:
        driver = Driver(world, len(drivers), batches)
        drivers.append(driver)
        alive.append(driver)
        driver.start()
        driver.rested.acquire()

    start()
    for _ in range(dice.randrange(20, 300)):
        if not alive and world.committed_batch == BATCHES - 2:
            break
        if not alive or (len(alive) < 3 and dice.random() < 0.03):
            start()
        driver = dice.choice(alive)
        if dice.random() < 0.03:
            driver.dying = True
        if dice.random() < 0.02:
            world.expire_one()
        driver.go_on()
        if driver.over:
            alive.remove(driver)
    while alive:  # the others fall silent, or come back one after the other
        driver = alive.pop()
        driver.dying = dice.random() < 0.5
        while not driver.over:
            driver.go_on()
    for _ in range(20):  # a driver may also fail because no answer came in time
        start(BATCHES)
        last = alive.pop()
        while not last.over:
            last.go_on()
        if not last.told:
            break
    return world, drivers
