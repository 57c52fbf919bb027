"""How a micro-batch becomes committed exactly once. Everything that can go wrong is thought through here.

The tasks of a micro-batch write on the executors, each attempt in an open transaction of its own, and tell the driver
(transactional id, producer, epoch). The driver then does, in this order:

    1. open       take the query's own transactional id over and read its last decision  (only once a process)
    2. complete   commit whatever the last decision says and nobody may have completed
    3. prepare    every transaction of this micro-batch is still open, and loses its timeout
    4. decide     write the decision in a transaction of the query's id: this is the moment
    5. complete   commit the listed transactions, note that it is done
    6. tidy       abort whatever else is open in the query's name: attempts that lost, drivers that died

What happens when ...
- the driver dies before 4: nothing was decided. Spark repeats the micro-batch; its attempts have other ids; 6 aborts
  the old ones.
- it dies after 4: Spark repeats the micro-batch, its tasks find it decided and write nothing (or lose the race and are
  aborted), and 2 completes what is left. A commit that was done already is recognised by its epoch.
- a task is retried, runs twice (speculation), or its Python worker is killed: each attempt has its own transaction and
  only those that Spark reports are listed; 6 aborts the others.
- two drivers run one query: 1 fences the one before, whose decision is then refused (4 is a compare-and-set). Step 6
  must not abort what another driver may still decide on, so it touches only our own run and those named in `past_runs`
  of our decision, which may not come back: runs that decided before us, and runs that were found to have something open
  when we took over. (A run that is unknown later is left alone for a while: it may be the driver that follows us.)
- a transaction timed out: 3 finds it, nothing is decided, the query fails and is repeated from its checkpoint. A
  cluster without two-phase commit cannot take timeouts away, so there a transaction may time out between 4 and 5, if
  nobody comes back for that long: 2 says so and stops the query rather than go on over a hole (`failOnDataLoss=false`
  goes on).
- a commit fails half-way (a cluster that is away too long): Spark then asks to abort. What was decided is completed
  all the same, here or at the next start.
- the query is stopped for good: what its tasks had open times out.
- a coordinator, a leader or the whole cluster is away: every request is repeated until kafka.delivery.timeout.ms.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.ledger import PAST_RUNS, PREFIX, Decision
from barnabas.pipelines.sink.prepared import Described, Fenced, NotOpen, Prepared

STRAGGLER_MS = 600_000  # whoever follows us has decided something by then; what is open that long belongs to the dead
WHILE_TASKS_DIE_S = (0.0, 0.3, 0.7, 1.5)  # Spark aborts at once, but gives a task two seconds to end
ATTEMPTS = 5  # at opening the ledger, when others open it too


class Decisions(Protocol):
    """ledger.py"""

    def open(self) -> tuple[Decision | None, int]: ...
    def decide(self, decision: Decision) -> None: ...
    def mark_done(self, batch: int) -> None: ...


class Coordinators(Protocol):
    """transactions.py"""

    def commit(self, prepared: Sequence[Prepared]) -> list[Prepared | NotOpen]: ...
    def prepare(self, prepared: Sequence[Prepared], now_ms: int) -> list[Prepared | NotOpen]: ...
    def abandon(self, transactional_ids: Sequence[str]) -> None: ...
    def describe(self, transactional_ids: Sequence[str], now_ms: int) -> dict[str, Described | None]: ...
    def open_ids(self, prefix: str) -> list[str]: ...
    def begun_ids(self, prefix: str) -> list[str]: ...


def task_prefix(query: str, run: str = "") -> str:
    """What the transactional ids of a query's tasks begin with; of one run's tasks if it is given."""
    return f"{PREFIX}{query}/{run}/" if run else f"{PREFIX}{query}/"


class Settlement:
    """One query, as one process of its driver sees it. Kept between micro-batches: step 1 is then free."""

    def __init__(
        self, query: str, decisions: Decisions, coordinators: Coordinators, *, fail_on_loss: bool = True
    ) -> None:
        self._query = query
        self._decisions = decisions
        self._coordinators = coordinators
        self._fail_on_loss = fail_on_loss
        self._opened = False
        self._last: Decision | None = None
        self._done = -1
        self._unknown: list[str] = []  # open in the query's name, by a run that may be our follower

    def commit(self, run: str, batch: int, prepared: Sequence[Prepared]) -> bool:
        """False when the micro-batch was committed before, and what its tasks wrote now was thrown away."""
        for _ in range(ATTEMPTS):
            try:
                return self._commit(run, batch, tuple(prepared))
            except Fenced:
                # Another process of this driver, or another driver. The ledger knows; nothing was decided here, or it
                # was and we shall read it.
                self._opened = False
        raise PipelineError(f"query {self._query}: another driver keeps taking it over; run it only once")

    def abort(self, run: str, batch: int, prepared: Sequence[Prepared]) -> None:
        """The micro-batch failed: throw away what its tasks wrote. Spark also calls this when `commit` failed, and then
        the decision may stand: who has the ledger knows."""
        self._opened = False
        self._open()
        if self._last is None or batch > self._last.batch:
            self._give_up(prepared)
        else:
            self._complete()
        abort_run(self._coordinators, self._query, run)

    def _open(self) -> None:
        if not self._opened:
            self._last, self._done = self._decisions.open()
            self._opened = True

    def _commit(self, run: str, batch: int, prepared: tuple[Prepared, ...]) -> bool:
        self._open()
        last = self._last
        if last is not None and run in last.past_runs:
            self._give_up(prepared)
            raise PipelineError(f"query {self._query} has been taken over by a newer driver (run {last.run})")
        self._complete()
        if last is not None and batch <= last.batch:
            if run != last.run:
                self._decide(replace(last, run=run, prepared=(), past_runs=self._past_runs(run)))
            # Those that were decided on after all, if they were ours: they are committed, and nothing is open there.
            self._give_up(prepared)
            self._tidy(run)
            return False
        if prepared:
            self._decide(Decision(run, batch, self._prepare(batch, prepared), self._past_runs(run)))
            self._complete()
            self._tidy(run)
        return True

    def _past_runs(self, run: str) -> tuple[str, ...]:
        """Who may not come back after the decision that `run` is about to write."""
        last = self._last
        taking_over = last is None or last.run != run
        past = [] if last is None else [*last.past_runs, *([last.run] if taking_over else [])]
        if taking_over:
            self._unknown = self._open_by_others(run, past)
        elif self._unknown:
            found = self._coordinators.describe(self._unknown, _now_ms())
            self._unknown = [name for name, known in found.items() if known and known.open_ms > STRAGGLER_MS]
        past += dict.fromkeys(_run_of(name) for name in self._unknown)
        return tuple(past[-PAST_RUNS:])

    def _open_by_others(self, run: str, past: Sequence[str]) -> list[str]:
        names = self._coordinators.open_ids(task_prefix(self._query))
        return [name for name in names if _run_of(name) != run and _run_of(name) not in past]

    def _decide(self, decision: Decision) -> None:
        self._decisions.decide(decision)
        self._last = decision

    def _complete(self) -> None:
        last = self._last
        if last is None or last.batch <= self._done:
            return
        results = self._coordinators.commit(last.prepared)
        unsure = [each for each, result in zip(last.prepared, results, strict=True) if isinstance(result, NotOpen)]
        if unsure:
            found = self._coordinators.describe([each.transactional_id for each in unsure], _now_ms())
            lost = [each for each in unsure if not _was_committed(each, found[each.transactional_id])]
            if lost and self._fail_on_loss:
                raise PipelineError(
                    f"query {self._query}: micro-batch {last.batch} was decided, but {len(lost)} of its"
                    f" {len(last.prepared)} transactions had timed out before they were committed (the first:"
                    f" {lost[0].transactional_id}). Their rows are missing; failOnDataLoss=false goes on without them"
                )
        self._decisions.mark_done(last.batch)
        self._done = last.batch

    def _prepare(self, batch: int, prepared: tuple[Prepared, ...]) -> tuple[Prepared, ...]:
        results = self._coordinators.prepare(prepared, _now_ms())
        problems = [each for each in results if isinstance(each, NotOpen)]
        if problems:
            self._give_up(prepared)
            raise PipelineError(
                f"query {self._query}: micro-batch {batch} took too long, {problems[0]}. Nothing was committed; make"
                " batches smaller (maxOffsetsPerTrigger) or raise transaction.max.timeout.ms on the cluster"
            )
        return tuple(each for each in results if isinstance(each, Prepared))

    def _give_up(self, prepared: Sequence[Prepared]) -> None:
        self._coordinators.abandon([each.transactional_id for each in prepared])

    def _tidy(self, run: str) -> None:
        assert self._last is not None
        ours = {run, *self._last.past_runs}
        names = self._coordinators.open_ids(task_prefix(self._query))
        self._coordinators.abandon([name for name in names if _run_of(name) in ours])
        self._unknown = [name for name in names if _run_of(name) not in ours]


def commit_unnamed(coordinators: Coordinators, prepared: Sequence[Prepared]) -> None:
    """A batch without a name has no ledger: all of it is prepared, then committed. Only a driver that dies in between
    leaves a part of it."""
    results = coordinators.prepare(prepared, _now_ms())
    problems: list[Prepared | NotOpen] = [each for each in results if isinstance(each, NotOpen)]
    if not problems:
        problems = coordinators.commit([each for each in results if isinstance(each, Prepared)])
    for problem in problems:
        if isinstance(problem, NotOpen):
            raise PipelineError(f"the batch took too long, {problem}")


def abort_run(coordinators: Coordinators, query: str, run: str) -> None:
    """Aborts whatever a run has open, also what its last tasks begin while they are being killed: one that has its id
    and has written nothing yet is refused when it does."""
    for pause_s in WHILE_TASKS_DIE_S:
        time.sleep(pause_s)
        coordinators.abandon(coordinators.begun_ids(task_prefix(query, run)))


def _run_of(transactional_id: str) -> str:
    return transactional_id.rsplit("/", 2)[1]


def _was_committed(prepared: Prepared, known: Described | None) -> bool:
    """Its id has moved on since, which it does only after a commit that we sent; the state may say more."""
    return known is not None and known.state == "CompleteCommit" and known.producer_epoch > prepared.producer_epoch


def _now_ms() -> int:
    return int(time.time() * 1000)
