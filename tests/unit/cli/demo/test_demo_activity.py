"""`barnabas demo`, the story activity: its clients over a node of this process, its screen, and Spark's part of it with
Spark replaced."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas import Producer
from barnabas.cli.demo import command, stream, view
from barnabas.cli.demo.pace import Pace
from barnabas.cli.demo.spark import SparkStory, unavailable
from barnabas.cli.demo.stream import Stream, told
from barnabas.pipelines.activity import PIPELINE
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import Outcome, RunContext
from barnabas.testing import running_node
from tests.support.members import until
from tests.support.without_spark import Query
from tests.unit.cli.typed import Typed

NODE: Any = SimpleNamespace(
    bootstrap="127.0.0.1:7", started_s=0.4, port_was_taken=True, wanted_port=9092, kept=False, data=Path("/d")
)


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with running_node({"transaction.two.phase.commit.enable": True}) as node:
        command._make_topics(node.bootstrap)
        yield node.bootstrap


@pytest.fixture(scope="module")
def live(bootstrap: str) -> Iterator[Stream]:
    """A stream after some events, with a short day before it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stream, "PAST_EVENTS", 40)
        patched.setattr(stream, "OPEN_JOBS", 5)
        made = Stream(bootstrap, 400)
    with made:
        until(lambda: made.read >= 20, "events are read")
        made.stop_writing()
        until(lambda: made.read == made.written, "all of them")
        made.check()
        yield made


def story(**more: Any) -> Any:
    """What the screen reads of Spark's part."""
    pace = Pace()
    pace.add(time.monotonic(), 120.0)
    fields = {
        "phase": "now", "missing": "", "begun": time.monotonic(), "recommendations": 1, "pace": pace, "outcome": None,
        "recent": [(1_777_630_000_000, "member 7 might like a baker in Oslo", 120.0), (0, "x" * 300, None)],
        "first_s": 9.0, "notice": "", "folder": Path("/d/activity"), "watch": None, "fetch": None,
        "fetch_s": lambda: 0.0, "missing_since": 0.0,
    }  # fmt: skip
    return SimpleNamespace(**fields | more)


FETCH = SimpleNamespace(bar=lambda: "[##..] 1 of 2 MB  Spark", short=lambda: "fetching Spark, 1 of 2 MB", said=deque())
FETCHING = story(phase="fetching", fetch=FETCH)


def test_what_is_written_is_read_and_counted_by_its_kind(live: Stream) -> None:
    assert sum(live.kinds.values()) == live.read and set(live.kinds) <= {"search", "view", "job"}
    assert live.past >= 5 and live.delay_ms is not None and live.delay_ms < 10_000
    stamp, kind, value = live.recent[-1]
    assert stamp >= live.begun_ms - 1000 and told(kind, value)
    event = next(value["id"] for _, kind, value in live.recent if kind != "job")
    assert live.sent_ms(event) is not None and live.sent_ms("nothing") is None


def test_a_failure_of_a_client_is_raised_where_it_is_shown(live: Stream) -> None:
    def fail() -> None:
        raise ValueError("the node is gone")

    live._guard(fail)
    with pytest.raises(ValueError, match="the node is gone"):
        live.check()
    live._failure = None


def test_the_live_screen(live: Stream, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown: Any = view.open_view(NODE, story(), "http://127.0.0.1:8080")
    told = capsys.readouterr().out
    assert "port 9092 is taken, so the node took a free one" in told and "http://127.0.0.1:8080" in told
    pictures: list[Any] = []
    monkeypatch.setattr(shown._live, "start", lambda: None)
    monkeypatch.setattr(shown._live, "update", lambda picture, refresh: pictures.append(picture))
    with shown:
        shown.draw()  # before there is a stream: nothing
        shown.show(live)
        shown.draw()
        shown._sampled = (shown._sampled[0] - 1, 0)
        shown.draw()
    assert len(pictures) == 2
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        console.print(pictures[-1])
    text = console.export_text()
    assert f"read {live.read:,}" in text and "1 recommendations: the last after 120 ms" in text
    assert "120 ms  member 7 might like a baker in Oslo" in text and "…" in text


@pytest.mark.parametrize(
    ("spark", "said"),
    [
        (None, ""),
        (story(phase="missing", missing="no room"), "without the pipelines: no room"),
        (FETCHING, "[##..] 1 of 2 MB  Spark"),
        (story(phase="starting"), "Spark is starting, "),
        (story(pace=Pace()), "1 recommendations: of what happened before Spark was up"),
        (story(recommendations=0), "Spark is up and reads the day so far"),
        (story(phase="later"), "working through the day: the report and the digests"),
    ],
)
def test_where_spark_is(spark: Any, said: str) -> None:
    assert view._Shown(spark).spark_told().startswith(said) and bool(view._Shown(spark).spark_told()) == bool(said)


def test_a_pipe_gets_a_line_a_second(live: Stream, capsys: pytest.CaptureFixture[str]) -> None:
    for spark, expected in ((None, f"read {live.read:>7,}"), (story(), "1 recommendations: the last after 120 ms")):
        shown: Any = view.open_view(NODE, spark, "")
        shown.show(live)
        capsys.readouterr()
        shown.draw()
        assert capsys.readouterr().out == "", "not before a second has passed"
        shown._next = 0.0
        shown.draw()
        assert expected in capsys.readouterr().out


def test_a_pipe_is_told_what_is_fetched_and_once_that_it_failed(
    live: Stream, capsys: pytest.CaptureFixture[str]
) -> None:
    spark = story(phase="fetching", fetch=FETCH)
    shown: Any = view.open_view(NODE, spark, "")
    shown.show(live)
    FETCH.said.append("fetching Spark, 2 MB")
    shown._next = 0.0
    shown.draw()
    told = capsys.readouterr().out
    assert "\nfetching Spark, 2 MB\nwritten " in told and "/s   fetching Spark, 1 of 2 MB   " in told
    spark.phase, spark.missing = "missing", "no network"
    for _ in range(2):
        shown._next = 0.0
        shown.draw()
    told = capsys.readouterr().out
    assert told.count("without the pipelines: no network\n") == 1 and told.count("written ") == 2


@pytest.mark.parametrize(
    ("spark", "missing", "seconds", "said"),
    [
        (None, "there is no Java", None, "without the pipelines: there is no Java"),
        (story(missing="no memory"), "", None, "without the pipelines: no memory"),
        (story(phase="starting"), "", 40.0, "Spark was not up yet: try more than 40 seconds"),
    ],
)
def test_the_farewell_says_why_there_are_no_results(
    live: Stream, capsys: pytest.CaptureFixture[str], spark: Any, missing: str, seconds: float | None, said: str
) -> None:
    view.farewell(NODE, live, spark, missing, seconds, "http://127.0.0.1:8080")
    told = capsys.readouterr().out
    assert said in told and "barnabas topic list -b 127.0.0.1:7" in told
    assert ("Ctrl-C stops it." in told) == (seconds is None)
    assert ("its console on" in told) == (seconds is None)


def test_the_farewell_has_the_results_and_where_they_are(live: Stream, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = {"members": 1200, "sessions": 3, "digests": 1, "reloaded": 5000}
    outcome = Outcome(["most wanted: baker"], {"report": Path("/d/report.html")}, numbers)
    view.farewell(NODE, live, story(outcome=outcome, notice="by micro-batches"), "", None, "")
    told = capsys.readouterr().out
    for words in (
        "1 recommendation made; the first of a live event 9 s after the start, then p50 120 ms and p99 120 ms after",
        "by micro-batches", "1,200 members in 3 sessions; 1 digest written", "most wanted: baker",
        "report    file:///d/report.html", "/d/activity/tables/recommendations  (Parquet, 5,000 rows)",
        "barnabas pipeline new mine", "Its records go with it",
    ):  # fmt: skip
        assert words in told, words


class Spark:
    """In the place of a session."""

    def __init__(self) -> None:
        self.stopped = False
        self.cancelled = threading.Event()
        self.sparkContext = SimpleNamespace(uiWebUrl=None, cancelAllJobs=self.cancelled.set)

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Spark:
    made = Spark()
    for name, instead in (
        ("spark_start.is_there", lambda: None),
        ("spark_start.start", lambda wanted, log, tasks, say: (made, False, tasks)),
        ("realtime.tasks_wanted", lambda *given: given[-1]("by micro-batches: no room") or 0),
        ("realtime.missing", lambda wanted: "there is no room"),
        ("deadletters.start", lambda context: None),
    ):
        monkeypatch.setattr(f"barnabas.pipelines.framework.{name}", instead)
    return made


def recommended(interest: str) -> dict[str, object]:
    return {"interest": interest, "posted": "2026-05-01T10:00:00Z", "time": "2026-05-01T10:00:01Z"}


def test_sparks_part_goes_through_its_phases(
    bootstrap: str, spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def now(self: object, context: RunContext) -> None:
        query: Any = Query(3)
        context.queries["recommendations"] = query

    outcome = Outcome(["most wanted: baker"], {"report": tmp_path / "r.html"}, {"digests": 2, "events": 30, "jobs": 5})
    monkeypatch.setattr(type(PIPELINE), "now", now)
    monkeypatch.setattr(type(PIPELINE), "later", lambda self, context: outcome)
    monkeypatch.setattr(type(PIPELINE), "tell", lambda self, topic, value: f"for {value['interest']}")
    monkeypatch.setattr("barnabas.cli.demo.spark.CATCH_UP_S", 0.2)
    monkeypatch.setattr("barnabas.pipelines.framework.readback._end", lambda *_: 0)  # not those that come from now on
    made = SparkStory(tmp_path)
    try:
        now_ms = int(time.time() * 1000)
        made.sent_ms = {"e1": now_ms, "e2": now_ms + 60_000}.get
        assert made.phase == "starting" and made.alive()
        made.go_on_with(bootstrap)
        until(lambda: made.phase == "now", "the stream runs")
        with Producer(bootstrap, value_serializer="json") as producer:
            for number, interest in enumerate(("of the past", "e1", "e2"), start=1):
                producer.send("activity.recommendations", recommended(interest))
                producer.flush()
                until(lambda number=number: made.recommendations == number, "it is read back")  # type: ignore[misc]
                paced = made.pace.last_ms is not None
                assert paced is (interest == "e2"), "what was sent before the first one waited for Spark"
        assert [words for _, words, _ in made.recent] == ["for of the past", "for e1", "for e2"]
        assert made.first_s is not None and made.recent[0][2] is None and made.notice == "by micro-batches: no room"
        made.go_on_to_later()
        until(lambda: made.phase == "done", "the bulk half is done")
        assert made.outcome == outcome and spark.stopped
    finally:
        made.close()
    assert not made.alive()


def test_the_bulk_half_is_broken_off_when_the_demo_ends(
    bootstrap: str, spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def later(self: object, context: RunContext) -> Outcome:
        assert spark.cancelled.wait(30)
        raise ValueError("Job 1 cancelled")

    monkeypatch.setattr(type(PIPELINE), "now", lambda self, context: None)
    monkeypatch.setattr(type(PIPELINE), "later", later)
    monkeypatch.setattr("barnabas.cli.demo.spark.CATCH_UP_S", 0.0)
    made = SparkStory(tmp_path)
    made.go_on_with(bootstrap)
    made.go_on_to_later()
    until(lambda: made.phase == "later", "the bulk half has begun")
    made.close()
    assert not made.alive() and spark.cancelled.is_set() and spark.stopped


def test_ending_takes_a_while_and_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    command._say_that_it_ends(None)
    assert capsys.readouterr().out == ""
    command._say_that_it_ends(KeyboardInterrupt)
    assert capsys.readouterr().out == "stopping ...\n"


@pytest.mark.parametrize("error", [PipelineError("no memory"), ValueError("no memory")])
def test_without_spark_the_demo_goes_on_and_says_why(
    spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("barnabas.pipelines.framework.spark_start.start", fail)
    made = SparkStory(tmp_path)
    until(lambda: made.phase == "missing", "it fails")
    made.close()
    assert made.missing.endswith("no memory")


def test_why_spark_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise PipelineError("there is no Java 17")

    monkeypatch.setattr("barnabas.pipelines.java.find_java", none)
    assert unavailable() == "there is no Java 17"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert unavailable() == "pyspark is not installed: pip install 'barnabas[spark]'"
    assert command._spark(command.Asked(None, 0, None, 60)) == (
        None,
        "pyspark is not installed: pip install 'barnabas[spark]'",
    )


def test_too_short_for_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.cli.demo.spark.unavailable", lambda: "")
    assert command._spark(command.Asked(10, 0, None, 60)) == (
        None,
        "too short for the pipelines, which run on Spark: try 60 seconds",
    )


def test_where_results_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert command._results(None) == tmp_path / "barnabas" / "demo"
    assert command._results(str(tmp_path / "kept")) == tmp_path / "kept" / "pipelines"


@pytest.mark.parametrize(
    ("now", "ends", "spark", "first_result", "over"),
    [
        (14.0, None, None, None, False),
        (15.0, None, None, None, True),
        (5.0, 7.0, None, None, True),  # the last seconds are for the farewell
        (70.0, None, story(), None, False),  # no recommendation has come yet
        (70.0, None, story(), 60.0, True),
        (62.0, None, story(), 60.0, False),  # people want to see some
        (100.0, 60.0, story(), None, True),
        (80.0, 60.0, story(), None, False),  # a busy machine is waited for
        (50.0, 60.0, story(), 30.0, True),
        (900.0, None, FETCHING, None, False),  # as long as the network needs
        (70.0, None, story(fetch_s=lambda: 50.0), 60.0, False),
        (110.0, None, story(fetch_s=lambda: 50.0), 60.0, True),
        (70.0, None, story(phase="missing", missing_since=60.0), None, False),  # the stream goes on for a while
        (75.0, None, story(phase="missing", missing_since=60.0), None, True),
    ],
)
def test_when_the_online_half_ends(
    now: float, ends: float | None, spark: Any, first_result: float | None, over: bool
) -> None:
    assert command._time_is_over(now, 0.0, ends, spark, first_result) is over


def test_the_watch_draws_until_the_offline_half_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "FRAME_S", 0.001)
    monkeypatch.setattr(command, "_time_is_over", lambda *_: True)
    done, drawn = list[str](), list[int]()
    node: Any = SimpleNamespace(check=lambda: None)
    flow: Any = SimpleNamespace(check=lambda: None, stop_writing=lambda: done.append("stopped"), read=1, written=1)
    picture: Any = SimpleNamespace(draw=lambda: drawn.append(1))
    spark = story()
    spark.alive = iter([True, True, False]).__next__
    spark.go_on_to_later = lambda: done.append("later")
    clock = command.Clock(None, 0.0, None)
    command._watch(node, flow, spark, picture, 0.0, clock)
    assert done == ["stopped", "later"] and len(drawn) == 4
    command._watch(node, flow, None, picture, 0.0, clock)
    assert done == ["stopped", "later", "stopped"]
    command._watch(node, flow, story(phase="starting"), picture, 0.0, command.Clock(1.0, 0.0, None))
    assert done == ["stopped", "later", "stopped", "stopped"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--seconds", "-1"), "--seconds must be more than 0"),
        (("nothing",), "there is no story 'nothing'. There are: activity, bus, disaster."),
        (("--install",), "--install is of the story bus. Try: barnabas demo bus"),
        (("disaster", "--data", "x"), "--data is of the stories activity and bus"),
    ],
)
def test_words_that_make_no_sense(typed: Typed, words: tuple[str, ...], said: str) -> None:
    found = typed("demo", *words)
    assert found.code == 2 and said in found.err and found.err.count("\n") == 1


def test_events_in_a_few_words() -> None:
    assert told("search", {"field": "baker", "city": "Oslo", "found": 3}) == "“baker in Oslo”, 3 found"
    assert told("job", {"company": "Mill", "title": "baker", "city": "Oslo"}) == "Mill seeks a baker in Oslo"
    assert told("view", {"company": "Mill"}) == "Mill" and json.dumps(view._sparkline([0, 1, 7]))
