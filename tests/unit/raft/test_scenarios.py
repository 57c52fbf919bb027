"""Every scenario file says what happens now. After a change that is meant, regenerate and read the difference:

RAFT_SCENARIOS=rewrite pytest tests/unit/raft/test_scenarios.py
"""

import os
from pathlib import Path

import pytest

from tests.unit.raft.stage import Stage

_FOLDER = Path(__file__).parent / "scenarios"


def replayed(text: str) -> str:
    stage = Stage()
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("    "):
            continue
        lines.append(line)
        if line and not line.startswith("#"):
            lines += [f"    {outcome}" for outcome in stage.run(line)]
    return "\n".join(lines).rstrip() + "\n"


@pytest.mark.parametrize("path", sorted(_FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_a_scenario_happens_as_written(path: Path) -> None:
    happened = replayed(path.read_text())
    if os.environ.get("RAFT_SCENARIOS") == "rewrite":
        path.write_text(happened)
    assert path.read_text() == happened
