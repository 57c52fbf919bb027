"""Several instances on one topic: any answers, one writes, and who that is moves when it has to."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.registry import RegistryProcess, register
from tests.support.servers import BarnabasNode


@pytest.fixture
def two(node: BarnabasNode, tmp_path: Path) -> Iterator[tuple[RegistryProcess, RegistryProcess]]:
    """On a topic of their own; the first one writes."""
    told = ["--topic", f"_schemas-{tmp_path.name}"]
    first = RegistryProcess(tmp_path / "first", node.bootstrap, told)
    second = RegistryProcess(tmp_path / "second", node.bootstrap, told)
    try:
        first.start()
        assert register(first.port, "begin", '"string"')[1]["id"] == 1
        second.start()
        yield first, second
    finally:
        first.stop()
        second.stop()


Two = tuple[RegistryProcess, RegistryProcess]


def record(name: str) -> str:
    return f'{{"type":"record","name":"{name}","fields":[]}}'


def test_what_is_written_anywhere_is_read_everywhere_at_once(two: Two) -> None:
    first, second = two
    for number in range(30):
        here, there = (first, second) if number % 2 else (second, first)
        subject = f"s{number % 3}"
        there.ask("PUT", f"/config/{subject}", {"compatibility": "NONE"})
        status, told = register(here.port, subject, record(f"R{number}"))
        assert status == 200, told
        for instance in (here, there):
            assert instance.ask("GET", f"/schemas/ids/{told['id']}")[0] == 200
            assert instance.ask("GET", f"/subjects/{subject}/versions/latest")[1]["id"] == told["id"]
            assert instance.ask("POST", f"/subjects/{subject}", {"schema": record(f"R{number}")})[0] == 200
    assert first.ask("GET", "/schemas")[1] == second.ask("GET", "/schemas")[1]


def test_refusals_are_handed_back(two: Two) -> None:
    _, second = two
    assert register(second.port, "begin", '"int"')[1]["error_code"] == 409
    assert second.ask("DELETE", "/subjects/nope")[1]["error_code"] == 40401
    assert second.ask("DELETE", "/subjects/begin") == (200, [1])
    assert second.ask("DELETE", "/subjects/begin")[1]["error_code"] == 40404


def test_another_one_writes_when_the_writer_is_killed(two: Two) -> None:
    first, second = two
    first.kill()
    status, told = register(second.port, "after", record("After"))
    assert (status, told["id"]) == (200, 2)
    first.start()
    assert register(first.port, "after", record("After"))[1]["id"] == 2
    assert register(first.port, "again", record("Again"))[1]["id"] == 3


def test_a_writer_that_was_paused_is_fenced(two: Two) -> None:
    """It has not noticed anything: what it would write, the cluster refuses."""
    first, second = two
    assert first.process is not None
    first.process.send_signal(signal.SIGSTOP)
    try:
        assert register(second.port, "meanwhile", record("Meanwhile"))[1]["id"] == 2
    finally:
        first.process.send_signal(signal.SIGCONT)
    assert register(first.port, "woken", record("Woken"))[1]["id"] == 3
    assert first.ask("GET", "/subjects")[1] == second.ask("GET", "/subjects")[1] == ["begin", "meanwhile", "woken"]


def test_everything_is_there_after_a_restart(two: Two) -> None:
    first, second = two
    register(first.port, "kept", record("Kept"), metadata={"properties": {"owner": "x"}})
    first.ask("PUT", "/config/kept", {"compatibility": "FULL"})
    first.ask("PUT", "/mode/kept", {"mode": "READONLY"})
    first.ask("DELETE", "/subjects/begin")
    told = [first.ask("GET", path) for path in PATHS]
    first.kill()
    second.kill()
    first.start()
    assert [first.ask("GET", path) for path in PATHS] == told


PATHS = ("/subjects", "/subjects?deleted=true", "/schemas?deleted=true", "/config/kept", "/mode/kept", "/contexts")
