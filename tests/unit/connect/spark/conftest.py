"""A node, and Spark in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.connect import python_functions
from barnabas.connect.python_functions import allow_folder
from barnabas.connect.spark import session
from barnabas.testing import RunningNode, running_node
from tests.conftest import FAST_GROUPS
from tests.unit.connect.spark.local import LocalContext


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node(FAST_GROUPS | {"offsets.topic.num.partitions": "1"}) as running:
        yield running


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LocalContext]:
    """The Spark of this process, as `session.started()` gives it."""
    made = LocalContext()
    monkeypatch.setattr(session, "_context", lambda master, settings: made)
    monkeypatch.setattr(session, "_cores", lambda master, context: 2)
    monkeypatch.setattr(session, "_DIES_S", 0.0)
    monkeypatch.setattr(python_functions, "_folders", set())
    allow_folder(tmp_path)
    yield made
    session.stop()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round that does not end is cancelled soon. (Others are waited for as long as ever: one that is cancelled leaves
    its records to be written again.)"""
    monkeypatch.setattr(session, "_GRACE_S", 0.2)
    monkeypatch.setattr(session, "_SLACK_S", 0.0)
