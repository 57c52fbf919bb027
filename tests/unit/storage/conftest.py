"""These tests are about order and content, not about platters: fsync does nothing here, so that a busy disk does not
make them slow. What a power loss spoils is simulated where it matters (test_log_model.py)."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _no_platters() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fdatasync", lambda fd: None)
        patch.setattr(os, "fsync", lambda fd: None)
        yield
