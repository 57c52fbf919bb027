"""`barnabas secure status`: which folder it looks at, and what it says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barnabas.cli.main import main
from barnabas.cli.secure import bundle


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "barnabas"


def files(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["secure", "status", *words, "--json"]) == 0
    return [each["file"] for each in json.loads(capsys.readouterr().out)]


def test_it_finds_what_up_has_made(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["secure", "status"]) == 1
    told = capsys.readouterr().err
    assert str(data / "secure") in told and "barnabas up --secure" in told and "secure status DIR" in told
    bundle.ensure(data / "secure", "node-1", [])
    assert files(capsys) == ["ca.pem", "node-1.pem"]
    bundle.ensure(data / "cluster" / "secure", "node-2", [])
    both = [str(data / "secure" / "ca.pem"), str(data / "cluster" / "secure" / "node-2.pem")]
    assert set(both) < set(files(capsys)) and len(files(capsys)) == 4
    assert files(capsys, str(data / "cluster" / "secure")) == ["ca.pem", "node-2.pem"]
