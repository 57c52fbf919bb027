"""Writes the tables of docs/metrics.md from the table of series; with --check it only compares."""

import sys
from pathlib import Path

from barnabas.broker.metrics.series import AREAS, Series

PAGE = Path(__file__).resolve().parent.parent / "docs" / "metrics.md"
BEGIN, END = "<!-- series: made by tools/metrics_page.py -->", "<!-- /series -->"


def tables() -> str:
    parts = []
    for area, rows in AREAS.items():
        lines = [f"### {area}\n", "| series | type | labels | what it says |", "|---|---|---|---|"]
        parts.append("\n".join([*lines, *(_row(row) for row in rows)]) + "\n")
    return "\n".join(parts)


def _row(row: Series) -> str:
    mark = " ◦" if row.partitions else ""
    return f"| `{row.name}`{mark} | {row.kind} | {row.labels} | {row.meaning} |"


def page() -> str:
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{after}"


def main() -> int:
    made = page()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text() != made:
            print("docs/metrics.md is not what the table says: run python tools/metrics_page.py")
            return 1
        return 0
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
