"""Compiled Python is kept where the environment says to write none, in the folder that it names or in build."""

import os
import sys

import pytest

from tests.support.bytecode import FOLDER, keep_bytecode


@pytest.fixture(autouse=True)
def as_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)


def test_it_is_kept_under_build() -> None:
    keep_bytecode()
    assert (sys.dont_write_bytecode, sys.pycache_prefix) == (False, str(FOLDER))
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ
    assert os.environ["PYTHONPYCACHEPREFIX"] == str(FOLDER)


def test_a_folder_that_is_chosen_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", "/elsewhere")
    keep_bytecode()
    assert sys.pycache_prefix == os.environ["PYTHONPYCACHEPREFIX"] == "/elsewhere"


def test_python_that_writes_beside_the_sources_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    keep_bytecode()
    assert sys.pycache_prefix is None
