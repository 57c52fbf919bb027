"""`barnabas sim`: whole nodes in one process on a virtual clock, with faults, and every promise checked.

A seed decides everything, so a failing one is replayed by its number. For whoever works on Barnabas, or doubts it.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common.failure import FAILED, usage
from barnabas.cli.common.screen import paint, say

if TYPE_CHECKING:
    from barnabas.sim.run import Verdict

_STORY_LINES = 40


def sim(
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Run this one seed.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", help="Run so many seeds.", min=1)] = 100,
    first: Annotated[int, typer.Option("--first", metavar="N", help="The first of them.", min=0)] = 1,
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", help="Nodes of the simulated cluster.", min=1)] = 1,
    scenario: Annotated[
        str,
        typer.Option("--scenario", metavar="NAME", help="A scenario that aims at one promise; 'list' names them."),
    ] = "",
    workers: Annotated[int, typer.Option("--workers", "-w", metavar="N", help="Processes.", min=1)] = 1,
    bug: Annotated[
        str | None, typer.Option("--bug", metavar="NAME", help="Plant this bug, to see it found; 'list' names them.")
    ] = None,
) -> None:
    """Run real nodes in a simulation, and check every promise.

    Time, network and disks are simulated, nothing outside is touched, and one seed decides all that happens. It fails
    (exit code 1) when a promise was broken, with the events before it and the command that replays it.

    \b
    Example:
      barnabas sim --seed 7
      barnabas sim --nodes 3 --seed 7
      barnabas sim --seeds 1000 --workers 2
      barnabas sim --scenario pairs --seeds 50
      barnabas sim --bug fsync-skipped --seeds 50
    """
    from barnabas.sim.bugs import BUGS
    from barnabas.sim.scenarios.targeted import TARGETED
    from barnabas.sim.seeds import run_seeds

    if scenario == "list":
        for name in TARGETED:
            say(name)
        return
    if scenario and scenario not in TARGETED:
        raise usage(f"there is no scenario {scenario!r}", "See: barnabas sim --scenario list")
    if bug == "list":
        for planted in BUGS.values():
            say(f"{planted.name:24} {planted.story}")
        return
    if bug is not None and bug not in BUGS:
        raise usage(f"there is no bug {bug!r} to plant", "See: barnabas sim --bug list")
    chosen = range(seed, seed + 1) if seed is not None else range(first, first + seeds)
    tally = _Tally(len(chosen))
    failed: list[Verdict] = []
    with tally:
        for verdict in run_seeds(chosen, min(workers, len(chosen)), bug, nodes, scenario):
            tally.add(verdict)
            if not verdict.ok:
                failed.append(verdict)
                if bug is not None:
                    break
    for verdict in failed[:3]:
        _tell(verdict, bug, nodes, scenario)
    say(tally.line(len(failed)))
    if seed is not None:
        say(paint(f"trace {failed[0].digest if failed else tally.digest}", "dim"))
    if failed:
        raise typer.Exit(FAILED)


def _tell(verdict: Verdict, bug: str | None, nodes: int, scenario: str) -> None:
    say(paint(f"seed {verdict.seed} broke:", "red"))
    for problem in verdict.problems[:10]:
        say(f"  {problem}")
    say(paint("what happened:", "bold"))
    for line in verdict.story[-_STORY_LINES:]:
        say(f"  {line}")
    many = (f" --nodes {nodes}" if nodes > 1 else "") + (f" --scenario {scenario}" if scenario else "")
    say(f"replay: barnabas sim{many} --seed {verdict.seed}{f' --bug {bug}' if bug else ''}")


class _Tally:
    """The progress bar, and the last line."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._begun = time.monotonic()
        self._seeds = self._acknowledged = self._failed = 0
        self._simulated = 0.0
        self._worst_ms, self._worst = 0.0, ""
        self._faults: Counter[str] = Counter()
        self.digest = ""

    def __enter__(self) -> _Tally:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            BarColumn(bar_width=30),
            TextColumn("{task.completed:>5}/{task.total} seeds  {task.fields[told]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("", total=self._total, told="")
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def add(self, verdict: Verdict) -> None:
        self._seeds += 1
        self._failed += not verdict.ok
        self._acknowledged += verdict.acknowledged
        self._simulated += verdict.simulated_seconds
        if verdict.worst_callback_ms > self._worst_ms:
            self._worst_ms, self._worst = verdict.worst_callback_ms, f"{verdict.worst_callback} (seed {verdict.seed})"
        self._faults.update(verdict.faults)
        self.digest = verdict.digest
        self._bar.update(self._task, advance=1, told=self._told())

    def _told(self) -> str:
        seconds = max(time.monotonic() - self._begun, 1e-9)
        broke = f"  {self._failed} broke" if self._failed else ""
        return (
            f"{self._seeds / seconds:.1f} seeds/s  {self._simulated / 3600:.2f} simulated hours "
            f"({self._simulated / seconds:.0f} s/s)  {sum(self._faults.values()):,} faults{broke}"
        )

    def line(self, failed: int) -> str:
        verdict = paint("broken", "red") if failed else paint("ok", "green")
        done = f"{verdict}  {self._seeds} seeds  {self._told()}  {self._acknowledged:,} records acknowledged"
        return f"{done}\nthe longest callback of a node took {self._worst_ms:.0f} ms of CPU: {self._worst}"
