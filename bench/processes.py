"""What /proc knows: CPU time, memory and threads of a tree of processes, and of the whole machine.

CPU time of a process includes children it has reaped, so a run that spawns helpers is charged for them.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
KTHREADD = 2  # the parent of all kernel threads


def _stat(path: Path) -> tuple[str, list[str]] | None:
    """The name and the fields that follow it; a name may hold spaces and brackets, so it is cut off first."""
    try:
        text = path.read_text()
    except OSError:  # the process has ended meanwhile
        return None
    opening, closing = text.index("("), text.rindex(")")
    return text[opening + 1 : closing], text[closing + 2 :].split()


@dataclass(frozen=True, slots=True)
class Process:
    parent: int
    cpu_s: float  # user and system time, with that of reaped children


def processes() -> dict[int, Process]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := _stat(entry / "stat")):
            fields = stat[1]
            found[int(entry.name)] = Process(int(fields[1]), sum(map(int, fields[11:15])) / TICKS_PER_S)
    return found


def family(table: dict[int, Process], roots: Collection[int], without: Collection[int] = ()) -> set[int]:
    """The roots that live and all their descendants, except the subtrees of `without`."""
    children: dict[int, list[int]] = {}
    for pid, process in table.items():
        children.setdefault(process.parent, []).append(pid)
    found: set[int] = set()
    waiting = [pid for pid in roots if pid in table]
    while waiting:
        pid = waiting.pop()
        if pid not in found and pid not in without:
            found.add(pid)
            waiting += children.get(pid, ())
    return found


def cpu_s(table: dict[int, Process], pids: Collection[int]) -> float:
    return sum(table[pid].cpu_s for pid in pids)


def kernel_cpu_s(table: dict[int, Process]) -> float:
    """CPU of kernel threads (writeback and the like), which belongs to nobody in particular."""
    return sum(process.cpu_s for process in table.values() if process.parent == KTHREADD)


def machine_cpu_s() -> tuple[float, float]:
    """(busy, stolen by the hypervisor) seconds of all cores since boot."""
    ticks = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks[:8]
    return (user + nice + system + irq + softirq) / TICKS_PER_S, steal / TICKS_PER_S


def thread_cpu_s(pids: Collection[int]) -> dict[tuple[int, str], float]:
    out = {}
    for pid in pids:
        for path in Path(f"/proc/{pid}/task").glob("*/stat"):
            if stat := _stat(path):
                out[int(path.parent.name), stat[0]] = sum(map(int, stat[1][11:13])) / TICKS_PER_S
    return out


def memory_mb(root: int) -> dict[str, float]:
    """Resident memory of a process tree: all of it, and the part that is not mapped files."""
    total = {"VmRSS:": 0, "RssAnon:": 0}
    for pid in family(processes(), [root]):
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            name, *value = line.split()
            if name in total:
                total[name] += int(value[0])
    return {"rss_mb": round(total["VmRSS:"] / 1024, 1), "rss_anon_mb": round(total["RssAnon:"] / 1024, 1)}


def pss_mb(pid: int) -> float:
    """Memory of one process, with its share of what it has in common with others; 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def name_of(pid: int) -> str:
    stat = _stat(Path(f"/proc/{pid}/stat"))
    return stat[0] if stat else ""
