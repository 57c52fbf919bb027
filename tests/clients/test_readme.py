"""What the README tells a reader to type works, in order, and prints what the page shows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.java import JavaTools
from tests.support.pages import BIN, ROOT, Command, blocks, commands, environment, run
from tests.support.process import free_port

README = ROOT / "README.md"

# What other tests run: the words of the Makefile are how tests are started at all, and Spark has a part of its own.
ELSEWHERE = {
    "make run": "tests/spark/test_pipeline_cli.py runs `barnabas demo`",
    "make test": "this",
    "python3 -m venv ~/barnabas && . ~/barnabas/bin/activate": "every set-up of the project",
    "pip install .": "every set-up of the project",
    "barnabas pipeline run activity --generate 200": "tests/spark",
    "barnabas pipeline run activity --later": "tests/spark",
    "barnabas pipeline new mine": "tests/spark",
    "barnabas connect run mine.yaml": "tests/connect/runtime",
    "barnabas demo bus": "tests/connect/demo",
    "barnabas demo disaster": "tests/clients/test_demo_disaster.py",
    "barnabas link create old --from kafka.example.org:9092 --topics 'orders.*'": "tests/linked_clusters",
    "barnabas mirror run east=10.0.0.1:9092 west=10.1.0.1:9092 --both": "tests/mirror",
}


def start(folder: Path, *words: str) -> tuple[subprocess.Popen[str], str]:
    node = subprocess.Popen(
        [BIN / "barnabas", "up", "-q", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment("", folder),
        start_new_session=True,
    )
    assert node.stdout is not None
    return node, node.stdout.readline().strip()


def stop(node: subprocess.Popen[str]) -> None:
    node.send_signal(signal.SIGTERM)
    try:
        node.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        os.killpg(node.pid, signal.SIGKILL)
        node.communicate()
        raise


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


@pytest.fixture(scope="module")
def node(folder: Path) -> Iterator[str]:
    """The node of the page's `barnabas up`, on a free port."""
    process, address = start(folder, "--port", "0")
    assert address.startswith("127.0.0.1:")
    assert (folder / ".local/share/barnabas").is_dir(), "the folder that the page names"
    yield address
    stop(process)


def typed() -> list[Command]:
    return [command for command in commands(README) if command.text not in ELSEWHERE]


def check(command: Command, bootstrap: str, folder: Path) -> None:
    done = run(command.text, bootstrap, folder)
    where = f"README.md:{command.line}: {command.text}"
    assert done.returncode == (130 if "--watch" in command.text else 0), f"{where}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr, where
    if command.prints is not None:
        assert done.stdout == command.prints, where


def test_the_first_stream(node: str, folder: Path) -> None:
    found = [command for command in typed() if " up" not in command.text and " cluster " not in command.text]
    assert len(found) >= 6
    for command in found:
        check(command, node, folder)


def test_from_python(node: str, folder: Path) -> None:
    program = blocks(README, "python")[0].replace("127.0.0.1:9092", node)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(node, folder), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "{'member': 7, 'page': 'home'}\n" and done.stdout in README.read_text()


def test_from_java(node: str, folder: Path, java: JavaTools) -> None:
    (body,) = blocks(README, "java")
    source = folder / "Example.java"
    main = f"public static void main(String[] arguments) throws Exception {{\n{body}}}"
    source.write_text(f"class Example {{\n{main}\n}}\n".replace("127.0.0.1:9092", node))
    done = subprocess.run(
        ["java", "-cp", f"{ROOT}/.kafka/libs/*", source], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    read = run("barnabas consume letters --from beginning -n 1 --json", node, folder)
    assert '"hello"' in read.stdout


def test_a_node_in_a_test(folder: Path) -> None:
    program = next(block for block in blocks(README, "python") if "barnabas_node" in block)
    (folder / "my_service.py").write_text(
        "from barnabas import Producer\n\n\ndef publish(bootstrap):\n"
        "    with Producer(bootstrap) as producer:\n        producer.send('orders', b'one').result(20)\n"
    )
    (folder / "test_mine.py").write_text(f"import my_service\n\n\n{program}")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"],
        cwd=folder,
        env=environment("", folder),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_a_cluster(folder: Path) -> None:
    """`up --nodes 3`, and everything that the page then does with it."""
    found = [command for command in typed() if " cluster " in command.text]
    assert len(found) == 3
    cluster, addresses = start(folder, "--nodes", "3", "--port", str(free_port()), "--data", "cluster")
    try:
        for command in found:
            answered = Command(command.line, command.text + " --yes" * ("--watch" not in command.text), command.prints)
            check(answered, addresses, folder)
    finally:
        stop(cluster)
