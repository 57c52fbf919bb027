"""The driver's side of connectors on Spark, with rounds that run in this process: offsets from round to round,
partitions that move, rounds that fail, are late or are cancelled, and a Spark that ends."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from barnabas import Admin, Producer
from barnabas.connect.definition.loading import load
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.spark import session
from barnabas.connect.spark.settings import SparkSettings
from barnabas.connect.spark.sink_task import SparkSinkTask
from barnabas.testing import RunningNode
from tests.support.members import until
from tests.unit.connect.spark.local import LocalContext
from tests.unit.connect.spark.running import Member, Running, running

WRITING = """
    import json
    from pathlib import Path
    from barnabas.connect import Unavailable

    def write(records, options):
        folder = Path(options["folder"])
        if (folder / "down").exists():
            raise Unavailable("the target is down")
        for record in records:
            path = folder / f"{record.partition}-{record.offset}"
            path.write_text(json.dumps([record.value["n"], path.exists()]))
"""


class Target:
    """A folder that a sink writes to: a file for each record."""

    def __init__(self, node: RunningNode, folder: Path, name: str, partitions: int = 2) -> None:
        self.node, self.topic = node, f"{name}-in"
        self.folder = folder / "target"
        self.folder.mkdir()
        (folder / "writing.py").write_text(textwrap.dedent(WRITING))
        with Admin(node.bootstrap) as admin:
            admin.create_topic(self.topic, partitions=partitions)
        options = f'{{file: writing.py, folder: "{self.folder}"}}'
        text = f"name: {name}\nfrom: {{topics: [{self.topic}], format: json}}\nto: {{python: {options}}}\n"
        (self.definition,) = load(text + "engine: spark\nspark: {round_s: 1}\n", folder=folder)

    def send(self, numbers: range) -> None:
        with Producer(self.node.bootstrap) as producer:
            for number in numbers:
                producer.send(self.topic, json.dumps({"n": number}), partition=number % 2)

    def written(self) -> list[int]:
        found = (json.loads(each.read_text() or "[-1]") for each in self.folder.iterdir() if each.name[0].isdigit())
        return sorted(each[0] for each in found)

    def twice(self) -> int:
        return sum(json.loads(each.read_text())[1] for each in self.folder.iterdir())


def test_records_are_written_once_by_rounds_and_the_group_knows(
    node: RunningNode, context: LocalContext, tmp_path: Path
) -> None:
    target = Target(node, tmp_path, "rounds")
    target.send(range(20))
    with running(node, target.definition) as sink:
        until(lambda: target.written() == list(range(20)), "all is written", 30)
        target.send(range(20, 30))
        until(lambda: target.written() == list(range(30)), "what comes later, too", 30)
        until(lambda: sink.progress.told().behind_records == 0, "nothing is left")
        told = sink.progress.told()
        assert (told.state, told.records) == ("running", 30)
        assert told.parts == ["rounds-in-0", "rounds-in-1", "rounds.redrive-0"]
        assert context.described[0].startswith("rounds: rounds-in-")
    assert sink.raised is None
    with running(node, target.definition):  # another worker goes on where the first stood
        target.send(range(30, 40))
        until(lambda: target.written() == list(range(40)), "it goes on", 30)
    assert target.twice() == 0


def test_a_target_that_is_down_is_waited_for(node: RunningNode, context: LocalContext, tmp_path: Path) -> None:
    target = Target(node, tmp_path, "waits")
    (target.folder / "down").touch()
    target.send(range(4))
    with running(node, target.definition) as sink:
        until(lambda: sink.progress.told().problem == "the target is down", "it says why", 30)
        assert sink.progress.told().state == "waiting" and target.written() == []
        (target.folder / "down").unlink()
        until(lambda: target.written() == list(range(4)), "it goes on by itself", 30)
        until(lambda: sink.progress.told().state == "running", "and says so", 30)


def test_a_round_that_spark_cannot_run_is_tried_again(node: RunningNode, context: LocalContext, tmp_path: Path) -> None:
    target = Target(node, tmp_path, "fails")
    target.send(range(4))
    context.fail_with = RuntimeError("an executor was lost")
    with running(node, target.definition) as sink:
        until(lambda: "an executor was lost" in sink.progress.told().problem, "it says why", 30)
        context.fail_with = None
        until(lambda: target.written() == list(range(4)), "it goes on by itself", 30)


def test_a_spark_that_has_ended_is_told_and_started_again(
    node: RunningNode, context: LocalContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Target(node, tmp_path, "ends")
    target.send(range(2))
    with running(node, target.definition) as sink:
        task = sink.task
        assert isinstance(task, SparkSinkTask)
        until(lambda: target.written() == [0, 1] and not task._rounds, "a round has ended", 30)
        context.has_stopped, context.fail_with = True, RuntimeError("Java is gone")
        target.send(range(2, 4))
        until(sink.ended, "the task ends", 30)
        assert isinstance(sink.raised, Unavailable) and str(sink.raised) == session.ENDED
    again = LocalContext()
    monkeypatch.setattr(session, "_context", lambda master, settings: again)
    with running(node, target.definition):
        until(lambda: target.written() == list(range(4)), "another Spark goes on", 30)
    session.stop()


def test_partitions_go_to_a_worker_that_comes_and_back(
    node: RunningNode, context: LocalContext, tmp_path: Path
) -> None:
    target = Target(node, tmp_path, "moves")
    target.send(range(10))
    with running(node, target.definition) as first:
        until(lambda: target.written() == list(range(10)), "it runs", 30)
        with running(node, target.definition) as second:
            until(lambda: len(second.progress.told().parts) > 0, "they share", 30)
            target.send(range(10, 20))
            until(lambda: target.written() == list(range(20)), "both write", 30)
        until(lambda: len(first.progress.told().parts) == 3, "it has all again", 30)
    assert target.twice() == 0


def test_a_task_that_leaves_its_group_takes_nothing_more(
    node: RunningNode, context: LocalContext, tmp_path: Path
) -> None:
    """Another member left at the same time. Where a partition begins is not known then: librdkafka, which is closing,
    does not say it, and the task would wait for half a minute."""
    target = Target(node, tmp_path, "leaves")
    with running(node, target.definition) as sink:
        until(lambda: len(sink.progress.told().parts) == 3, "it runs", 30)
    task, member, places = sink.task, Member(), [TopicPartition(target.topic, 0)]
    assert isinstance(task, SparkSinkTask)
    task._assigned(member, places)  # type: ignore[arg-type]  # librdkafka calls it so
    assert member.assigned == places and sink.progress.told().parts == []


def test_partitions_that_were_lost_are_let_go(
    node: RunningNode, context: LocalContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member that the group has given up: its rounds are cancelled, and nothing is committed."""
    target = Target(node, tmp_path, "lost")
    context.goes.clear()
    target.send(range(2))

    with running(node, target.definition) as sink:
        task = sink.task
        assert isinstance(task, SparkSinkTask)
        until(lambda: len(task._rounds) > 0, "a round has begun", 30)
        places = [TopicPartition(*place) for place in task._owned]
        member = Member()
        sink.in_its_thread(lambda: task._lost(member, places), monkeypatch)  # type: ignore[arg-type]  # librdkafka calls it so
        assert task._owned == {} and task._rounds == {} and member.unassigned == places
        assert context.cancelled and sink.progress.told().parts == []
        context.goes.set()


@pytest.mark.usefixtures("impatient")
def test_a_round_that_does_not_end_is_late_and_cancelled(
    node: RunningNode, context: LocalContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_LATE_S", 0.0)
    target = Target(node, tmp_path, "late")
    context.goes.clear()
    target.send(range(2))
    sink = Running(node, target.definition)
    until(lambda: sink.progress.told().problem == session.LATE, "it is said", 30)
    sink.stop()
    assert context.cancelled
    context.goes.set()


def test_options_that_cannot_be_right_are_said_before_spark_starts(
    node: RunningNode, context: LocalContext, tmp_path: Path
) -> None:
    where = "{s3: {bucket: b, access_key_id: k}}"
    (definition,) = load(f"name: bad\nfrom: {{topics: [x]}}\nto: {where}\nengine: spark\n", folder=tmp_path)
    with running(node, definition) as sink:
        until(sink.ended, "it stops", 10)
    assert isinstance(sink.raised, BadOption)
    assert context.described == []


def test_one_spark_for_all_and_another_after_its_end(context: LocalContext) -> None:
    session.use(SparkSettings(master="local[2]"))
    spark = session.started()
    assert session.started() is spark
    session.check()
    round_ = spark.round("twice", 1.0, lambda texts: [each * 2 for each in texts], "ab")
    assert round_.end() and round_.answer() == "abab" and not round_.is_late
    context.has_stopped = True
    with pytest.raises(Unavailable, match="Spark has ended"):
        session.check()
    context.has_stopped = False
    spark.stop()
    with pytest.raises(Unavailable, match="Spark has ended"):
        spark.round("more", 1.0, list, "x")


def test_what_spark_cannot_do_is_one_line(context: LocalContext) -> None:
    context.fail_with = RuntimeError("no space left\non device")
    round_ = session.started().round("x", 0.0, list, "x")
    until(lambda: round_.has_ended, "it has failed")
    with pytest.raises(Unavailable, match=r"Spark: .*no space left"):
        round_.answer()
