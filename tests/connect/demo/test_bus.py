"""`barnabas demo bus` as a process, with the real servers: counts agree at every end, and nothing is left behind.

Without any server it is run by tests/clients/test_demo_bus.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.cli.demo.bus.servers import opensearch, s3proxy
from tests.support.demo_bus import RUN_S, WORDS, demo_folder, running, start, until_live, usual, without_servers
from tests.support.members import until
from tests.support.opensearch import OPENSEARCH
from tests.support.paths import NEWER_JAVA, ROOT, require
from tests.support.s3 import S3PROXY

folder = demo_folder


def environment(folder: Path, cache: Path) -> dict[str, str]:
    """Jars and the newer Java are those that tools/setup_tests.sh has fetched."""
    for jars, place in ((opensearch.JARS, require(OPENSEARCH) / "libs"), (s3proxy.JARS, require(S3PROXY))):
        link = cache / "barnabas" / "demo" / jars.folder.name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(place)
    python_path = f"{ROOT / 'src'}{os.pathsep}{require(NEWER_JAVA)}"  # where Debian's Java is too old for OpenSearch
    return {**usual(folder), "XDG_CACHE_HOME": str(cache), "PYTHONPATH": python_path}


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


@pytest.mark.timeout(180)
def test_servers_end_with_a_demo_that_is_killed(folder: Path, tmp_path: Path) -> None:
    demo = start("java", without_servers(folder, tmp_path))
    until_live(demo)
    assert len(running(folder)) > 5  # PostgreSQL, mosquitto, a node, its console, a worker
    demo.kill()
    demo.communicate(timeout=RUN_S)
    until(lambda: running(folder) == [], "its servers end", 60)
