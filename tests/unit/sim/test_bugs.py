"""The mistakes that can be put into the node's code (sim/bugs) fit the code that they replace. Whether each is found is
for tests/sim, which takes minutes: a name or a parameter that has changed shows here at once."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import FunctionType

import pytest

from barnabas.sim.bugs import BUGS
from barnabas.sim.bugs.base import Bug
from barnabas.sim.scenarios.targeted import TARGETED


@pytest.mark.parametrize("bug", BUGS.values(), ids=list(BUGS))
def test_what_a_bug_replaces_is_there(bug: Bug) -> None:
    above = bug.target.__mro__ if isinstance(bug.target, type) else (bug.target,)
    owner = next(place for place in above if bug.attribute in place.__dict__)
    right = owner.__dict__[bug.attribute]
    with bug.planted():
        wrong = owner.__dict__[bug.attribute]
    assert owner.__dict__[bug.attribute] is right and wrong is not right
    assert bug.scenario in ("", *TARGETED)
    if isinstance(right, FunctionType) and isinstance(wrong, FunctionType):
        given = inspect.signature(right).parameters.values()
        by_place = [each for each in given if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        by_name = {each.name: each for each in given if each.kind is each.KEYWORD_ONLY}
        inspect.signature(wrong).bind(*by_place, **by_name)


def test_the_page_names_every_bug() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reliability.md").read_text()
    assert set(re.findall(r"^\| `([a-z-]+)` \| .* \| \d \| (?:`[a-z-]+` )?\d+ \|$", page, re.MULTILINE)) == set(BUGS)
