"""python -m bench: both servers up, every row in turns, docs/performance.md written. `--help` lists the rows."""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import chart, environment, jars, report
from .measures import Verdict
from .options import Options
from .runner import Patience, Progress, run_row
from .servers import ApacheKafka, Barnabas, Server, ServerFailed
from .warmup import warm_up
from .workload import Workload
from .workloads import ALL

RESULTS = jars.ROOT / "bench" / "results"
DOCUMENT = jars.ROOT / "docs" / "performance.md"
BEFORE = "Before"


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    rows = "\n".join(f"  {workload.name:14} {workload.title}" for workload in ALL)
    parser = argparse.ArgumentParser(
        prog="bench",
        description="Barnabas beside Apache Kafka, in turns, on this machine.",
        epilog=f"rows:\n{rows}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [workload.name for workload in ALL]
    parser.add_argument("--only", action="append", choices=names, metavar="ROW", help="only this row (again for more)")
    parser.add_argument("--quick", action="store_true", help="one round, small, fewer cases: about three minutes")
    parser.add_argument("--rounds", type=int, help="runs of each case on each server (default 3)")
    parser.add_argument("--scale", type=float, help="multiplies counts and durations (default 1)")
    parser.add_argument("--big", type=float, metavar="GB", help="size of the large partition (default 2)")
    parser.add_argument(
        "--millions", type=int, action="append", metavar="N", help="size of spark-later: 1 (default), 10 or 100"
    )
    parser.add_argument("--quiet", type=float, default=0.25, metavar="CORES", help="repeat a run while others use more")
    parser.add_argument("--libs", type=Path, default=jars.DEFAULT, help="folder of Apache Kafka's jars")
    parser.add_argument("--work", type=Path, default=jars.ROOT / ".kafka" / "bench", help="where the servers keep data")
    parser.add_argument("--twin", action="store_true", help="a second Kafka in our place: what the method itself says")
    parser.add_argument("--before", type=Path, metavar="SRC", help="the src of another checkout in Kafka's place")
    parser.add_argument("--no-docs", action="store_true", help="leave docs/performance.md as it is")
    return parser.parse_args(arguments)


def options_of(arguments: argparse.Namespace) -> Options:
    quick = arguments.quick
    return Options(
        libs=jars.find_or_fetch(arguments.libs.resolve()),
        rounds=arguments.rounds or (1 if quick else 3),
        scale=arguments.scale or (0.1 if quick else 1.0),
        quick=quick,
        big_gb=arguments.big or (0.3 if quick else 2.0),
        quiet_cores=arguments.quiet,
        millions=tuple(arguments.millions or ()),
        patience_s=10.0 if quick else 300.0,
    )


def start_servers(
    arguments: argparse.Namespace, options: Options, stack: contextlib.ExitStack, ours_alone: bool
) -> list[Server]:
    work = arguments.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    ours: Server = Barnabas(work / "barnabas")
    if arguments.twin:
        ours = ApacheKafka(work / "twin", options.libs, name="Twin")
    beside: Server = ApacheKafka(work / "kafka", options.libs)
    if arguments.before is not None:
        beside = Barnabas(work / "before", arguments.before.resolve(), BEFORE)
    servers = [ours] if ours_alone else [beside, ours]
    for server in servers:
        stack.callback(server.remove)
        server.start()
    for server in servers:
        server.wait_ready().close()
    return servers


def merged(fresh: dict[str, Any], kept: Path, workloads: Sequence[Workload[Any]]) -> dict[str, Any]:
    """The rows of this run over those measured before: a run of one row must not lose the others, and one of some of
    its cases not the other cases. What the page says of the machine is that of the rows that were there."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        before = json.loads(kept.read_text())
        if before["ours"] == fresh["ours"]:
            rows = dict(before["rows"])
            for workload in workloads:
                if workload.name in fresh["rows"]:
                    row, known = fresh["rows"][workload.name], rows.get(workload.name, {"cases": []})
                    rows[workload.name] = row | {"cases": _all_cases(workload, row["cases"], known["cases"])}
            whole = before["rows"].keys() <= fresh["rows"].keys()
            return (fresh if whole else before) | {"rows": rows}
    return fresh


def _all_cases(workload: Workload[Any], fresh: list[Any], before: list[Any]) -> list[Any]:
    found = {case["case"]: case for case in (*before, *fresh)}
    return [found[case.label] for case in workload.cases() if case.label in found]


def keep(results: dict[str, Any], arguments: argparse.Namespace, workloads: Sequence[Workload[Any]]) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}.json").write_text(json.dumps(results, indent=1) + "\n")
    if arguments.quick or arguments.twin or arguments.before or arguments.no_docs:
        return
    latest = RESULTS / "latest.json"
    everything = merged(results, latest, workloads)
    latest.write_text(json.dumps(everything, indent=1) + "\n")
    previous = DOCUMENT.read_text() if DOCUMENT.exists() else ""
    DOCUMENT.write_text(report.write(everything, workloads, previous))
    DOCUMENT.with_suffix(".svg").write_text(chart.draw(everything, workloads))


def print_tables(results: dict[str, Any], workloads: Sequence[Workload[Any]], beside: str) -> None:
    judged: list[Verdict] = []
    for workload in workloads:
        if row := results["rows"].get(workload.name):
            print("\n".join(report.row_section(workload, row, results["ours"], "", beside)[:-4]), end="\n\n")
            judged += report.verdicts(workload, row, results["ours"], beside)
    print(f"{sum(verdict is Verdict.REACHED for verdict in judged)} of {len(judged)} goals reached")


def run_rows(
    chosen: Sequence[Workload[Any]], arguments: argparse.Namespace, options: Options, rows: dict[str, Any]
) -> None:
    """Both servers up and warm, then row after row into `rows`."""
    with contextlib.ExitStack() as stack:
        servers = start_servers(arguments, options, stack, all(workload.ours_alone for workload in chosen))
        progress = Progress(sum(len(workload.chosen(options)) for workload in chosen) * 2 * options.rounds)
        patience = Patience(options)
        for server in servers:
            progress.say(f"warming up {server.name}")
            warm_up(server, options)
        for workload in chosen:
            cases = run_row(workload, servers, options, progress, patience)
            on = environment.machine() | environment.versions(options.libs)
            rows[workload.name] = {"when": environment.today(), "scale": options.scale, "on": on, "cases": cases}


def main() -> int:
    arguments = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # servers inherit it: 1,000 partitions are 4,000 files
    try:
        options = options_of(arguments)
        workloads = [workload() for workload in ALL]
        chosen = [workload for workload in workloads if not arguments.only or workload.name in arguments.only]
        results: dict[str, Any] = {
            "ours": "Twin" if arguments.twin else "Barnabas",
            "rounds": options.rounds,
            "quiet_cores": options.quiet_cores,
            "machine": environment.machine(),
            "versions": environment.versions(options.libs),
            "rows": {},
        }
        try:
            run_rows(chosen, arguments, options, results["rows"])
        finally:  # rows that are done are kept, however the benchmark ends
            if results["rows"]:
                keep(results, arguments, workloads)
                print_tables(results, workloads, BEFORE if arguments.before else "Kafka")
    except (jars.NoJars, ServerFailed) as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
