"""`barnabas demo bus` where no server can be had: the rest of it runs, the counts agree, nothing is left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.demo_bus import RUN_S, WORDS, demo_folder, running, start, until_live, usual, without_servers

folder = demo_folder


@pytest.mark.timeout(120)
def test_what_has_no_server_is_left_out_and_the_rest_runs(folder: Path, tmp_path: Path) -> None:
    demo = start("java,mosquitto,postgres", without_servers(folder, tmp_path), "--seconds", "2")
    told, errors = demo.communicate(timeout=RUN_S)
    assert (demo.returncode, errors) == (0, ""), told + errors
    for line in (
        "without orders from PostgreSQL: PostgreSQL is not installed. As root: apt-get install postgresql",
        "without search in OpenSearch: no OpenSearch answers at the address in OPENSEARCH_URL",
        "without orders in S3: there is no Java 17 or newer here",
        "without sensors by MQTT: mosquitto is not installed. As root: apt-get install mosquitto",
        "without orders in DuckDB: there are no orders without PostgreSQL",
        "records in topic logs",
        "all agree",
    ):
        assert line in told, told
    assert running(folder) == [] and list(folder.iterdir()) == []


@pytest.mark.timeout(120)
def test_an_interrupt_ends_it_with_the_counts(folder: Path, tmp_path: Path) -> None:
    demo = start("java,mosquitto,postgres", without_servers(folder, tmp_path))
    before = until_live(demo)
    assert "Ctrl-C ends it" in before and "barnabas connect list" in before
    demo.send_signal(signal.SIGINT)
    told, errors = demo.communicate(timeout=RUN_S)
    assert (demo.returncode, errors) == (0, ""), told + errors
    assert "all agree" in told
    assert running(folder) == [] and list(folder.iterdir()) == []


def test_a_folder_that_is_not_empty_is_refused(folder: Path) -> None:
    (folder / "mine").touch()
    command = [sys.executable, "-m", "barnabas.cli.main", *WORDS, "--data", str(folder)]
    done = subprocess.run(command, env=usual(folder), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not an empty folder" in done.stderr and len(done.stderr.splitlines()) == 1
    assert [each.name for each in folder.iterdir()] == ["mine"]
