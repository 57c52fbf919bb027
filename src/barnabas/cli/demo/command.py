"""`barnabas demo`: one of three stories. `bus` and `disaster` are in folders of their own; `activity`, which `make run`
runs, is here: the whole story, from a node to a report, in about a minute.

A node; a day of activity in its log and more of it flowing in; jobs recommended to members seconds after what they
do; then the offline half: a page of insights and a heap of digest e-mails; and what to try next. The node is a child
process, as it would be in life, on port 9092, or on a free one when that is taken. Its data lie in a temporary folder
that goes with it, unless --data keeps them; the report stays. With --seconds it ends by itself with exit code 0.
Without Java or Spark it tells the node's part of the story, and what is missing; with --requirements it fetches them.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common.failure import usage
from barnabas.cli.common.screen import say

if TYPE_CHECKING:
    from barnabas.cli.demo.node import DemoNode
    from barnabas.cli.demo.spark import SparkStory
    from barnabas.cli.demo.stream import Stream
    from barnabas.cli.demo.view import View

STREAM_S = 60.0  # a minute of activity
NODE_ONLY_S = 15.0  # where there is no Spark
SHORTEST_S = 2.0
LATER_S = 20.0  # of --seconds, kept for the offline half
FAREWELL_S = 2.0  # of --seconds, kept for the last screen
SPARK_NEEDS_S = 35.0  # with less there is no point in starting it
SHOW_S = 8.0  # of recommendations at least, when Spark was slow to start
GRACE_S = 30.0  # on a busy machine Spark takes long: better a little later than no story
FRAME_S = 0.1


@dataclass(frozen=True)
class Asked:
    """What a person asked for."""

    seconds: float | None
    port: int
    data: str | None
    rate: int
    requirements: Path | None = None


@dataclass(frozen=True)
class Clock:
    """When --seconds are over. They stand still while Spark is fetched: how long that takes is the network's affair."""

    seconds: float | None
    begun: float
    spark: SparkStory | None

    def ends(self) -> float | None:
        if self.seconds is None:
            return None
        return self.begun + self.seconds + (self.spark.fetch_s() if self.spark is not None else 0.0)


def demo(
    story: Annotated[
        str, typer.Argument(metavar="STORY", help="activity, bus or disaster.", show_default=True)
    ] = "activity",
    seconds: Annotated[
        float | None, typer.Option("--seconds", "-s", metavar="N", help="End by itself after so many seconds.")
    ] = None,
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, metavar="PORT", help="Port of the node.")
    ] = 9092,
    data: Annotated[
        str | None, typer.Option("--data", "-d", metavar="DIR", help="Keep records and results in this folder.")
    ] = None,
    rate: Annotated[int, typer.Option("--rate", "-r", min=1, max=20_000, metavar="N", help="Events a second.")] = 60,
    no_spark: Annotated[
        bool, typer.Option("--no-spark", help="bus: enrich by a Python function; it starts faster.")
    ] = False,
    install: Annotated[
        bool, typer.Option("--install", help="bus: install Debian packages that are missing, as root.")
    ] = False,
    requirements: Annotated[
        str | None,
        typer.Option(
            "--requirements", metavar="DIR", help="activity: install what Spark needs, by the pins of this folder."
        ),
    ] = None,
) -> None:
    """Show a whole story: a node, a stream, recommendations, a report.

    Then the node stays up to play with, until Ctrl-C.

    With --requirements (make run gives it) Spark and Java are fetched into this environment where they are missing,
    while the node and the stream run; --seconds are counted from when they are there. Below 35 seconds there is no
    time for Spark, and nothing is fetched.

    The story bus is that of a company's data: orders from PostgreSQL, enriched, into OpenSearch, S3 and DuckDB; sensors
    by MQTT; logs. It starts the servers that it can find, says what it leaves out, and compares the counts at every
    end: after so many seconds, or at Ctrl-C.

    The story disaster is a drill: a cluster is lost under load, a linked one takes over, the first one comes back,
    and the books are compared.

    \b
    Example:
      barnabas demo
      barnabas demo --seconds 60
      barnabas demo --rate 500 --data demo-data
      barnabas demo bus --seconds 30
      barnabas demo disaster
    """
    if seconds is not None and seconds <= 0:
        raise usage("--seconds must be more than 0")
    if story == "bus":
        from barnabas.cli.demo.bus import story as bus

        asked = bus.Asked(seconds, port, data, rate, not no_spark, install)
        raise typer.Exit(0 if bus.tell_the_story(asked) else 1)
    if story not in ("activity", "disaster"):
        raise usage(f"there is no story {story!r}", "There are: activity, bus, disaster.")
    if no_spark or install:
        raise usage(f"{'--no-spark' if no_spark else '--install'} is of the story bus", "Try: barnabas demo bus")
    if story == "disaster":
        from barnabas.cli.demo.disaster import story as disaster

        if data is not None:
            raise usage("--data is of the stories activity and bus", "The drill's folders go when it ends.")
        raise typer.Exit(0 if disaster.tell_the_story(disaster.Asked(seconds, port, rate)) else 1)
    if requirements is not None and not (Path(requirements) / "run.txt").is_file():
        raise usage(
            f"there is no run.txt in {requirements}", "--requirements takes the folder requirements of a checkout"
        )
    _activity(Asked(seconds, port, data, rate, Path(requirements) if requirements is not None else None))


def _activity(asked: Asked) -> None:
    from barnabas.cli.demo.console import DemoConsole
    from barnabas.cli.demo.node import DemoNode
    from barnabas.cli.demo.stream import Stream
    from barnabas.cli.demo.view import farewell, open_view

    begun = time.monotonic()
    signal.signal(signal.SIGTERM, _on_term)
    with ExitStack() as stack:
        spark, missing = _spark(asked)  # the slowest to start
        if spark is not None:
            stack.callback(spark.close)
        clock = Clock(asked.seconds, begun, spark)
        node = stack.enter_context(DemoNode(asked.port, asked.data))
        console = DemoConsole(node.bootstrap, _results(asked.data))
        stack.callback(console.stop)
        if spark is not None:
            stack.callback(spark.close)  # before the node goes, too: its queries would wait for it
        stack.push(_say_that_it_ends)
        _make_topics(node.bootstrap)
        with open_view(node, spark, console.wait()) as view:
            stream = stack.enter_context(Stream(node.bootstrap, asked.rate))
            if spark is not None:
                spark.sent_ms = stream.sent_ms
                spark.go_on_with(node.bootstrap)
            view.show(stream)
            _watch(node, stream, spark, view, time.monotonic(), clock)
        stream.close()
        farewell(node, stream, spark, missing, asked.seconds, console.address)
        sys.stdout.flush()
        try:
            _stay(node, clock.ends())
        except KeyboardInterrupt:  # here it is the way to end, not a way to break off
            say("\nstopped")


def _say_that_it_ends(kind: type[BaseException] | None, *_: object) -> None:
    """Spark takes seconds to end."""
    if kind is KeyboardInterrupt:
        say("stopping ...")
        sys.stdout.flush()


def _make_topics(bootstrap: str) -> None:
    from barnabas.pipelines.activity import PIPELINE
    from barnabas.pipelines.framework import topics

    topics.prepare(bootstrap, PIPELINE, str, make_inputs=True, now=True)


def _spark(asked: Asked) -> tuple[SparkStory | None, str]:
    """The pipeline's part, or one line that says why it is left out."""
    from barnabas.cli.demo.fetch import Fetch
    from barnabas.cli.demo.spark import SparkStory, unavailable

    fetch, home = None, _results(asked.data)
    if asked.requirements is not None and Fetch.is_needed(asked.requirements):
        fetch = Fetch(asked.requirements, home / "fetching.log")
    missing = unavailable() if fetch is None else ""
    if missing:
        return None, missing
    if asked.seconds is not None and asked.seconds < SPARK_NEEDS_S:
        return None, "too short for the pipelines, which run on Spark: try 60 seconds"
    return SparkStory(home, fetch), ""


def _results(data: str | None) -> Path:
    """Where the report stays when the node's own folder goes."""
    if data is not None:
        return Path(data).expanduser().absolute() / "pipelines"
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "barnabas" / "demo"


def _on_term(*_: object) -> None:
    """As Ctrl-C, so that the node and its folder go with us."""
    raise KeyboardInterrupt


def _stay(node: DemoNode, ends: float | None) -> None:
    while ends is None or time.monotonic() < ends:
        node.check()
        time.sleep(FRAME_S if ends is None else min(FRAME_S, max(0.0, ends - time.monotonic())))


def _watch(node: DemoNode, stream: Stream, spark: SparkStory | None, view: View, begun: float, clock: Clock) -> None:
    """Draw the online half until it is time for the offline one, then that until it is done."""
    first_result = None
    while True:
        now, ends = time.monotonic(), clock.ends()
        node.check()
        stream.check()
        view.draw()
        if spark is not None and spark.recommendations and first_result is None:
            first_result = now
        if _time_is_over(now, begun, ends, spark, first_result):
            break
        time.sleep(FRAME_S)
    stream.stop_writing()
    if spark is None or spark.phase == "missing":
        _catch_up(stream, view)
        return
    if spark.phase == "starting" and ends is not None:
        return  # there is no time left for it; the farewell says so
    spark.go_on_to_later()
    while spark.alive() and spark.phase != "done":
        node.check()
        view.draw()
        time.sleep(FRAME_S)
    view.draw()


def _time_is_over(
    now: float, begun: float, ends: float | None, spark: SparkStory | None, first_result: float | None
) -> bool:
    if spark is None or spark.phase == "missing":
        alone = begun if spark is None else max(begun, spark.missing_since)
        until = alone + NODE_ONLY_S
        return now >= (until if ends is None else min(until, max(alone + SHORTEST_S, ends - FAREWELL_S)))
    if spark.phase == "fetching":
        return False
    if ends is None:
        return first_result is not None and now >= max(begun + spark.fetch_s() + STREAM_S, first_result + SHOW_S)
    if first_result is None:
        return now >= ends + GRACE_S
    return now >= max(ends - LATER_S, first_result + SHOW_S)


def _catch_up(stream: Stream, view: View) -> None:
    deadline = time.monotonic() + 2
    while stream.read < stream.written and time.monotonic() < deadline:
        view.draw()
        time.sleep(FRAME_S)
    view.draw()
