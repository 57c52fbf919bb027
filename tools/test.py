"""Every test, quick ones first, each part with its time: `make test`. Parts can be run alone: tools/test.py unit faults

Parts that mostly wait (for clients, browsers, Spark) run two at a time; those that measure time or use both cores run
alone. What fails beside others is tried once more, alone, when all the rest is done. What passes only then is unsteady:
a defect of the test or of the product. It is named at the end and recorded in tests/unsteady.txt (commit that line, or
mend the test); the second time it fails the run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
UNSTEADY = ROOT / "tests" / "unsteady.txt"
CACHES = ROOT / ".pytest_cache"
PYTEST = (".venv/bin/pytest",)
MEASURED = (".venv/bin/python", "-m", "coverage", "run", "-m", "pytest")
COVERAGE = ROOT / "build" / "coverage"
_SOME_TESTS_FAILED = 1  # pytest's exit code
_LANES = 2


@dataclass(frozen=True)
class Part:
    name: str
    arguments: tuple[str, ...] = ()  # of pytest
    command: tuple[str, ...] = ()  # in place of pytest
    alone: bool = False
    measured: bool = False  # its coverage, where that costs nothing: Python 3.11 would need two to three times as long

    def line(self) -> list[str]:
        if self.command:
            return list(self.command)
        pytest = MEASURED if self.measured and sys.version_info >= (3, 12) else PYTEST
        return [*pytest, "-o", f"cache_dir={self.cache}", *self.arguments]

    @property
    def cache(self) -> Path:
        return CACHES / self.name


def _by_file(name: str, *folders: str) -> Part:
    return Part(name, ("-n", "2", "--dist", "loadfile", *(folders or (f"tests/{name}",)), "-m", "not long"))


_SHORT = ("-m", "not long", "--durations", "3")
PARTS = (
    Part("check", command=("make", "-s", "check"), alone=True),
    Part("unit", ("-n", "2", "tests/unit", "-m", "not long"), alone=True, measured=True),
    Part("sim", ("-n", "2", "tests/sim", "-m", "not long"), alone=True),
    Part("fuzz", ("tests/fuzz", *_SHORT), alone=True),
    Part("limits", ("tests/limits", *_SHORT), alone=True),
    Part("spark", ("tests/spark", *_SHORT)),
    _by_file("clients"),
    _by_file("console"),
    _by_file("registry"),
    _by_file("connect"),
    _by_file("linked_clusters"),
    _by_file("mirror"),
    _by_file("security"),
    Part("differential", ("tests/differential", *_SHORT)),
    _by_file("metrics"),
    Part("kafka", command=(".venv/bin/python", "-m", "tests.kafka.run", "--short")),
    Part(
        "faults",
        ("-n", "2", "--dist", "loadfile", "tests/transactions", "tests/crash", "tests/cluster", *_SHORT),
        alone=True,
    ),
)


class Run:
    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._numbers = {part: number for number, part in enumerate(parts, 1)}
        self._printing = threading.Lock()
        self.failed: dict[Part, list[str]] = {}  # what to try again; empty: the part as a whole failed

    def all(self) -> None:
        waiting: list[Part] = []
        for part in self._parts:
            if part.alone:
                self._beside_each_other(waiting)
                waiting = []
                self._beside_each_other([part])
            else:
                waiting.append(part)
        self._beside_each_other(waiting)

    def _beside_each_other(self, parts: Sequence[Part]) -> None:
        with ThreadPoolExecutor(_LANES) as lanes:
            list(lanes.map(self._run, parts))
        if whole := [part.name for part, names in self.failed.items() if not names]:
            raise SystemExit(f"=== {', '.join(whole)} failed")

    def _run(self, part: Part) -> None:
        began = time.monotonic()
        shutil.rmtree(part.cache, ignore_errors=True)
        self._say(f"=== {self._numbers[part]}/{len(self._parts)} {part.name}")
        environment = _environment(part)
        prefix = "" if part.alone else f"[{part.name}] "
        with subprocess.Popen(
            part.line(), cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                self._say(prefix + line.rstrip("\n"))
        code = process.returncode
        if "COVERAGE_FILE" in environment and code == 0:
            subprocess.run(["tools/coverage_report.sh", ".venv", "12"], cwd=ROOT)
        self._say(f"=== {part.name} took {time.monotonic() - began:.0f} s{'' if code == 0 else ', and failed'}")
        if code != 0:
            names = _last_failed(part) if code == _SOME_TESTS_FAILED and not part.command else []
            self.failed[part] = names

    def _say(self, line: str) -> None:
        with self._printing:
            print(line, flush=True)

    def again(self) -> list[str]:
        """What passes alone. Raises SystemExit for what does not."""
        unsteady: list[str] = []
        for part, names in self.failed.items():
            self._say("\n".join([f"=== {part.name}: failed beside others, once more alone:", *names]))
            arguments = [each for each in part.line() if each not in ("-n", "2")]
            alone = [*arguments, "--last-failed", "--last-failed-no-failures", "none"]
            if subprocess.run(alone, cwd=ROOT).returncode != 0:
                raise SystemExit(f"=== {part.name} failed")
            unsteady += names
        return unsteady


def _environment(part: Part) -> dict[str, str]:
    if part.line()[: len(MEASURED)] != list(MEASURED):
        return dict(os.environ)
    shutil.rmtree(COVERAGE, ignore_errors=True)
    COVERAGE.mkdir(parents=True)
    return {**os.environ, "COVERAGE_CORE": "sysmon", "COVERAGE_FILE": str(COVERAGE / "data")}


def _last_failed(part: Part) -> list[str]:
    try:
        return sorted(json.loads((part.cache / "v/cache/lastfailed").read_text()))
    except (OSError, ValueError):
        return []


def main(names: Sequence[str]) -> int:
    known = {part.name: part for part in PARTS}
    if wrong := [each for each in names if each not in known]:
        print(f"no part {wrong[0]}: {', '.join(known)}", file=sys.stderr)
        return 2
    if subprocess.run(["tools/setup_tests.sh"], cwd=ROOT).returncode != 0:
        return 1
    began = time.monotonic()
    run = Run([known[each] for each in names] or PARTS)
    run.all()
    unsteady = run.again()
    earlier = set(UNSTEADY.read_text().splitlines())
    if unsteady:
        print("=== unsteady, passed only alone, recorded in tests/unsteady.txt:", *unsteady, sep="\n")
        with UNSTEADY.open("a") as file:
            file.writelines(f"{each}\n" for each in unsteady if each not in earlier)
    if twice := earlier.intersection(unsteady):
        print("=== and not for the first time: find out why:", *sorted(twice), sep="\n")
        return 1
    print(f"=== all of it took {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
