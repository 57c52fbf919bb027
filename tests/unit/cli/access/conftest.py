"""A secured node, and commands that log in at it as a user of a client profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.testing import RunningNode, running_node
from tests.unit.cli.access.logins import profile

USERS = {"alice": "alice-secret", "bob": "bob-secret"}
SETTINGS = {"audit.enable": True, "delegation.token.secret.key": "a-secret-for-tokens"}


@pytest.fixture(scope="package")
def secured() -> Iterator[RunningNode]:
    with running_node(SETTINGS, secure=True, users=USERS) as node:
        yield node


@pytest.fixture
def log_in(secured: RunningNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Commands are of this user from now on."""
    monkeypatch.setenv("BARNABAS_BOOTSTRAP", secured.bootstrap)

    def as_user(user: str) -> None:
        monkeypatch.setenv("BARNABAS_PROFILE", str(profile(secured, user, tmp_path)))

    return as_user


@pytest.fixture
def admin(log_in: Callable[[str], None]) -> None:
    log_in("admin")
