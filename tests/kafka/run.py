"""Runs Apache Kafka's own integration tests against Barnabas, a JVM for each class.

    .venv/bin/python -m tests.kafka.run             every class of classes.toml; writes the table in
                                                    docs/compatibility.md
    .venv/bin/python -m tests.kafka.run --short     the short slice of `make test`
    .venv/bin/python -m tests.kafka.run TopicCommandTest [METHOD-PATTERN]
                                                    one class; its row of the table has the last run of each test

Most tests have a time limit of their own, which a busy machine does not always keep: one that fails and is not expected
to is tried once more alone at the end (not in the short slice), and its row of the table says so.

Exit code 1 when a test fails that is not expected to, or passes that was expected to fail.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from pathlib import Path

from tests.kafka.page import write_page
from tests.kafka.table import KafkaClass, read_table
from tests.kafka.verdict import Outcome, Verdict, judge, read_runs
from tests.support.bytecode import keep_bytecode
from tests.support.paths import ROOT

LIBS, CLASSES, RESULTS = (ROOT / ".kafka" / name for name in ("test-libs", "test-classes", "test-results"))
LOG4J = Path(__file__).with_name("log4j2.properties")
CLASS_TIMEOUT_SECONDS = 1800
JAVA = ("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def run_class(test_class: KafkaClass, methods: str, *, whole: bool, quick: bool, again: bool = False) -> Verdict:
    name = test_class.simple_name + ("" if whole else ".part")
    results, log = (RESULTS / f"{name}{suffix}" for suffix in (".running", ".log"))
    results.unlink(missing_ok=True)
    data = Path(tempfile.mkdtemp(prefix="barnabas-kafka-tests-"))
    command = [
        *JAVA,
        f"-Dbarnabas.command={Path(sys.executable).with_name('barnabas')}",
        f"-Dbarnabas.data={data}",
        f"-Dbarnabas.results={results}",
        f"-Dlog4j2.configurationFile={LOG4J}",
        f"-Dbarnabas.one.kind={str(quick).lower()}",
        "-cp",
        f"{CLASSES}:{LIBS}/*",
        "barnabas.RunTests",
        test_class.name,
        methods,
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = process.wait(CLASS_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            code = -1
        finally:
            end_group(process)
            shutil.rmtree(data, ignore_errors=True)
    runs = read_runs(results)
    if code == 0 and runs:  # a run that was broken off leaves the record of the one before
        record(RESULTS / f"{test_class.simple_name}.jsonl", runs, whole=whole, again=again)
    return judge(test_class, runs, code, whole=whole)


def record(kept: Path, runs: list[Outcome], *, whole: bool, again: bool = False) -> None:
    """The last run of each test. Some methods alone replace theirs in the record of a class that was run whole."""
    if not whole and not kept.exists():
        return
    now = {run.method for run in runs}
    before = [] if whole else [run for run in read_runs(kept) if run.method not in now]
    lines = [json.dumps(asdict(run)) + "\n" for run in (*before, *(replace(run, again=again) for run in runs))]
    kept.write_text("".join(lines))


def run_again(verdict: Verdict, *, whole: bool, quick: bool) -> Verdict:
    """What failed without a reason, once more, alone."""
    methods = verdict.unexpected
    alone = run_class(verdict.test_class, "|".join(methods), whole=False, quick=quick, again=True)
    print(f"kafka-tests {verdict.test_class.simple_name}, again: {', '.join(methods)}", flush=True)
    for problem in alone.problems:
        print(f"    {problem}", flush=True)
    if alone.problems:
        return verdict
    others = [run for run in verdict.runs if run.method not in methods]
    return judge(verdict.test_class, others + [replace(run, again=True) for run in alone.runs], 0, whole=whole)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """The JVM and every node it started: they are one process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def chosen(arguments: argparse.Namespace) -> list[tuple[KafkaClass, str]]:
    """Classes with the pattern of their methods."""
    table = [row for row in read_table() if not row.not_run]
    if arguments.name:
        found = [row for row in table if arguments.name in (row.name, row.simple_name)]
        if not found:
            sys.exit(f"{arguments.name} is not in tests/kafka/classes.toml, or is not run")
        return [(row, arguments.methods or row.methods) for row in found]
    if arguments.short:
        return [(row, "|".join(row.short)) for row in table if row.short]
    return [(row, row.methods) for row in table]


def recorded() -> list[Verdict]:
    """The last results of every class that was ever run whole on this machine."""
    rows = [row for row in read_table() if not row.not_run]
    return [judge(row, _kept(row, read_runs(RESULTS / f"{row.simple_name}.jsonl")), 0) for row in rows]


def recorded_days() -> dict[str, date]:
    """When each class was run whole on this machine, by its name."""
    files = {row.simple_name: RESULTS / f"{row.simple_name}.jsonl" for row in read_table() if not row.not_run}
    return {
        name: datetime.fromtimestamp(file.stat().st_mtime, UTC).date() for name, file in files.items() if file.exists()
    }


def _kept(row: KafkaClass, runs: list[Outcome]) -> list[Outcome]:
    """Without the tests that are no longer run."""
    return [run for run in runs if re.fullmatch(row.methods, run.method)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="only the slice of `make test`")
    parser.add_argument("--quick", action="store_true", help="every class, but only one kind of cluster for each test")
    parser.add_argument("name", nargs="?", help="one class")
    parser.add_argument("methods", nargs="?", help="a regular expression over its methods")
    arguments = parser.parse_args()
    if not (CLASSES / ".complete").exists():
        sys.exit("kafka-tests: run tools/setup_tests.sh first")
    keep_bytecode()
    RESULTS.mkdir(exist_ok=True)
    work = chosen(arguments)
    verdicts: list[Verdict] = []
    for number, (test_class, methods) in enumerate(work, 1):
        began = time.monotonic()
        whole = methods == test_class.methods
        verdict = run_class(test_class, methods, whole=whole, quick=arguments.quick or arguments.short)
        verdicts.append(verdict)
        counts = ", ".join(f"{count} {state}" for state, count in sorted(verdict.counts.items()))
        seconds = time.monotonic() - began
        print(f"kafka-tests {number}/{len(work)} {test_class.simple_name}: {counts} ({seconds:.0f} s)", flush=True)
        for problem in verdict.problems:
            print(f"    {problem}", flush=True)
    for number, (verdict, (test_class, methods)) in enumerate(zip(verdicts, work, strict=True)):
        if verdict.unexpected and verdict.exit_code == 0 and not arguments.short:
            whole = methods == test_class.methods
            verdicts[number] = run_again(verdict, whole=whole, quick=arguments.quick)
    if not arguments.short:
        write_page(recorded(), read_table(), recorded_days())
    failed = sum(1 for verdict in verdicts if verdict.problems)
    print(f"kafka-tests: {len(verdicts)} classes, {failed} not as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
