"""A service beside `up`."""

import pytest

from barnabas.cli.common.child import ServiceChild


def test_one_that_ends_by_itself_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    child = ServiceChild(["version"], "barnabas ", told.append)
    child._listening.join(30)
    child.stop()
    assert len(told) == 1
    assert capsys.readouterr().err.endswith("a service has ended by itself. Start it again: barnabas version\n")
