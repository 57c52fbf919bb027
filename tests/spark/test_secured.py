"""Spark with a cluster of `barnabas up --secure`: the profile, options, Spark's own connector, and the six pipelines.

No secret shows in Spark's event log (from which the history server and the user interface draw their pages), in its
configuration, in plans, or in the list of processes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.client.common.profile import VARIABLE
from barnabas.pipelines.framework.registry import built_in
from tests.security.test_one_word import Secured, start, stop
from tests.spark.drivers import SHORT_LIVED_JAVA

pytestmark = pytest.mark.timeout(300)
SECRET = "pa-ss-wo-rd-of-a-test"
RIGHTS = [  # docs/security.md has the same
    ("read,write,create", "topic:rows-*"),
    ("read,write,create", "topic:__barnabas_spark_commits"),
    ("all", "transactional-id:barnabas-spark/*"),
]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    made = start(tmp_path_factory.mktemp("secured"))
    try:
        properties = made.data.parent / "alice.properties"
        made.ok("user", "create", "alice", "--password-file", "-", "--save", str(properties), stdin=f"{SECRET}\n")
        for operations, resource in RIGHTS:
            made.ok("acl", "add", "alice", operations, resource)
        made.environ[VARIABLE] = str(properties)
        yield made
    finally:
        stop(made)


def command_lines() -> str:
    lines = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                lines.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
    return "\n".join(lines)


def test_three_ways_to_log_in_show_no_secret(secured: Secured, tmp_path: Path) -> None:
    profile = Path(secured.environ[VARIABLE]).read_text()
    assert SECRET in profile
    settings = dict(line.split("=", 1) for line in profile.splitlines())
    options = tmp_path / "options.json"  # as a program would take them from a store of secrets
    options.write_text(json.dumps({f"kafka.{name}": value for name, value in settings.items()}))
    log = tmp_path / "driver.log"
    command = [sys.executable, "-m", "tests.spark.secured_driver", secured.bootstrap, str(tmp_path), str(options)]
    with log.open("w") as out:
        driver = subprocess.Popen(command, stdout=out, stderr=out, env=secured.environ | SHORT_LIVED_JAVA)
    seen = ""
    try:
        while driver.poll() is None:
            seen += command_lines()
            time.sleep(1)
    finally:
        driver.kill()
        driver.wait()
    said = log.read_text()
    assert driver.returncode == 0, said[-5000:]
    assert "secured_driver" in seen and "org.apache.spark" in seen
    written = {
        str(file): file.read_text(errors="replace") for file in (tmp_path / "events").rglob("*") if file.is_file()
    }
    events = "\n".join(written.values())
    assert "SparkListenerSQLExecutionStart" in events and "SparkListenerEnvironmentUpdate" in events
    assert "rows-options" in events, "the plans are in it"
    checkpoints = "\n".join(
        file.read_text(errors="replace") for file in tmp_path.glob("checkpoint-*/**/*") if file.is_file()
    )
    for place, text in {
        "the event log": events,
        "what Spark shows": (tmp_path / "shown.txt").read_text(),
        "the list of processes": seen,
        "the driver's output": said,
        "the checkpoints": checkpoints,
    }.items():
        assert SECRET not in text, f"{place}: {re.findall('.{80}' + SECRET, text)[:3]}"
    if "connector" not in said:
        pytest.skip("Spark's own Kafka connector cannot be had here")


LOG = """  # docs/pipelines/restore.md has the same
import sys
from barnabas import Producer
from barnabas.pipelines.restore.store import Store

store = Store()
with Producer(sys.argv[1]) as producer:
    for number in range(1000):
        change = store.put(b"account-%d" % (number % 50), b"%d" % number)
        producer.send("account-changes", change.value, key=change.key, headers=change.headers)
"""


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(pipeline.name for pipeline in built_in()))
def test_the_pipelines_that_ship(secured: Secured, name: str, tmp_path: Path) -> None:
    """As the admin, who was found by the address."""
    environ = {key: value for key, value in secured.environ.items() if key != VARIABLE} | SHORT_LIVED_JAVA

    def run(*words: str) -> str:
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=280, env=environ)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    words = ["-m", "barnabas.cli.main", "pipeline", "run", name, "--data", str(tmp_path)]
    words += ["--master", "local[2]", "-b", secured.bootstrap]
    if name == "restore":  # it reads a log that is there, and ends
        run("-c", LOG, secured.bootstrap)
        said = run(*words)
        assert "50 keys rebuilt" in said and "NOT checked" not in said, said
    else:
        assert "results" in run(*words, "--generate", "100", "--seconds", "45", "--quiet")
