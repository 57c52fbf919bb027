"""`barnabas registry` itself: it says where it serves, ends at Ctrl-C, and what keeps it from serving is one line."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from barnabas.testing import RunningNode
from tests.support.members import until
from tests.support.process import free_port
from tests.support.registry import ask
from tests.unit.cli.typed import Typed


def test_it_serves_until_ctrl_c(typed: Typed, barnabas_node: RunningNode) -> None:
    port, answers = free_port(), list[object]()

    def is_up() -> bool:
        try:
            answers.append(ask(port, "GET", "/subjects"))
        except OSError:
            return False
        return True

    def meanwhile() -> None:
        until(is_up, "the registry answers")
        os.kill(os.getpid(), signal.SIGINT)

    beside = threading.Thread(target=meanwhile)
    beside.start()
    said = typed("registry", "--port", port, "-b", barnabas_node.bootstrap)
    beside.join(30)
    assert (said.code, said.out) == (0, f"the registry is at http://127.0.0.1:{port}   (Ctrl-C ends it)\n")
    assert answers == [(200, [])]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--address", "registry-1"), "--address 'registry-1' is nothing that other instances can connect to"),
        (("--key", "a.pem"), "--key without --certificate. Name both"),
        (("--certificate", "/no/such.pem"), "certificate /no/such.pem cannot be used: no such file"),
        (("--ca", "/no/such.pem"), "--ca /no/such.pem cannot be used: "),
        (("--host", "192.0.2.1"), "the registry cannot listen on 192.0.2.1:"),
    ],
)
def test_what_cannot_be_served(typed: Typed, words: tuple[str, ...], told: str) -> None:
    said = typed("registry", "--port", 0, *words)
    assert said.code == 1 and told in said.err and said.err.count("\n") == 1


def test_a_cluster_that_is_not_there(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.registry.store.store._START_S", 0.3)
    nowhere = f"127.0.0.1:{free_port()}"
    said = typed("registry", "--port", 0, "-b", nowhere)
    assert said.code == 1 and nowhere in said.err and said.err.count("\n") == 1


def test_a_profile_that_cannot_be_read(typed: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BARNABAS_PROFILE", str(tmp_path / "none.properties"))
    said = typed("registry", "--port", 0)
    assert said.code == 1 and "the client profile" in said.err and "cannot be read" in said.err
