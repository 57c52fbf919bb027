"""What a start of `barnabas up` imports: nearly all of its time and of an idle node's memory is that."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# Each is for a command, a request or a file that a start has nothing to do with.
NOT_AT_THE_START = (
    "argparse",
    "confluent_kafka",
    "crc32c",  # the package, not its extension: see wire/checksum.py
    "difflib",
    "email",
    "importlib.metadata",
    "kio",
    "rich",
    "tomllib",
    "typer",
    "zipfile",
    "barnabas.client",
    "barnabas.core.groups.shard",
    "barnabas.core.groups.records",
    "barnabas.core.txn.shard",
    "barnabas.pipelines",
    "barnabas.sim",
)
# One for schema ids, two for what a node counts, six for links, two for zones, one for a lost controller, one for
# fetches ahead, four folders, one for what a clean stop knows of producers, one for decoded requests.
MODULES_MAX = 535
if sys.version_info >= (3, 12):
    MODULES_MAX += 10  # later Pythons import more of their own: 3.13 four modules


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The modules of a node's process from its first line to its end, in order."""
    said = tmp_path_factory.mktemp("start") / "imports.txt"
    program = "import sys; from barnabas.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-X", "importtime", "-c", program, "up", "-q", "--port", "0"]
    data = tmp_path_factory.mktemp("data")
    environ = {name: text for name, text in os.environ.items() if not name.startswith(("COV_", "COVERAGE_"))}
    environ["XDG_CONFIG_HOME"] = str(data)  # not that of whoever runs this
    with said.open("w") as file:
        node = subprocess.Popen([*command, "--data", str(data)], stdout=subprocess.PIPE, stderr=file, env=environ)
    try:
        assert node.stdout is not None and b"127.0.0.1:" in node.stdout.readline()
        node.send_signal(signal.SIGTERM)
        assert node.wait(timeout=30) == 0
    finally:
        node.kill()
        node.communicate()
    return _names(said)


def _names(said: Path) -> list[str]:
    lines = (re.match(r"import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", line) for line in said.read_text().splitlines())
    return [found[1] for found in lines if found is not None]


def test_a_start_imports_nothing_that_it_does_not_need(imported: list[str]) -> None:
    assert "barnabas.broker.node" in imported
    heavy = re.compile("|".join(rf"{re.escape(name)}(\..+)?" for name in NOT_AT_THE_START))
    found = [name for name in imported if heavy.fullmatch(name)]
    assert found == []


def test_a_start_imports_no_more_modules_than_it_did(imported: list[str]) -> None:
    assert len(imported) <= MODULES_MAX


def test_msgspec_does_without_typing_extensions() -> None:
    """It asks for it, 50 ms, only to find what Python has itself."""
    program = (
        "import sys, barnabas.cli.up.node\n"
        "with barnabas.cli.up.node._quick_imports():\n"
        "    import barnabas.broker.node\n"
        "print('typing_extensions' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
