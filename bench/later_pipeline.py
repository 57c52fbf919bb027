"""A pipeline that works through history, as a person runs it: a process of its own, watched until it ends.

What it used is read from /proc again and again, for its Java and Python processes come and go. Memory is counted as the
kernel shares it out among them (PSS), so that what forked workers have in common counts once.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from . import processes
from .servers import Server

EVERY_S = 0.5
FOLDERS_EVERY = 8  # what lies on the disk is counted more seldom
_NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?) ([a-z][a-z ]*)")


@dataclass(slots=True)
class Used:
    """What a command took, all its processes together, and what it said at its end."""

    seconds: float = 0.0
    cpu_s: float = 0.0
    node_cpu_s: float = 0.0
    memory_mb: float = 0.0  # the most at a time
    java_mb: float = 0.0  # of which Java, the most at a time
    scratch_gb: float = 0.0  # the most that lay in Spark's own folder
    other_cores: float = 0.0  # what others used meanwhile, on the average
    numbers: dict[str, float] = field(default_factory=dict)


def run_later(server: Server, words: Sequence[str], home: Path) -> Used:
    """`barnabas pipeline run` with these words, in this folder. An error is raised with what the command said."""
    scratch = home / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "barnabas.cli.main", "pipeline", "run", *words, "--quiet"]
    command += ["-b", server.bootstrap, "--data", str(home), "--conf", f"spark.local.dir={scratch}"]
    used, node_before, ours_before = Used(), _cpu_s([server.pid]), time.process_time()
    begin, (busy_before, _) = time.monotonic(), processes.machine_cpu_s()
    with (home / "said.txt").open("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        try:
            _watch(process, scratch, used)
        finally:
            process.kill()
            process.wait()
        used.seconds = time.monotonic() - begin
        said.seek(0)
        text = said.read()
    used.node_cpu_s = _cpu_s([server.pid]) - node_before
    others_s = processes.machine_cpu_s()[0] - busy_before - used.cpu_s - used.node_cpu_s
    used.other_cores = max(0.0, others_s - (time.process_time() - ours_before)) / used.seconds
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)} left with {process.returncode}: {text.strip()[-400:]}")
    used.numbers = {name.strip(): float(value.replace(",", "")) for value, name in _NUMBER.findall(text)}
    return used


def at(time_ms: int) -> str:
    """A moment as --from and --to take it."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat()


def size_gb(folder: Path) -> float:
    """What lies in a folder, now."""
    total = 0
    for place in folder.rglob("*"):
        try:
            total += place.stat().st_size if place.is_file() else 0
        except OSError:  # it went meanwhile
            continue
    return total / 1e9


def _watch(process: subprocess.Popen[bytes], scratch: Path, used: Used) -> None:
    looks = 0
    while process.poll() is None:
        table = processes.processes()
        family = processes.family(table, [process.pid])
        used.cpu_s = max(used.cpu_s, processes.cpu_s(table, family))
        shares = {pid: processes.pss_mb(pid) for pid in family}
        used.memory_mb = max(used.memory_mb, sum(shares.values()))
        java = sum(share for pid, share in shares.items() if processes.name_of(pid) == "java")
        used.java_mb = max(used.java_mb, java)
        if looks % FOLDERS_EVERY == 0:
            used.scratch_gb = max(used.scratch_gb, size_gb(scratch))
        looks += 1
        time.sleep(EVERY_S)


def _cpu_s(roots: Sequence[int]) -> float:
    table = processes.processes()
    return processes.cpu_s(table, processes.family(table, roots))
