"""`barnabas grep` as a person types it: what it prints, its exit codes, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from barnabas.cli.main import main
from tests.support.browsing import producer
from tests.support.pages import BIN

Create = Callable[..., str]


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """A command in this process: starting one takes longer than the search."""
    before = signal.getsignal(signal.SIGTERM)

    def typed(*arguments: str) -> Done:
        capfd.readouterr()
        code = main(arguments)
        return Done(code, *capfd.readouterr())

    yield typed
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def grep(run: Run, bootstrap: str) -> Run:
    return lambda *arguments: run("grep", *arguments, "-b", bootstrap)


@pytest.fixture(scope="module")
def people(bootstrap: str) -> str:
    sender = producer(bootstrap)
    for number in range(2_000):
        body = json.dumps({"name": f"user {number}", "age": number % 90})
        sender.produce(
            "grep-people", body, b"k%d" % number, 0, timestamp=1_700_000_000_000 + number, headers=[("h", "é")]
        )
    sender.flush(30)
    return "grep-people"


def test_what_it_finds_is_printed_as_consume_prints_it(grep: Run, people: str) -> None:
    done = grep(people, "user 77", "--max", "2", "-k", "-O")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == '0:77\tk77\t{"name": "user 77", "age": 77}\n0:770\tk770\t{"name": "user 770", "age": 50}\n'
    done = grep(people, "--where", '.age == 89 and .name ~ "9$"', "--json")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [json.loads(each["value"])["name"] for each in found] == [
        f"user {number}" for number in range(2_000) if number % 90 == 89 and number % 10 == 9
    ]
    assert grep(people, "--regex", r'"user 19\d\d"', "--count") == Done(0, "100\n", "")
    assert grep(people, "USER 5\\d", "-e", "-i", "--count") == Done(0, "110\n", "")
    assert grep(people, "--key", "k5", "-o", "raw") == Done(0, '{"name": "user 5", "age": 5}', "")
    assert grep(people, "é", "--count") == Done(0, "2000\n", "")
    ranges = {"--from": "1500", "--to": "1700000001600"}
    assert grep(people, "user", "--count", *sum(ranges.items(), ())) == Done(0, "100\n", "")
    assert grep(people, "user", "--count", "--from", "-7", "-p", "0") == Done(0, "7\n", "")


def test_the_exit_codes_are_those_of_grep(grep: Run, run: Run, people: str) -> None:
    nothing = grep(people, "nobody")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (1, "", "")
    assert grep(people, "nobody", "--count") == Done(1, "0\n", "")
    for arguments, reason in [
        (["grep-peopel", "x"], "there is no topic 'grep-peopel'. Did you mean 'grep-people'?"),
        ([people], "say what to look for"),
        ([people, "(", "--regex"], "RE2 knows no regular expression '(': missing )"),
        ([people, "--where", ".a = 1"], "= is not known; write == to compare (at character 4)"),
        ([people, "x", "-p", "9"], "grep-people has no partition 9: it has 1"),
        ([people, "x", "--from", "noon"], "--from: 'noon' is not a place in a topic"),
    ]:
        done = grep(*arguments)
        assert done.returncode == 2, arguments
        assert reason in done.stderr
        assert done.stderr.count("\n") == 1
    nobody = run("grep", people, "x", "-b", "127.0.0.1:1")
    assert nobody.returncode == 2
    assert "Is a node up?" in nobody.stderr


def test_ctrl_c_ends_it_and_its_process(bootstrap: str, people: str) -> None:
    """Into a pipe that nobody reads: it cannot end by itself."""
    sender = producer(bootstrap, linger_ms=50)
    for number in range(200_000):
        sender.produce("grep-many", b"x" * 100, partition=0)
        if number % 5_000 == 0:
            sender.poll(0)
    sender.flush(60)
    command = [str(BIN / "barnabas"), "grep", "grep-many", "x", "-b", bootstrap]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "x" * 100 + "\n"
        children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False)
        process.send_signal(signal.SIGINT)
        process.stdout.close()
        assert process.wait(30) in (130, 0)
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    for pid in children.stdout.split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_consume_where(run: Run, bootstrap: str, people: str) -> None:
    done = run("consume", people, "--where", ".age == 7", "-n", "2", "-b", bootstrap)
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line)["name"] for line in done.stdout.splitlines()] == ["user 7", "user 97"]
    refused = run("consume", people, "--where", ".age =", "-b", bootstrap)
    assert refused.returncode == 2
    assert "write == to compare" in refused.stderr
