"""`barnabas sim`: which seeds it runs, and how a broken promise is told. The histories are not run here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.sim.run import Verdict
from tests.unit.cli.typed import Typed


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was asked for; every seed that 7 divides breaks."""
    calls: list[Any] = []

    def run(chosen: range, workers: int, bug: str | None, nodes: int, scenario: str) -> Iterator[Verdict]:
        calls.append((chosen, workers, bug, nodes, scenario))
        for seed in chosen:
            problems = [] if seed % 7 else [f"record {number} is lost" for number in range(12)]
            story = [f"event {number}" for number in range(50)]
            yield Verdict(seed, problems, story, f"digest-{seed}", 3600.0, 10, 5, {"kill": 2}, seed, "append")

    monkeypatch.setattr("barnabas.sim.seeds.run_seeds", run)
    return calls


def test_seeds_that_keep_every_promise(typed: Typed, asked: list[Any]) -> None:
    said = typed("sim", "--seeds", 3, "--first", 4, "--workers", 8)
    assert asked == [(range(4, 7), 3, None, 1, "")]
    assert said.code == 0 and said.lines()[0].startswith("ok 3 seeds ") and "3.00 simulated hours" in said.lines()[0]
    assert said.lines()[1] == "the longest callback of a node took 6 ms of CPU: append (seed 6)"


def test_one_seed_tells_its_trace(typed: Typed, asked: list[Any]) -> None:
    said = typed("sim", "--seed", 3, "--nodes", 3, "--scenario", "pairs")
    assert asked == [(range(3, 4), 1, None, 3, "pairs")] and said.lines()[-1] == "trace digest-3"


def test_a_broken_promise_is_told_with_its_story_and_the_command_that_replays_it(
    typed: Typed, asked: list[Any]
) -> None:
    said = typed("sim", "--seeds", 8, "--nodes", 3)
    lines = said.lines()
    assert said.code == 1 and lines[0] == "seed 7 broke:" and lines.count("record 9 is lost") == 1
    assert "record 10 is lost" not in lines and "event 49" in lines and "event 9" not in lines, "both are cut short"
    assert "replay: barnabas sim --nodes 3 --seed 7" in lines
    assert any(line.startswith("broken 8 seeds") and "1 broke" in line for line in lines)


def test_a_planted_bug_ends_the_search_when_it_is_found(typed: Typed, asked: list[Any]) -> None:
    bug = typed("sim", "--bug", "list").lines()[0].split()[0]
    said = typed("sim", "--bug", bug, "--seeds", 50)
    assert said.code == 1 and f"replay: barnabas sim --seed 7 --bug {bug}" in said.lines()
    assert any(line.startswith("broken 7 seeds") for line in said.lines())


def test_names_are_listed_and_wrong_ones_refused(typed: Typed) -> None:
    assert "pairs" in typed("sim", "--scenario", "list").lines()
    for words, told in (
        (("--scenario", "nothing"), "there is no scenario 'nothing'. See: barnabas sim --scenario list"),
        (("--bug", "nothing"), "there is no bug 'nothing' to plant. See: barnabas sim --bug list"),
    ):
        said = typed("sim", *words)
        assert said.code == 2 and told in said.err
