"""A link between two clusters that were secured by one flag, with a user of few rights at the source."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.linked_clusters.secured import log_in_with, make_linker, secured_pair, status
from tests.security.test_one_word import Secured
from tests.support.members import until

FIRST, SECOND = "first-password-of-a-test", "second-password-of-a-test"


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Secured, Secured]]:
    with secured_pair(tmp_path) as made:
        yield made


def _has(target: Secured, records: int) -> bool:
    found = status(target)
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
    make_linker(source, FIRST)
    create = ("link", "create", "east", "--from", source.bootstrap, "--topics", "orders")

    log_in_with(source, target, "wrong")
    said = _refused(target.run(*create))
    assert "password" in said or "login" in said, said
    log_in_with(source, target, FIRST)
    target.ok(*create)
    until(lambda: _has(target, 2), "both records are here")
    assert target.ok("consume", "orders").split() == ["one", "two"]
    metadata = target.data / "__cluster_metadata-0"
    assert FIRST not in _dumped(metadata)

    source.ok("user", "password", "linker", "--password-file", "-", stdin=SECOND)
    target.ok("link", "pause", "east")
    target.ok("link", "resume", "east")  # by new connections: those that stand go on, as a login counts until it ends
    until(lambda: bool(status(target)["errors"]), "the old password is refused")
    assert FIRST not in json.dumps(status(target))
    source.ok("produce", "orders", stdin="three\n")
    log_in_with(source, target, SECOND)
    assert "linker" in target.ok("link", "login", "east")
    until(lambda: _has(target, 3), "it goes on with the new password", 60)
    target.ok("link", "promote", "east")
    target.ok("produce", "orders", stdin="four\n")
    assert target.ok("consume", "orders").split() == ["one", "two", "three", "four"]
