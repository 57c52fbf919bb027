"""Keeps what `make coverage` measured: docs/figures/coverage.json, from coverage's own report in JSON.

Beside the whole it lists the packages below the goal, and the files that are run least. The arguments are the report
and the folders of tests that ran.
"""

from __future__ import annotations

import datetime
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GOAL, LISTED = 90, 15


def figures(report: dict[str, Any], parts: list[str]) -> dict[str, Any]:
    packages: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    files: list[tuple[int, str]] = []
    for path, found in report["files"].items():
        name = path.removeprefix("src/barnabas/")
        lines, missing = found["summary"]["num_statements"], found["summary"]["missing_lines"]
        package = packages[name.partition("/")[0]]
        package[0], package[1] = package[0] + lines, package[1] + missing
        if lines and 100 * (lines - missing) < GOAL * lines:
            files.append((missing, name))
    below = {
        name: round(100 * (n - missing) / n, 1) for name, (n, missing) in packages.items() if n and missing * 10 > n
    }
    least = [f"{name} ({missing} lines)" for missing, name in sorted(files, reverse=True)[:LISTED]]
    return {
        "when": datetime.date.today().isoformat(),
        "percent": round(report["totals"]["percent_covered"], 1),
        "goal": GOAL,
        "measured": " and ".join(parts),
        "below": ", ".join(f"{name} {percent} %" for name, percent in sorted(below.items())) or "none",
        "least": ", ".join(least) or "none",
    }


if __name__ == "__main__":
    found = figures(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2:])
    (ROOT / "docs" / "figures" / "coverage.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    print(f"{found['percent']} % of src by {found['measured']}; goal {GOAL} %")
