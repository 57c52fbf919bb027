"""A worker in this process: files to a topic, a topic to a program; pauses, failures, dead letters and resets."""

from __future__ import annotations

import json
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas import Admin, Producer
from barnabas.connect import python_functions
from barnabas.connect.cluster import definitions
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.definition.definition import Definition
from barnabas.connect.definition.loading import load
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.operations import redriving, removing, resetting, states
from barnabas.connect.python_functions import allow_folder
from barnabas.connect.runtime.worker import Worker
from barnabas.testing import RunningNode, running_node
from tests.conftest import FAST_GROUPS
from tests.support.connect import all_records
from tests.support.members import until

WRITING = """
    import json
    from pathlib import Path
    from barnabas.connect import Rejected, Unavailable

    def write(records, options):
        folder = Path(options["folder"])
        if (folder / "down").exists():
            raise Unavailable("the target is down")
        if (folder / "broken").exists():
            raise ZeroDivisionError("a defect")
        refused = []
        for record in records:
            if record.value.get("bad") and not (folder / "mended").exists():
                refused.append(Rejected(record, "the target does not like it"))
            else:
                (folder / f"{record.partition}-{record.offset}").write_text(json.dumps(record.value))
        return refused
"""


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node(FAST_GROUPS | {"offsets.topic.num.partitions": "1"}) as running:
        yield running


class Stage:
    """A cluster, a folder, and a worker that runs until the test ends."""

    def __init__(self, node: RunningNode, folder: Path) -> None:
        self.node, self.folder = node, folder
        self.cluster = Cluster(node.bootstrap)
        self.worker = Worker(self.cluster)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self.worker.run, args=(self._stop,))
        self.added: list[str] = []
        allow_folder(folder)
        (folder / "writing.py").write_text(textwrap.dedent(WRITING))
        self.target = folder / "target"
        self.target.mkdir()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(30)
            assert not self._thread.is_alive()

    def add(self, text: str) -> Definition:
        (found,) = load(textwrap.dedent(text), folder=self.folder)
        assert states.add(self.cluster, found)
        self.added.append(found.name)
        return found

    def sink(self, name: str, **more: object) -> Definition:
        with Admin(self.node.bootstrap) as admin:
            admin.create_topic(f"{name}-in", partitions=1)
        rest = "".join(f"{key}: {json.dumps(value)}\n" for key, value in more.items())
        where = f'{{python: {{file: writing.py, folder: "{self.target}"}}}}'
        return self.add(f"name: {name}\nfrom: {{topics: [{name}-in], format: json}}\nto: {where}\n{rest}")

    def send(self, topic: str, *values: object) -> None:
        with Producer(self.node.bootstrap) as producer:
            for value in values:
                producer.send(topic, value if isinstance(value, bytes) else json.dumps(value))

    def written(self) -> list[int]:
        files = [each for each in self.target.iterdir() if each.name[0].isdigit()]
        return sorted(json.loads(each.read_text() or '{"n": -1}')["n"] for each in files)

    def lines(self, topic: str) -> list[str]:
        if topic not in self.cluster.admin().list_topics(timeout=10).topics:
            return []
        return sorted((each.value() or b"").decode() for each in all_records(self.node.bootstrap, topic))


@pytest.fixture
def stage(node: RunningNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(python_functions, "_folders", set())
    made = Stage(node, tmp_path)
    yield made
    made.stop()
    left = set(definitions.read_all(made.cluster))
    for name in left.intersection(made.added):
        states.remove(made.cluster, name)


def test_lines_of_files_become_records_once(stage: Stage) -> None:
    inbox = stage.folder / "inbox"
    inbox.mkdir()
    (inbox / "one.txt").write_text("a\nb\n")
    files = f'{{folder: "{inbox}", pattern: "*.txt", settle_s: 0}}'
    stage.add(f"name: lines\nfrom: {{files: {files}}}\nto: {{topic: lines, format: text}}\n")
    stage.start()
    until(lambda: stage.lines("lines") == ["a", "b"], "the file is read", 30)
    (inbox / "two.txt").write_text("c\n")
    until(lambda: stage.lines("lines") == ["a", "b", "c"], "a file that came later is read", 30)
    assert stage.worker.problems == []

    assert resetting.reset(stage.cluster, "lines", "beginning")
    until(lambda: len(stage.lines("lines")) == 6, "everything is read anew", 40)
    with pytest.raises(BadOption, match="at its beginning, not at '5'"):
        resetting.reset(stage.cluster, "lines", "5")
    stage.stop()  # a group with members cannot be deleted
    assert "topic lines.positions" in removing.forget(stage.cluster, "lines")


def test_a_target_that_is_down_is_waited_for(stage: Stage) -> None:
    stage.sink("waits")
    (stage.target / "down").touch()
    stage.start()
    stage.send("waits-in", {"n": 1}, {"n": 2})
    until(lambda: any("the target is down" in each for each in stage.worker.problems), "it says why", 30)
    assert stage.written() == []
    (stage.target / "down").unlink()
    until(lambda: stage.written() == [1, 2], "it goes on by itself", 40)
    (stage.target / "broken").touch()
    stage.send("waits-in", {"n": 3})
    until(lambda: any("a defect" in each for each in stage.worker.problems), "a defect is said too", 30)
    (stage.target / "broken").unlink()
    states.restart(stage.cluster, "waits")  # at once, not after the pause
    until(lambda: stage.written() == [1, 2, 3], "it goes on after a defect", 40)


def test_what_a_target_refuses_is_kept_and_sent_again(stage: Stage) -> None:
    definition = stage.sink("picky")
    stage.start()
    stage.send("picky-in", {"n": 1}, {"n": 2, "bad": True}, b"no json", {"n": 3})
    until(lambda: stage.written() == [1, 3], "the good ones are written", 30)
    until(lambda: len(stage.lines("picky.dead")) == 2, "the others are kept", 30)
    assert redriving.waiting(stage.cluster, definition) == 2
    (stage.target / "mended").touch()
    assert redriving.redrive(stage.cluster, definition) == 2
    until(lambda: stage.written() == [1, 2, 3], "the refused one is written", 40)
    until(lambda: len(stage.lines("picky.dead")) == 3, "what is no JSON is dead once more", 40)
    assert redriving.waiting(stage.cluster, definition) == 1
    assert redriving.redrive(stage.cluster, definition, again=True, most=2) == 2


def test_a_paused_connector_does_nothing_and_goes_on_where_it_was(stage: Stage) -> None:
    stage.sink("paused")
    stage.start()
    stage.send("paused-in", {"n": 1})
    until(lambda: stage.written() == [1], "it runs", 30)
    assert states.set_state(stage.cluster, "paused", "paused")
    assert not states.set_state(stage.cluster, "paused", "paused")
    until(lambda: not stage.worker.statuses(), "it has stopped", 30)
    stage.send("paused-in", {"n": 2})
    assert states.set_state(stage.cluster, "paused", "running")
    until(lambda: stage.written() == [1, 2], "it goes on", 30)


def test_a_sink_is_set_back_and_forward(stage: Stage) -> None:
    stage.sink("moved")
    stage.start()
    stage.send("moved-in", {"n": 1}, {"n": 2})
    until(lambda: stage.written() == [1, 2], "it runs", 30)
    for file in list(stage.target.iterdir()):
        file.unlink()
    assert resetting.reset(stage.cluster, "moved", "beginning")
    until(lambda: stage.written() == [1, 2], "all is written again", 40)
    with pytest.raises((BadOption, Unavailable)):
        resetting.reset(stage.cluster, "moved", "nowhere")


def test_a_definition_that_cannot_work_waits_for_somebody(stage: Stage) -> None:
    (stage.folder / "writing.py").write_text("def write(records, options, more): pass\nraise ValueError('at once')\n")
    stage.sink("wrong")
    stage.start()
    until(lambda: bool(stage.worker.problems), "it says why", 30)
    assert stage.worker.problems[0].startswith("wrong: ")
    with pytest.raises(BadOption, match="there is no connector 'wronh'"):
        states.restart(stage.cluster, "wronh")
