"""A command line in this process, which nothing of the machine's own clusters reaches."""

from __future__ import annotations

import pytest

from barnabas.cli.main import main
from tests.unit.cli.typed import Said, Typed

VARIABLES = ("BARNABAS_BOOTSTRAP", "BARNABAS_PROFILE", "BARNABAS_REGISTRY", "BARNABAS_PIPELINES", "BARNABAS_TRACE")


@pytest.fixture(autouse=True)
def _nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-config"))


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Typed:
    def run(*words: object) -> Said:
        code = main([str(word) for word in words])
        told = capsys.readouterr()
        return Said(code, told.out, told.err)

    return run
