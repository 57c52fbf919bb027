"""What a person does with connectors: each command of `barnabas connect` against a node, a worker beside it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from barnabas.cli.connect.telling import rows_of
from barnabas.client.admin.admin import Admin
from barnabas.connect.cluster.connection import Cluster
from tests.support.connect import ConnectWorker, all_records, connect, running, written
from tests.support.members import until
from tests.support.servers import BarnabasNode

WRITING = """
    import json
    from pathlib import Path
    from barnabas.connect import Rejected, Unavailable

    def write(records, options):
        folder = Path(options["folder"])
        if (folder / "down").exists():
            raise Unavailable("the target is down")
        refused = []
        for record in records:
            if record.value.get("bad") and not (folder / "mended").exists():
                refused.append(Rejected(record, "the target does not like it"))
                continue
            file = folder / f"{record.topic}-{record.partition}-{record.offset}"
            file.with_name(f".{file.name}").write_text(json.dumps(record.value))
            file.with_name(f".{file.name}").rename(file)  # whoever looks sees it whole, or not at all
        return refused

    def change(record):
        record.headers = [*record.headers, ("changed", b"yes")]
        return record.value.get("n") != 99
"""


class Sink:
    def __init__(self, node: BarnabasNode, folder: Path, name: str) -> None:
        self.node, self.folder, self.name = node, folder, name
        self.target = folder / "target"
        self.target.mkdir()
        written(folder / "writing.py", WRITING)
        self.file = written(
            folder / f"{name}.yaml",
            f"""
            name: {name}
            from: {{topics: [{name}-in], format: json}}
            to: {{python: {{file: writing.py, folder: "{self.target}"}}}}
            transform: [{{filter: .skip != true}}, {{python: {{file: writing.py, function: change}}}}]
            """,
        )
        self.worker = ConnectWorker(node.bootstrap, folder / "worker.log", self.file)

    def send(self, *values: object) -> None:
        producer = Producer({"bootstrap.servers": self.node.bootstrap, "log_level": 0})
        for value in values:
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            producer.produce(f"{self.name}-in", data, headers=[("from", b"test")])
        assert producer.flush(10) == 0

    def written(self) -> list[int]:
        files = [each for each in self.target.iterdir() if each.name not in ("down", "mended") and each.name[0] != "."]
        return sorted(json.loads(each.read_text())["n"] for each in files)

    def status(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(connect(self.node.bootstrap, "status", self.name, "--json"))
        return found

    def state(self) -> str:
        """What `connect list` shows, without a process for each look."""
        row = next(each for each in rows_of(Cluster(self.node.bootstrap)) if each.name == self.name)
        return row.state

    def dead(self) -> list[dict[str, str]]:
        return [
            {name: bytes(value or b"").decode() for name, value in list(each.headers() or [])}  # type: ignore[arg-type, misc]
            for each in all_records(self.node.bootstrap, f"{self.name}.dead")
        ]


@pytest.fixture
def sink(node: BarnabasNode, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Sink]:
    made = Sink(node, tmp_path, request.node.name.replace("test_", "").replace("_", "-")[:40])
    made.send({"n": 1}, {"n": 2, "skip": True})
    with running(made.worker):
        until(lambda: made.written() == [1], "the first record")
        yield made


def state_is(sink: Sink, wanted: str) -> Callable[[], bool]:
    return lambda: sink.state() == wanted


def test_bad_records_are_dead_letters_and_come_again(sink: Sink) -> None:
    sink.send(b"no json", {"n": 3, "bad": True}, {"n": 4})
    until(lambda: sink.written() == [1, 4], "what is good")
    until(lambda: len(sink.dead()) == 2, "what is not")
    decoding, refused = sink.dead()
    assert (
        decoding["__connect.errors.stage"] == "VALUE_CONVERTER"
        and "JSON" in decoding["__connect.errors.exception.message"]
    )
    assert refused["__connect.errors.exception.message"] == "the target does not like it"
    assert refused["__connect.errors.topic"] == f"{sink.name}-in" and refused["from"] == "test"
    (sink.target / "mended").touch()
    assert "sent 2 dead letters" in connect(sink.node.bootstrap, "redrive", sink.name, "--yes")
    until(lambda: sink.written() == [1, 3, 4], "the one that is good now")
    assert f"{sink.name}-in-0-3" in [each.name for each in sink.target.iterdir()]  # the place that it had at first
    until(lambda: len(sink.dead()) == 3, "the other is dead once more")
    assert sink.dead()[2]["__connect.errors.offset"] == "2"
    assert "sent 1 dead letter " in connect(sink.node.bootstrap, "redrive", sink.name, "--yes")


def test_a_target_that_is_down(sink: Sink) -> None:
    (sink.target / "down").touch()
    sink.send({"n": 3}, {"n": 4})
    until(state_is(sink, "waiting"), "it says so")
    row = connect(sink.node.bootstrap, "list")
    assert "the target is down" in row
    time.sleep(1)
    (sink.target / "down").unlink()
    until(lambda: sink.written() == [1, 3, 4], "it goes on by itself")
    until(state_is(sink, "running"), "and says so")
    assert sink.dead() == []


def test_pause_resume_restart_and_lag(sink: Sink) -> None:
    bootstrap = sink.node.bootstrap
    assert "paused" in connect(bootstrap, "pause", sink.name)
    until(lambda: not sink.status()["tasks"], "nobody works on it")
    sink.send({"n": 3})
    assert sink.status()["state"] == "paused"
    connect(bootstrap, "resume", sink.name)
    until(lambda: sink.written() == [1, 3], "it goes on")
    connect(bootstrap, "restart", sink.name)
    sink.send({"n": 4})
    until(lambda: sink.written() == [1, 3, 4], "it goes on after a restart")

    def lag() -> int | None:
        with Admin(bootstrap) as admin:
            return admin.describe_group(f"connect-{sink.name}").lag_records

    until(lambda: lag() == 0, "the group shows no lag")


def test_begin_anew(sink: Sink) -> None:
    for each in sink.target.iterdir():
        each.unlink()
    done = connect(sink.node.bootstrap, "reset", sink.name, "--yes")
    assert f"{sink.name}-in-0: from offset 0" in done
    until(lambda: sink.written() == [1], "everything once more")


def test_removed_and_added_again(sink: Sink) -> None:
    bootstrap = sink.node.bootstrap
    connect(bootstrap, "remove", sink.name, "--yes")
    assert sink.name not in connect(bootstrap, "list")
    until(lambda: "stopped" in sink.worker.log_path.read_text(), "the worker has stopped it")
    for each in sink.target.iterdir():
        each.unlink()
    sink.send({"n": 3})
    assert f"added {sink.name}" in connect(bootstrap, "add", str(sink.file))
    assert f"{sink.name} is there already" in connect(bootstrap, "add", str(sink.file))
    until(lambda: sink.written() == [3], "it goes on where it was")


def test_removed_with_all_that_it_keeps(sink: Sink) -> None:
    text = connect(sink.node.bootstrap, "remove", sink.name, "--forget", "--yes")
    assert f"topic {sink.name}.dead" in text and f"group connect-{sink.name}" in text
    with Admin(sink.node.bootstrap) as admin:
        assert not [each.name for each in admin.topics() if each.name.startswith(f"{sink.name}.")]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["pause", "nothing"], "there is no connector 'nothing'"),
        (["run", "/nowhere.yaml"], "cannot be read: no such file"),
        (["reset", "nothing", "--yes"], "there is no connector"),
        (["new", "Bad Name"], "is no good name"),
        (["new", "x", "--kind", "postgress"], "Did you mean 'postgres'?"),
        (["check", "/nowhere.yaml"], "cannot be read"),
    ],
)
def test_mistakes_are_one_line(node: BarnabasNode, words: list[str], told: str) -> None:
    code = 2 if words[0] == "new" else 1
    text = connect(node.bootstrap, *words, code=code)
    assert told in text and text.count("\n") == 1, text


def test_a_cluster_that_is_not_there() -> None:
    assert "127.0.0.1:1" in connect("127.0.0.1:1", "list", code=1)


def test_a_definition_of_somebody_else_runs_no_code(node: BarnabasNode, tmp_path: Path) -> None:
    """`connect add` stores a definition; a worker runs Python only from folders that it was given."""
    mark = tmp_path / "was-run"
    written(tmp_path / "evil.py", f"open({str(mark)!r}, 'w').close()\ndef read(position, options): return []")
    file = written(tmp_path / "evil.yaml", "name: evil\nfrom: {python: {file: evil.py}}\nto: {topic: evil}\n")
    connect(node.bootstrap, "add", str(file))
    try:
        with running(ConnectWorker(node.bootstrap, tmp_path / "worker.log")):

            def state() -> bool:
                found = json.loads(connect(node.bootstrap, "status", "evil", "--json"))
                return found["state"] == "failed" and "--functions" in found["tasks"][0]["problem"]

            until(state, "it is refused")
    finally:
        connect(node.bootstrap, "remove", "evil", "--yes")
    assert not mark.exists()
