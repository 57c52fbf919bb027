"""Runs in turns: Kafka, Barnabas, Barnabas, Kafka, ... so that whatever the machine does meanwhile meets both, and what
a run leaves behind for the next one, too.

A run that strangers disturbed is repeated, and the calmest one counts. A failing run is noted and loses nothing else;
a server that died is started again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .measures import Better, Measure
from .meter import others_cores
from .options import Options
from .servers import Server
from .stats import medians
from .workload import RunResult, Workload


class Patience:
    """Waits until strangers are calm and says whether a disturbed run may be repeated, until its time is used up."""

    def __init__(self, options: Options) -> None:
        self.limit_cores, self.tries = options.quiet_cores, options.tries
        self._left_s = options.patience_s if options.quiet_cores else 0.0

    def wait(self, server: Server) -> None:
        while self._left_s > 0:
            begin = time.monotonic()
            calm = others_cores(server) <= self.limit_cores
            if calm:
                return
            self._left_s -= time.monotonic() - begin

    def again(self, tries: Sequence[RunResult], took_s: float) -> bool:
        if self._left_s <= 0 or len(tries) >= self.tries or _others(tries[-1]) <= self.limit_cores:
            return False
        self._left_s -= took_s
        return True


@dataclass(slots=True)
class Outcome:
    """Every run of one case on one server."""

    runs: list[RunResult] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {"median": medians(self.runs), "runs": self.runs, "errors": self.errors}


class Progress:
    """One line to stderr for every run, with the time so far and how far we are."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.begin = total, 0, time.monotonic()

    def say(self, text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self.begin), 60)
        share = f"{100 * self.done // max(1, self.total):3d} %"
        print(f"[{minutes:2d}:{seconds:02d} {share}] {text}", file=sys.stderr, flush=True)

    def step(self, text: str) -> None:
        self.done += 1
        self.say(text)


def run_row(
    workload: Workload[Any], servers: Sequence[Server], options: Options, progress: Progress, patience: Patience
) -> list[dict[str, Any]]:
    results = []
    if workload.ours_alone:
        servers = servers[-1:]
    try:
        for case in workload.chosen(options):
            outcomes = {server.name: Outcome() for server in servers}
            usable = [server for server in servers if _ready(workload, server, case, options, outcomes, progress)]
            for number in range(min(options.rounds, workload.rounds or options.rounds)):
                for server in servers if number % 2 == 0 else reversed(servers):
                    label = f"{workload.name:12} {case.label:38} {server.name:9}"
                    if server not in usable:
                        progress.step(f"{label} left out")
                        continue
                    said = _run(workload, server, case, options, outcomes[server.name], patience)
                    progress.step(f"{label} {said}")
            measures = [measure.key for measure in workload.measures_of(case)]
            servers_json = {name: outcome.as_json() for name, outcome in outcomes.items()}
            results.append({"case": case.label, "measures": measures, "servers": servers_json})
    finally:
        for server in servers:
            try:
                workload.finish(server)
            except Exception as problem:
                progress.say(f"{workload.name}: cleaning up on {server.name} failed: {problem}")
    return results


def _ready(
    workload: Workload[Any],
    server: Server,
    case: Any,
    options: Options,
    outcomes: dict[str, Outcome],
    progress: Progress,
) -> bool:
    """Prepare and warm up; a server that cannot even do that is left out of the case."""
    try:
        workload.prepare(server, case, options)
        if workload.warm_up:
            workload.run(server, case, options.smaller(workload.warm_up))
    except Exception as problem:
        outcomes[server.name].errors.append(_describe(problem))
        progress.say(f"{workload.name} {case.label}: {server.name} could not be prepared: {_describe(problem)}")
        _revive(server)
        return False
    return True


def _run(
    workload: Workload[Any], server: Server, case: Any, options: Options, outcome: Outcome, patience: Patience
) -> str:
    tries: list[RunResult] = []
    while True:
        patience.wait(server)
        begin = time.monotonic()
        try:
            tries.append(workload.run(server, case, options))
        except Exception as problem:  # one failing run must not lose the others
            outcome.errors.append(_describe(problem))
            _revive(server)
            return f"FAILED {_describe(problem)}"
        if workload.rounds == 1 or not patience.again(tries, time.monotonic() - begin):
            break
    calmest = min(tries, key=_others)
    outcome.runs.append(calmest | {"tries": len(tries)})
    return summary(workload.measures_of(case), calmest)


def _others(result: RunResult) -> float:
    return float(result.get("other_cores", 0.0))


def _revive(server: Server) -> None:
    if not server.running:
        server.stop()
        server.start()
        server.wait_ready().close()


def _describe(problem: Exception) -> str:
    return f"{type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''}"[:300]


def summary(measures: Sequence[Measure], result: RunResult) -> str:
    parts = [f"{value_text(measure, float(result[measure.key]))}" for measure in measures if measure.key in result]
    busy = [f"{who} {result[f'{who}_cores']:.2f}" for who in ("server", "client", "other") if f"{who}_cores" in result]
    return "  ".join(parts) + (f"  (cores: {', '.join(busy)})" if busy else "")


def value_text(measure: Measure, value: float) -> str:
    if measure.better is Better.HIGHER and measure.unit == "/s":
        return f"{value:,.0f}{measure.unit}"
    return f"{value:,.{measure.digits}f} {measure.unit}".rstrip()
