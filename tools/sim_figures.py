"""Runs seeds of the simulator and records what came out in docs/figures/sim.json: `make sim-figures SEEDS=1000`.

python tools/sim_figures.py FIRST SEEDS WORKERS; three nodes. Exit code 1 when a promise broke.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from barnabas.sim.seeds import run_seeds

ROOT = Path(__file__).resolve().parent.parent
NODES = 3


def main(first: int, seeds: int, workers: int) -> int:
    begun = time.monotonic()
    simulated, acknowledged, broken = 0.0, 0, []
    faults: Counter[str] = Counter()
    for verdict in run_seeds(range(first, first + seeds), workers, None, NODES, ""):
        simulated += verdict.simulated_seconds
        acknowledged += verdict.acknowledged
        faults.update(verdict.faults)
        if not verdict.ok:
            broken.append(verdict.seed)
            print(f"barnabas sim --nodes {NODES} --seed {verdict.seed}: {verdict.problems[0]}")
    took = time.monotonic() - begun
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    result = {
        "when": datetime.date.today().isoformat(),
        "commit": head.stdout.strip(),
        "cores": os.cpu_count(),
        "workers": workers,
        "nodes": NODES,
        "ranges": f"{first} to {first + seeds - 1}",
        "seeds": seeds,
        "simulated_hours": round(simulated / 3600, 1),
        "simulated_per_second": round(simulated / took),
        "minutes": round(took / 60, 1),
        "faults": sum(faults.values()),
        "acknowledged": acknowledged,
        "broken": len(broken),
    }
    (ROOT / "docs" / "figures" / "sim.json").write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
    print(json.dumps(result))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:4])))
