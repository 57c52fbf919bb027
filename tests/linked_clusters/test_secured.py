"""A link between two clusters that were secured by one flag, with a user of few rights at the source."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.security.test_one_word import Secured, start, stop
from tests.support.members import until

FIRST, SECOND = "first-password-of-a-test", "second-password-of-a-test"
RIGHTS = (("read,describe,describe-configs", "topic:*"), ("describe", "group:*"), ("describe", "cluster"))


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Secured, Secured]]:
    made: list[Secured] = []
    try:
        for name in ("source", "target"):
            (tmp_path / name).mkdir()
            made.append(start(tmp_path / name))
        yield made[0], made[1]
    finally:
        for secured in made:
            stop(secured)


def _log_in_with(source: Secured, target: Secured, password: str) -> None:
    """The profile of the source, for commands on the machine of the target."""
    profile = Path(target.environ["XDG_CONFIG_HOME"]) / "barnabas" / "client.toml"
    profile.parent.mkdir(parents=True, exist_ok=True)
    profile.write_text(
        f"""
        [source]
        bootstrap = "{source.bootstrap}"
        security.protocol = "SASL_SSL"
        sasl.mechanism = "SCRAM-SHA-512"
        sasl.username = "linker"
        sasl.password = "{password}"
        ssl.ca.location = "{source.folder / "ca.pem"}"
        """
    )
    profile.chmod(0o600)


def _status(target: Secured) -> Any:
    """Whatever it exits with."""
    return json.loads(target.run("link", "status", "east", "--json").stdout)


def _has(target: Secured, records: int) -> bool:
    found = _status(target)
    return not found["errors"] and [part["end_offset"] for part in found["partitions"]] == [records]


def _dumped(folder: Path) -> str:
    command = [sys.executable, "-m", "barnabas.cli.main", "log", "dump", str(folder), "--records"]
    dumped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "linker" in dumped
    return dumped


def _refused(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def test_a_link_logs_in_and_goes_on_after_a_changed_password(pair: tuple[Secured, Secured]) -> None:
    source, target = pair
    source.ok("topic", "create", "orders")
    source.ok("produce", "orders", stdin="one\ntwo\n")
    source.ok("user", "create", "linker", "--password-file", "-", stdin=FIRST)
    for operations, resource in RIGHTS:
        source.ok("acl", "add", "linker", operations, resource)
    create = ("link", "create", "east", "--from", source.bootstrap, "--topics", "orders")

    _log_in_with(source, target, "wrong")
    said = _refused(target.run(*create))
    assert "password" in said or "login" in said, said
    _log_in_with(source, target, FIRST)
    target.ok(*create)
    until(lambda: _has(target, 2), "both records are here")
    assert target.ok("consume", "orders").split() == ["one", "two"]
    metadata = target.data / "__cluster_metadata-0"
    assert FIRST not in _dumped(metadata)

    source.ok("user", "password", "linker", "--password-file", "-", stdin=SECOND)
    target.ok("link", "pause", "east")
    target.ok("link", "resume", "east")  # by new connections: those that stand go on, as a login counts until it ends
    until(lambda: bool(_status(target)["errors"]), "the old password is refused")
    assert FIRST not in json.dumps(_status(target))
    source.ok("produce", "orders", stdin="three\n")
    _log_in_with(source, target, SECOND)
    assert "linker" in target.ok("link", "login", "east")
    until(lambda: _has(target, 3), "it goes on with the new password", 60)
    target.ok("link", "promote", "east")
    target.ok("produce", "orders", stdin="four\n")
    assert target.ok("consume", "orders").split() == ["one", "two", "three", "four"]
