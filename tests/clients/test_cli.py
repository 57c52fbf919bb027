"""The command `barnabas` as a person has it: the installed executable, its pipes and exit codes, against a server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.testing import running_node

EXECUTABLE = Path(sys.executable).with_name("barnabas")
WAIT_S = 60

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(bootstrap: str) -> Run:
    """`run("topic", "list")`, which must end well unless `code` says otherwise."""

    def command(*words: str, stdin: str | bytes = "", code: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "BARNABAS_BOOTSTRAP": bootstrap}
        data = stdin if isinstance(stdin, bytes) else stdin.encode()
        done = subprocess.run([EXECUTABLE, *words], input=data, capture_output=True, env=environment, timeout=WAIT_S)
        shown = subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode()
        )
        assert shown.returncode == code, f"{words}: {shown.returncode}\n{shown.stdout}\n{shown.stderr}"
        assert "Traceback" not in shown.stderr
        if code:
            assert shown.stderr.startswith("barnabas: ") and shown.stderr.count("\n") == 1, shown.stderr
        return shown

    return command


@pytest.fixture
def topic(run: Run) -> str:
    name = f"cli-{uuid.uuid4().hex[:8]}"
    run("topic", "create", name, "--partitions", "3")
    return name


def listed(run: Run, *words: str) -> Any:
    return json.loads(run(*words, "--json").stdout)


def test_changes_are_told_as_json(run: Run) -> None:
    name = f"cli-{uuid.uuid4().hex[:8]}"
    assert listed(run, "topic", "create", name, "--partitions", "2") == {"topic": name, "created": True}
    assert listed(run, "topic", "create", name, "--if-missing") == {"topic": name, "created": False}
    assert listed(run, "topic", "alter", name, "--set", "retention.ms=1000")["retention.ms"]["value"] == "1000"
    assert listed(run, "topic", "grow", name, "3") == {"topic": name, "before": 2, "partitions": 3}
    assert listed(run, "config", "set", "topic", name, "retention.ms=2000")["retention.ms"]["value"] == "2000"
    back = listed(run, "config", "delete", "topic", name, "retention.ms")["retention.ms"]
    assert back["source"] == "default"
    run("produce", name, "--partition", "0", stdin="a\nb\n")
    deleted = listed(run, "topic", "delete-records", name, "--before", "end", "--partition", "0", "--yes")
    assert deleted == [{"topic": name, "partition": 0, "start_offset": 2}]
    run("consume", name, "--group", name)
    assert listed(run, "group", "delete", name, "--yes") == {"group": name, "deleted": True}
    assert listed(run, "topic", "delete", name, "--yes") == {"topic": name, "deleted": True}
    run("topic", "delete", name, "--yes", "--json", code=1)


def test_the_life_of_a_topic(run: Run, topic: str) -> None:
    assert topic in {each["name"] for each in listed(run, "topic", "list")}
    assert topic in run("topic", "list").stdout
    run("topic", "create", topic, code=1)
    run("topic", "create", topic, "--if-missing")
    run("topic", "alter", topic, "--set", "retention.ms=3600000")
    described = listed(run, "topic", "describe", topic)
    assert len(described["partitions"]) == 3
    assert described["configs"]["retention.ms"]["value"] == "3600000"
    assert "1 h" in run("topic", "describe", topic).stdout
    run("topic", "grow", topic, "2", code=1)
    run("topic", "grow", topic, "5")
    assert len(listed(run, "topic", "describe", topic)["partitions"]) == 5
    run("topic", "alter", topic, "--delete", "retention.ms")
    assert listed(run, "topic", "describe", topic)["configs"]["retention.ms"]["value"] != "3600000"
    run("topic", "delete", topic, code=2)  # nobody to ask
    run("topic", "delete", topic, "--yes")
    assert topic not in {each["name"] for each in listed(run, "topic", "list")}
    said = run("topic", "describe", topic, code=1).stderr
    assert f"there is no topic '{topic}'" in said


def test_lines_go_in_and_come_out(run: Run, topic: str) -> None:
    lines = [f"line {number}" for number in range(500)] + ["", "käse \N{SNOWMAN}"]
    said = run("produce", topic, stdin="\n".join(lines)).stderr
    assert said.startswith(f"502 records to {topic}")
    assert sorted(run("consume", topic).stdout.splitlines()) == sorted(lines)
    assert len(run("consume", topic, "-n", "7").stdout.splitlines()) == 7
    assert run("consume", topic, "--from", "end").stdout == ""


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_compression(run: Run, topic: str, codec: str, tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_text("".join(f"{number}\n" for number in range(2000)))
    run("produce", topic, str(file), "--compression", codec, "--acks", "1")
    assert sorted(map(int, run("consume", topic).stdout.split())) == list(range(2000))


def test_keys_decide_the_partition_and_columns_show_it(run: Run, topic: str) -> None:
    run("produce", topic, "--key-separator", ":", "--header", "v=1", stdin="ada:1\nbob:2\nada:3\n")
    rows = [line.split("\t") for line in run("consume", topic, "--keys", "--offsets", "--headers").stdout.splitlines()]
    assert {(headers, key, value) for _, headers, key, value in rows} == {
        ("v=1", "ada", "1"),
        ("v=1", "bob", "2"),
        ("v=1", "ada", "3"),
    }
    ada = [place.split(":")[0] for place, _, key, _ in rows if key == "ada"]
    assert ada[0] == ada[1]
    assert [row[3] for row in rows if row[2] == "ada"] == ["1", "3"]


def test_json_carries_everything_through_a_copy(run: Run, topic: str) -> None:
    first = {"key": "k", "value": {"a": 1}, "headers": {"h": "1"}, "partition": 2, "timestamp": 1_700_000_000_000}
    lines = [json.dumps(first), '{"key":"gone","value":null,"partition":0}', '{"value_base64":"/wA=","partition":1}']
    run("produce", topic, "--json", stdin="\n".join(lines))
    out = run("consume", topic, "--json").stdout
    records = {record["partition"]: record for record in map(json.loads, out.splitlines())}
    assert records[2]["key"] == "k" and json.loads(records[2]["value"]) == {"a": 1}
    assert records[2]["headers"] == [["h", "1"]] and records[2]["timestamp"] == 1_700_000_000_000
    assert records[0]["value"] is None
    assert records[1]["value_base64"] == "/wA="
    copy = f"{topic}-copy"
    run("topic", "create", copy, "--partitions", "3")
    run("produce", copy, "--json", stdin=out)
    copied = {
        record["partition"]: record for record in map(json.loads, run("consume", copy, "--json").stdout.splitlines())
    }
    for partition, record in records.items():
        assert {**copied[partition], "topic": topic} == record


def test_raw_is_the_bytes(run: Run, topic: str) -> None:
    run("produce", topic, "--partition", "0", stdin=b"\xff\x00\nb")
    assert run("consume", topic, "--format", "raw").stdout.encode("utf-8", "surrogateescape") == b"\xff\x00b"


def test_round_robin_is_even(run: Run, topic: str) -> None:
    run("produce", topic, "--partitioner", "round-robin", stdin="x\n" * 30)
    assert [part["end_offset"] for part in listed(run, "topic", "describe", topic)["partitions"]] == [10, 10, 10]


def test_places(run: Run, topic: str) -> None:
    stamps = [1_700_000_000_000 + second * 1000 for second in range(10)]
    lines = [json.dumps({"value": str(n), "timestamp": stamp, "partition": 1}) for n, stamp in enumerate(stamps)]
    run("produce", topic, "--json", stdin="\n".join(lines))

    def read(*words: str) -> list[int]:
        return [int(line) for line in run("consume", topic, *words).stdout.split()]

    assert read("--from", "4", "--to", "7") == [4, 5, 6]
    assert read("--from", "-2") == [8, 9]
    assert read("--from", str(stamps[6])) == [6, 7, 8, 9]
    assert read("--from", "2023-11-14T22:13:22Z", "--to", "2023-11-14T22:13:25Z") == [2, 3, 4]
    assert read("--from", "-5m") == []
    assert read("--partition", "0") == []
    assert read("--partition", "1", "--from", "9") == [9]


def test_a_group_goes_on_where_it_stopped(run: Run, topic: str) -> None:
    group = f"g-{topic}"
    run("produce", topic, stdin="".join(f"{number}\n" for number in range(100)))
    first = run("consume", topic, "--group", group, "-n", "40").stdout.split()
    described = listed(run, "group", "describe", group)
    rest = run("consume", topic, "--group", group).stdout.split()
    assert len(first) == 40
    assert sorted(map(int, first + rest)) == list(range(100))
    assert group in {each["name"] for each in listed(run, "group", "list")}
    behind = [part for part in described["partitions"] if part["lag_records"]]
    assert all(part["lag_seconds"] is not None and part["lag_seconds"] >= 0 for part in behind)
    described = listed(run, "group", "describe", group)
    # a partition that got none of the records has nothing committed
    assert sum(part["committed"] or 0 for part in described["partitions"]) == 100
    assert sum(part["lag_records"] or 0 for part in described["partitions"]) == 0
    plan = listed(run, "group", "reset", group, "--topic", topic, "--to", "beginning", "--dry-run")
    assert {each["after"] for each in plan} == {0}
    assert run("consume", topic, "--group", group).stdout == ""
    run("group", "reset", group, "--topic", topic, "--to", "-1", "--yes")
    assert 1 <= len(run("consume", topic, "--group", group).stdout.split()) <= 3
    run("group", "reset", group, "--topic", topic, "--to", "beginning", code=2)  # nobody to ask
    run("group", "delete", group, "--yes")
    run("group", "describe", group, code=1)


def test_lag_in_seconds_of_many_partitions(run: Run, topic: str) -> None:
    run("topic", "grow", topic, "12")
    old = int(time.time() * 1000) - 3_600_000
    lines = [json.dumps({"value": "x", "partition": number, "timestamp": old}) for number in range(12)]
    run("produce", topic, "--json", stdin="\n".join(lines))
    run("group", "reset", f"g-{topic}", "--topic", topic, "--to", "beginning", "--yes")
    parts = listed(run, "group", "describe", f"g-{topic}")["partitions"]
    assert [part["lag_records"] for part in parts] == [1] * 12
    assert all(3600 <= part["lag_seconds"] < 3700 for part in parts), parts
    assert "12 records, 1 h" in run("group", "describe", f"g-{topic}").stdout


def test_settings(run: Run, topic: str) -> None:
    run("config", "set", "topic", topic, "cleanup.policy=delete", "retention.ms=1000000")
    run("config", "append", "topic", topic, "cleanup.policy=compact")
    found = run("config", "get", "topic", topic, "cleanup.policy").stdout.strip()
    assert set(found.split(",")) == {"compact", "delete"}
    run("config", "subtract", "topic", topic, "cleanup.policy=delete")
    assert run("config", "get", "topic", topic, "cleanup.policy", "retention.ms").stdout.splitlines() == [
        "cleanup.policy=compact",
        "retention.ms=1000000",
    ]
    run("config", "delete", "topic", topic, "cleanup.policy", "retention.ms")
    assert listed(run, "config", "list", "topic", topic)["cleanup.policy"]["value"] == "delete"
    said = run("config", "set", "topic", topic, "retention.mss=1", code=1).stderr
    assert "Did you mean retention.ms?" in said
    run("config", "set", "topic", topic, "retention.ms=soon", code=1)
    for node in ("all", "1"):
        said = run("config", "set", "node", node, "log.retention.hours=72", code=1).stderr
        assert "log.retention.hours cannot be changed while a node runs. log.retention.ms can be." in said
        said = run("config", "set", "node", node, "log.dirs=/tmp", code=1).stderr
        assert "Put it into the node's settings" in said
    assert "num.partitions" in listed(run, "config", "list", "node", "1")


def test_habits_of_other_tools(run: Run, bootstrap: str, topic: str) -> None:
    assert run("--version").stdout == run("version").stdout
    assert topic in run("topic", "list", "--bootstrap-server", bootstrap).stdout
    assert topic in {each["name"] for each in json.loads(run("topic", "list", "-o", "json").stdout)}
    run("topic", "create", f"{topic}-kept", "--config", "cleanup.policy=compact")
    assert run("config", "get", "topic", f"{topic}-kept", "cleanup.policy").stdout == "compact\n"


def test_oldest_records_are_deleted(run: Run, topic: str) -> None:
    run("produce", topic, "--partition", "0", stdin="a\nb\nc\n")
    run("topic", "delete-records", topic, "--before", "2", code=2)  # nobody is here to say yes
    kept = run("topic", "delete-records", topic, "--before", "-9", "--partition", "0", "--yes").stdout
    assert kept == f"{topic}-0 begins at 0\n"
    assert f"{topic}-0 begins at 1" in run("topic", "delete-records", topic, "--before", "-2", "--yes").stdout
    assert f"{topic}-0 begins at 2" in run("topic", "delete-records", topic, "--before", "2", "--yes").stdout
    assert run("consume", topic, "--from", "beginning", "-n", "1").stdout == "c\n"
    told = run("topic", "delete-records", topic, "--before", "end", "--partition", "0", "--yes").stdout
    assert told == f"{topic}-0 begins at 3\n"
    for words in (["--before", "beginning"], ["--before", "soon"], ["--before", "1", "--partition", "9"]):
        run("topic", "delete-records", topic, *words, "--yes", code=2)
    run("topic", "create", f"{topic}-wide", "--partitions", "2")
    beyond = run("topic", "delete-records", f"{topic}-wide", "--before", "9", "--partition", "1", "--yes", code=2)
    assert f"--before 9: {topic}-wide-1 ends at offset 0. For all that it has: --before end." in beyond.stderr


def test_settings_of_all_nodes(run: Run) -> None:
    try:
        assert "node all" in run("config", "set", "node", "all", "log.cleaner.threads=2").stdout
        assert run("config", "get", "node", "all", "log.cleaner.threads").stdout == "2\n"
    finally:
        run("config", "delete", "node", "all", "log.cleaner.threads")


def test_a_user_of_a_cluster_without_logins(run: Run) -> None:
    created = run("user", "create", "early-bird")
    assert "can log in" not in created.stdout + created.stderr
    assert "password " in created.stdout and "Nobody logs in at this cluster yet" in created.stderr
    run("user", "delete", "early-bird", "--yes")


def test_the_doctor(run: Run) -> None:
    found = listed(run, "doctor", "--write")
    told = {check["what"]: check["status"] for check in found["node"]}
    assert {"reach", "apis", "cluster", "told", "write", "clock"} <= set(told)
    assert "fail" not in told.values(), found["node"]


def test_a_reader_that_leaves_early_is_no_failure(run: Run, topic: str, bootstrap: str) -> None:
    run("produce", topic, stdin="x" * 100 + "\n" + ("y" * 100 + "\n") * 20_000)
    consumer = subprocess.Popen(
        [EXECUTABLE, "consume", topic, "-b", bootstrap], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert consumer.stdout is not None and consumer.stderr is not None
    consumer.stdout.readline()
    consumer.stdout.close()
    assert consumer.wait(WAIT_S) == 0
    assert consumer.stderr.read() == b""
    consumer.stderr.close()


def test_following_until_ctrl_c(run: Run, topic: str, bootstrap: str) -> None:
    run("produce", topic, stdin="old\n")
    words: list[str | Path] = [EXECUTABLE, "consume", topic, "--follow", "--from", "beginning", "-b", bootstrap]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None and follower.stderr is not None
        assert follower.stdout.readline() == "old\n"
        run("produce", topic, stdin="new\n")
        assert follower.stdout.readline() == "new\n"
        follower.send_signal(signal.SIGINT)
        assert follower.wait(WAIT_S) == 130
        assert follower.stderr.read() == ""


def test_a_slow_pipe_is_sent_as_it_comes(run: Run, topic: str, bootstrap: str) -> None:
    words: list[str | Path] = [EXECUTABLE, "produce", topic, "-b", bootstrap]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as producer:
        assert producer.stdin is not None
        producer.stdin.write("first\n")
        producer.stdin.flush()
        deadline = time.monotonic() + WAIT_S
        while run("consume", topic).stdout != "first\n":
            assert time.monotonic() < deadline, "a line waits for the pipe to close"
        producer.stdin.close()
        assert producer.wait(WAIT_S) == 0


def test_wrong_input_says_which_line(run: Run, topic: str) -> None:
    said = run("produce", topic, "--json", stdin='{"value":"ok"}\nrubbish\n', code=1).stderr
    assert "line 2 is not JSON" in said
    assert run("consume", topic).stdout == "ok\n"
    assert "did not arrive" in run("produce", topic, "--partition", "99", stdin="x\n", code=1).stderr
    too_large = run("produce", topic, stdin="x" * 2_000_000, code=1).stderr
    assert (
        f"1 record of 1 did not arrive: Broker: Message size too large. Its limit: barnabas config get topic {topic}"
        in too_large
    )


def test_versions(run: Run) -> None:
    assert listed(run, "version")["barnabas"]


def test_a_member_of_a_group_without_a_coordinator_gives_up() -> None:
    """A `consume --group` that is to end comes to one."""
    impatient = (
        "import sys\n"
        "from barnabas.cli.consume import reading\n"
        "from barnabas.cli.main import main\n"
        "reading.GIVE_UP_S = 2.0\n"
        "sys.exit(main())\n"
    )
    with running_node() as node:
        node.fail_next("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", times=-1)
        command = [sys.executable, "-c", impatient]
        made = subprocess.run([*command, "topic", "create", "views", "-b", node.bootstrap], timeout=60, check=False)
        assert made.returncode == 0
        consume = [*command, "consume", "views", "--group", "readers", "-b", node.bootstrap]
        found = subprocess.run(consume, capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 1
    last = found.stderr.splitlines()[-1]
    assert "gave up after 2 s" in last and "barnabas cluster status" in last, found.stderr
