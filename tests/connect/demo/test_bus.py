"""`barnabas demo bus` as a process, with the real servers: counts agree at every end, and nothing is left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from barnabas.cli.demo.bus.servers import opensearch, s3proxy
from tests.support.members import until
from tests.support.opensearch import OPENSEARCH
from tests.support.paths import NEWER_JAVA, ROOT, require
from tests.support.s3 import S3PROXY

HIDDEN = ROOT / "tests" / "connect" / "demo" / "hidden.py"
WORDS = ["demo", "bus", "--no-spark", "--port", "0"]
RUN_S = 240
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the demo has everything. Not pytest's: PostgreSQL runs as another user, who cannot enter that."""
    made = Path(tempfile.mkdtemp(prefix="barnabas-test-bus-"))
    made.chmod(0o711)
    try:
        yield made
    finally:
        for pid in running(made):
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(made)


def environment(folder: Path, cache: Path) -> dict[str, str]:
    """Jars and the newer Java are those that tools/setup_tests.sh has fetched."""
    for jars, place in ((opensearch.JARS, require(OPENSEARCH) / "libs"), (s3proxy.JARS, require(S3PROXY))):
        link = cache / "barnabas" / "demo" / jars.folder.name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(place)
    python_path = f"{ROOT / 'src'}{os.pathsep}{require(NEWER_JAVA)}"  # where Debian's Java is too old for OpenSearch
    return {**usual(folder), "XDG_CACHE_HOME": str(cache), "PYTHONPATH": python_path}


def without_servers(folder: Path, empty: Path) -> dict[str, str]:
    """An environment in which no program is on the path, and nothing is in the cache."""
    found = {**usual(folder), "PATH": str(empty), "XDG_CACHE_HOME": str(empty), "OPENSEARCH_URL": NOWHERE}
    found.pop("JAVA_HOME", None)
    return found


def usual(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), "NO_COLOR": "1", "PYTHONPATH": str(ROOT / "src")}


def running(folder: Path) -> list[int]:
    """Processes that have something in this folder: a part of their command line, or of their environment."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            except OSError:  # it has ended meanwhile
                continue
            if os.fsencode(folder) in told:
                found.append(int(process.name))
    return found


def start(names: str, env: Mapping[str, str], *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-u", str(HIDDEN), names, *WORDS, *words]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until_live(demo: subprocess.Popen[str]) -> str:
    """What it says until then."""
    assert demo.stdout is not None
    told = ""
    for line in demo.stdout:
        told += line
        if line.startswith("live: "):
            return told
    raise AssertionError(f"it never began:\n{told}")


@pytest.mark.timeout(300)
def test_the_counts_agree_at_every_end(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "barnabas.cli.main", *WORDS, "--seconds", "8"]
    env = environment(folder, tmp_path)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=RUN_S)
    told = done.stdout
    assert (done.returncode, done.stderr) == (0, ""), told + done.stderr
    assert "all agree" in told and "without" not in told, told
    for end in ("rows in PostgreSQL", "keys in topic orders.enriched", "in Parquet on S3", "rows in the DuckDB table"):
        assert end in told, told
    assert told.count("documents in OpenSearch") == 2 and "was found in OpenSearch" in told, told
    assert "published by MQTT" in told and "different ones in topic sensors.alerts" in told, told
    assert running(folder) == [] and list(folder.iterdir()) == []


@pytest.mark.long
@pytest.mark.timeout(900)
def test_with_orders_enriched_on_spark(folder: Path, tmp_path: Path) -> None:
    words = [each for each in WORDS if each != "--no-spark"]
    command = [sys.executable, "-m", "barnabas.cli.main", *words, "--seconds", "20"]
    done = subprocess.run(command, env=environment(folder, tmp_path), capture_output=True, text=True, timeout=800)
    told = done.stdout
    assert done.returncode == 0 and done.stderr in ("", "Spark is starting ...\n"), told + done.stderr
    assert "all agree" in told and "without" not in told and "--no-spark" not in told, told
    rows = {line.rsplit(None, 2)[0].strip(): line.split()[-2:] for line in told.splitlines() if " in " in line}
    enriched = next(counts for where, counts in rows.items() if "keys in topic orders.enriched" in where)
    assert enriched == next(counts for where, counts in rows.items() if "rows in PostgreSQL" in where)
    assert int(enriched[0].replace(",", "")) > 50, told
    assert running(folder) == [] and list(folder.iterdir()) == []


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


@pytest.mark.timeout(180)
def test_servers_end_with_a_demo_that_is_killed(folder: Path, tmp_path: Path) -> None:
    demo = start("java", without_servers(folder, tmp_path))
    until_live(demo)
    assert len(running(folder)) > 5  # PostgreSQL, mosquitto, a node, its console, a worker
    demo.kill()
    demo.communicate(timeout=RUN_S)
    until(lambda: running(folder) == [], "its servers end", 60)


def test_a_folder_that_is_not_empty_is_refused(folder: Path) -> None:
    (folder / "mine").touch()
    command = [sys.executable, "-m", "barnabas.cli.main", *WORDS, "--data", str(folder)]
    done = subprocess.run(command, env=usual(folder), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not an empty folder" in done.stderr and len(done.stderr.splitlines()) == 1
    assert [each.name for each in folder.iterdir()] == ["mine"]
