"""How far a long run has come: `pytest --figures NAME` notes each outcome in build/figures/NAME.json as it comes.

A run of two hours does not have to be one process: with `--resume` what has passed on the same code is left out and
counted in, however the runs before ended, so parts of it (`-k sink --resume`) and the rest add up to the whole.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "figures"


class _Noted(TypedDict):
    code: str
    minutes: float
    loads: list[int]
    outcomes: dict[str, str]


class Progress:
    """`anew` forgets what was noted; so does other code."""

    def __init__(self, path: Path, code: str, load: int, *, anew: bool) -> None:
        self._path = path
        noted: _Noted | None = json.loads(path.read_text()) if path.exists() and not anew else None
        if noted is None or noted["code"] != code:
            noted = {"code": code, "minutes": 0.0, "loads": [], "outcomes": {}}
        self._noted = noted
        self._minutes_before = noted["minutes"]
        noted["loads"].append(load)

    @property
    def outcomes(self) -> dict[str, str]:
        return self._noted["outcomes"]

    @property
    def minutes(self) -> float:
        return self._noted["minutes"]

    @property
    def load(self) -> str:
        """Of the machine when each of the runs began."""
        low, high = min(self._noted["loads"]), max(self._noted["loads"])
        return f"{low}" if low == high else f"{low} to {high}"

    def note(self, test: str, outcome: str, minutes: float) -> None:
        self.outcomes[test] = outcome
        self.spent(minutes)

    def spent(self, minutes: float) -> None:
        self._noted["minutes"] = round(self._minutes_before + minutes, 1)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        half = self._path.with_suffix(".half")
        half.write_text(json.dumps(self._noted, indent=1, sort_keys=True) + "\n")
        half.replace(self._path)  # whoever is killed meanwhile leaves the one before


def passed(path: Path, code: str) -> set[str]:
    """What a run that goes on leaves out."""
    if not path.exists():
        return set()
    noted: _Noted = json.loads(path.read_text())
    return {test for test, outcome in noted["outcomes"].items() if noted["code"] == code and outcome == "passed"}


def code_here() -> str:
    """The same for the same src and tests, committed or not."""
    found = [git("rev-parse", "HEAD:src", "HEAD:tests"), git("diff", "HEAD", "--", "src", "tests")]
    return hashlib.sha256(b"\0".join(found)).hexdigest()[:16]


def git(*words: str) -> bytes:
    """Nothing where there is no git, as where the source was unpacked without its history."""
    try:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True).stdout
    except FileNotFoundError:
        return b""
