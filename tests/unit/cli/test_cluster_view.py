"""Who is up: a voter that is no broker is judged by when it fetched from the quorum's leader."""

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.cli.cluster.view import SILENT_MS, _fetches

NOW = 1_777_630_000_000


@pytest.mark.parametrize(
    ("fetched_ms", "up"),
    [(NOW, True), (NOW - 500, True), (NOW - SILENT_MS, False), (-1, False)],
)
def test_a_voter_that_does_not_fetch_is_down(fetched_ms: int, up: bool) -> None:
    assert _fetches(SimpleNamespace(last_fetch_timestamp=fetched_ms), NOW) is up


@pytest.mark.parametrize("voter", [SimpleNamespace(), SimpleNamespace(last_fetch_timestamp=-1)])
def test_nothing_is_said_against_a_voter_when_nobody_tells_the_time(voter: Any) -> None:
    assert _fetches(voter, -1)
