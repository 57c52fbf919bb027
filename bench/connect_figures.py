"""What the measurements of connectors have in common: CPU of processes, and figures for the documentation."""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path

from . import processes

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures"


def cpu_s(*pids: int) -> list[float]:
    """Seconds of CPU that each process has used, with its children."""
    table = processes.processes()
    return [processes.cpu_s(table, processes.family(table, [pid])) for pid in pids]


def peak_mb(pid: int) -> float:
    """Of the process and its children."""
    total = 0
    for each in processes.family(processes.processes(), [pid]):
        status = Path(f"/proc/{each}/status").read_text()
        total += int(status.split("VmHWM:")[1].split()[0])
    return total / 1024


def load() -> float:
    return os.getloadavg()[0]


def keep(name: str, load_before: float, **values: float | str) -> None:
    """Writes docs/figures/NAME.json, which tools/figures_page.py puts into the pages."""
    conditions = {
        "when": datetime.date.today().isoformat(),
        "cores": os.cpu_count(),
        "load_before": round(load_before, 1),
        "load_after": round(load(), 1),
    }
    (FIGURES / f"{name}.json").write_text(json.dumps(conditions | values, indent=1, sort_keys=True) + "\n")
