"""Puts the figures of docs/figures into the pages: `python tools/figures_page.py`; with --check it only compares.

A page says where a figure stands and how it reads:

    <!-- figure kills: {acknowledged:,} acknowledged, 0 lost -->112,047 acknowledged, 0 lost<!-- /figure -->

The name is that of a file in docs/figures, which a program has written: a test run (`pytest --figures`,
tests/support/figures.py) or tools/sim_figures.py. Braces name its values. Where several tests have measured the same,
the text becomes "5,000 to 18,000"; {tests} is their number. Of a run there are also {passed}, {total}, {failed} and
{skipped}.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FIGURES = DOCS / "figures"
MARK = re.compile(r"<!-- figure ([a-z0-9-]+): (.*?) -->.*?<!-- /figure -->")


@dataclass(frozen=True)
class Span:
    """One value, or the lowest and the highest of several."""

    values: tuple[float, ...]

    def __format__(self, spec: str) -> str:
        low, high = format(min(self.values), spec), format(max(self.values), spec)
        return low if low == high else f"{low} to {high}"


def pages() -> list[Path]:
    return [page for page in (ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))) if MARK.search(page.read_text())]


def filled(text: str) -> str:
    """The page with every figure as its file has it."""

    def fill(found: re.Match[str]) -> str:
        name, sentence = found[1], found[2]
        return f"<!-- figure {name}: {sentence} -->{sentence.format(**values(name))}<!-- /figure -->"

    return MARK.sub(fill, text)


def values(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FIGURES / f"{name}.json").read_text())
    if "tests" in found:
        measured: dict[str, list[float]] = defaultdict(list)
        for test in found["tests"].values():
            for key, value in test.items():
                measured[key].append(value)
        spans = {key: Span(tuple(several)) for key, several in measured.items()}
        return {"when": found["when"], "tests": len(found["tests"]), **spans}
    if "passed" in found:
        failed = found["failed"]
        told = "; failed: " + ", ".join(f"`{test}`" for test in failed) if failed else ""
        return found | {"total": found["passed"] + len(failed), "failed": told}
    return found


def main() -> int:
    stale = [page for page in pages() if filled(page.read_text()) != page.read_text()]
    if "--check" in sys.argv[1:]:
        for page in stale:
            print(f"{page.name} does not have the figures of docs/figures: run python tools/figures_page.py")
        return 1 if stale else 0
    for page in stale:
        page.write_text(filled(page.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
