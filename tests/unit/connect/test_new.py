"""`connect new` for every system: what it writes is a definition that works as it stands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from barnabas.cli.connect.new import write
from barnabas.connect.connectors.table import CONNECTORS
from barnabas.connect.definition.loading import load_file
from barnabas.connect.python_functions import allow_folder


@pytest.mark.parametrize("kind", ["python", *CONNECTORS])
def test_it_is_right_as_it_stands(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "x")
    monkeypatch.chdir(tmp_path)
    allow_folder(tmp_path)
    file = write("mine", kind, Path(os.curdir))[0]
    (definition,) = load_file(file)
    made = definition.source() if definition.side == "source" else definition.sink()
    made.close()
    assert definition.name == "mine"
