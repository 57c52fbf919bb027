"""What the demo shows: on a terminal a small live screen, in a pipe a line a second; and at the end what to do next."""

from __future__ import annotations

import shutil
import sys
import time
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from barnabas.cli.common import human
from barnabas.cli.common.screen import paint, say
from barnabas.cli.demo.pace import milliseconds

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from barnabas.cli.demo.node import DemoNode
    from barnabas.cli.demo.spark import SparkStory
    from barnabas.cli.demo.stream import Stream

_BARS = "▁▂▃▄▅▆▇█"
_COLOURS = {"search": "cyan", "view": "blue", "job": "yellow"}
EVENT_ROWS = 7
TIP_ROWS = 9
SAMPLE_S = 0.5
RATE_S = 2.0


class View(Protocol):
    def show(self, stream: Stream) -> None: ...
    def draw(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


def open_view(node: DemoNode, spark: SparkStory | None, console: str) -> View:
    took = human.duration(node.started_s)
    if node.port_was_taken:
        say(paint(f"port {node.wanted_port} is taken, so the node took a free one", "yellow"))
    say(f"a node is up on {paint(node.bootstrap, 'green')}  {paint(f'ready in {took}', 'dim')}")
    if console:
        say(f"the console, in your browser: {paint(console, 'green')}")
    sys.stdout.flush()
    return _Live(spark) if sys.stdout.isatty() else _Lines(spark)


class _Meter:
    """How fast a counter grows, over the last seconds."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])

    def rate(self, value: int) -> str:
        now = time.monotonic()
        self._points.append((now, value))
        while len(self._points) > 2 and now - self._points[0][0] > RATE_S:
            self._points.popleft()
        (first, before), (last, after) = self._points[0], self._points[-1]
        return human.rate(after - before, last - first) if last > first else "0/s"


class _Shown:
    """What both views know: the stream, once there is one, and Spark's part, where there is one."""

    def __init__(self, spark: SparkStory | None) -> None:
        self.spark = spark
        self.stream: Stream | None = None
        self.written, self.read = _Meter(), _Meter()

    def show(self, stream: Stream) -> None:
        self.stream = stream
        say(f"a day of activity is in its log ({stream.past:,} events), and more of it flows in")
        sys.stdout.flush()

    def spark_told(self) -> str:
        """Where Spark's part of the story is."""
        spark = self.spark
        if spark is None:
            return ""
        if spark.phase == "missing":
            return f"without the pipelines: {spark.missing}"
        if spark.phase == "fetching":
            return spark.fetch.bar() if spark.fetch is not None else ""
        if spark.phase == "starting":
            return f"Spark is starting, {time.monotonic() - spark.begun:.0f} s"
        if spark.phase == "now" and not spark.recommendations:
            return "Spark is up and reads the day so far"
        if spark.phase == "later":
            return "working through the day: the report and the digests"
        pace = spark.pace.told(time.monotonic()) or "of what happened before Spark was up"
        return f"{spark.recommendations:,} recommendations: {pace}"


class _Lines(_Shown):
    def __init__(self, spark: SparkStory | None) -> None:
        super().__init__(spark)
        self._next = time.monotonic() + 1
        self._said = set[str]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def _say_once(self) -> None:
        """What is fetched, why Spark is missing, and what it does in its slower way: a line of their own."""
        spark = self.spark
        if spark is None:
            return
        while spark.fetch is not None and spark.fetch.said:
            say(spark.fetch.said.popleft())
        for told in (self.spark_told() if spark.phase == "missing" else "", spark.notice):
            if told and told not in self._said:
                self._said.add(told)
                say(paint(told, "yellow"))

    def _doing(self) -> str:
        spark = self.spark
        if spark is None or spark.phase == "missing":
            return ""
        return spark.fetch.short() if spark.phase == "fetching" and spark.fetch is not None else self.spark_told()

    def draw(self) -> None:
        if time.monotonic() < self._next or self.stream is None:
            return
        self._next += 1
        from barnabas.cli.demo.stream import told

        stream, spark = self.stream, self.spark
        self._say_once()
        if spark is None or spark.phase in ("fetching", "starting", "missing"):
            line = f"written {stream.written:>7,}  {self.written.rate(stream.written):>8}"
            line += f"   read {stream.read:>7,}  {self.read.rate(stream.read):>8}   {self._doing()}"
            if stream.recent:
                _, kind, value = stream.recent[-1]
                line += f"   {kind} {told(kind, value)}"
            say(line.rstrip())
        else:
            line = f"written {stream.written:>7,}   {self.spark_told()}"
            if spark.recent and spark.phase == "now":
                line += f"   {spark.recent[-1][1]}"
            say(line)
        sys.stdout.flush()


class _Live(_Shown):
    """rich keeps the screen still; nothing scrolls and nothing is left over."""

    def __init__(self, spark: SparkStory | None) -> None:
        from rich.console import Console
        from rich.live import Live

        super().__init__(spark)
        self._samples: deque[int] = deque([0], maxlen=200)
        self._sampled = (time.monotonic(), 0)
        self._live = Live(console=Console(highlight=False), auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        return self

    def show(self, stream: Stream) -> None:
        super().show(stream)
        self._live.start()

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def draw(self) -> None:
        if self.stream is None:
            return
        now, read = time.monotonic(), self.stream.read
        if now - self._sampled[0] >= SAMPLE_S:
            self._samples.append(read - self._sampled[1])
            self._sampled = (now, read)
        self._live.update(self._picture(self.stream), refresh=True)

    def _picture(self, stream: Stream) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        columns = shutil.get_terminal_size((80, 24)).columns
        head = Text.assemble(
            "\n", ("written ", "dim"), f"{stream.written:,}", ("  " + self.written.rate(stream.written), "bold"),
            ("     read ", "dim"), f"{stream.read:,}", ("  " + self.read.rate(stream.read), "bold"),
            ("     on the way ", "dim"), "-" if stream.delay_ms is None else f"{stream.delay_ms:.0f} ms", "\n",
        )  # fmt: skip
        head.append(_sparkline(list(self._samples)[-(columns - 2) :]) + "\n", "green")
        parts: list[RenderableType] = [head, self._events(stream)]
        if self.spark_told():
            parts.append(Text("\n" + self.spark_told(), "bold"))
            if self.spark is not None and self.spark.notice:
                parts.append(Text(self.spark.notice, "yellow"))
            parts.extend(self._tips(columns))
        return Group(*parts)

    def _events(self, stream: Stream) -> RenderableType:
        from rich.table import Table
        from rich.text import Text

        from barnabas.cli.demo.stream import told

        rows = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
        for width in (12, 6, 11):
            rows.add_column(no_wrap=True, min_width=width)
        rows.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        for stamp, kind, value in list(stream.recent)[-EVENT_ROWS:]:
            who = f"member {value['member']}" if "member" in value else ""
            rows.add_row(
                Text(human.moment(stamp)[11:], "dim"), Text(kind, _COLOURS.get(kind, "")), Text(who, "dim"),
                Text(told(kind, value)),
            )  # fmt: skip
        return rows

    def _tips(self, columns: int) -> list[Text]:
        from rich.text import Text

        lines = []
        for at_ms, words, delay in list(self.spark.recent)[-TIP_ROWS:] if self.spark is not None else ():
            after = f"{milliseconds(delay):>8}" if delay is not None else " " * 8
            room = max(20, columns - 26)
            words = words if len(words) <= room else words[: room - 1] + "…"
            lines.append(Text.assemble((human.moment(at_ms)[11:], "dim"), (f" {after}  ", "dim"), (words, "green")))
        return lines


def _sparkline(samples: list[int]) -> str:
    top = max([1, *samples])
    return "".join(_BARS[min(len(_BARS) - 1, sample * len(_BARS) // (top + 1))] for sample in samples)


def farewell(
    node: DemoNode, stream: Stream, spark: SparkStory | None, missing: str, seconds: float | None, console: str
) -> None:
    """What happened, where the results are, and what a person can do with the node that stays."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in stream.kinds.most_common())
    delay = "" if stream.delay_ms is None else f", {stream.delay_ms:.0f} ms on the way"
    say()
    say(f"{human.plural(stream.written, 'event')} written, {stream.read:,} read{delay}  {paint(kinds, 'dim')}")
    _tell_spark(spark, missing, seconds)
    say()
    where = paint(node.bootstrap, "green")
    if seconds is None:
        look = f", its console on {paint(console, 'green')}" if console else ""
        say(f"The node is still up on {where}{look}. Try, from another terminal:")
    else:
        say(f"The node on {where} stops now. Without a number of seconds it stays; then try, from another terminal:")
    flag = "" if node.bootstrap == "127.0.0.1:9092" else f" -b {node.bootstrap}"
    lines = [
        f"barnabas consume activity.searches --from -10 --keys --timestamps{flag}",
        f"barnabas topic list{flag}",
        f"barnabas group describe demo{flag}",
        f"echo hello | barnabas produce greetings{flag}",
        f"kcat -b {node.bootstrap} -t activity.jobs -C -o -10 -e",
    ]
    if spark is not None and spark.outcome is not None:
        lines[3:4] = [
            f"barnabas consume activity.recommendations --from -10{flag}",
            f"barnabas pipeline run activity --generate 200{flag}",
            "barnabas pipeline new mine        # one of your own, in a file",
        ]
    if shutil.which("barnabas") is None:  # `make run` put it into a venv that the other terminal does not know
        lines.insert(0, f'export PATH="{Path(sys.executable).parent}:$PATH"')
    for line in lines:
        say(f"  {line}")
    say()
    ends = "Ctrl-C stops it. " if seconds is None else ""
    fate = f"Its records stay in {node.data}." if node.kept else "Its records go with it (barnabas up keeps them)."
    say(paint(f"{ends}{fate}", "dim"))


def _tell_spark(spark: SparkStory | None, missing: str, seconds: float | None) -> None:
    if spark is None or spark.missing:
        say(paint(f"without the pipelines: {missing or (spark.missing if spark else '')}", "yellow"))
        return
    if spark.phase == "starting":
        say(paint(f"Spark was not up yet: try more than {seconds:.0f} seconds", "yellow"))
        return
    found = spark.pace.whole()
    since = "the start" if spark.fetch is None else "Spark had come"
    first = "" if spark.first_s is None else f"; the first of a live event {spark.first_s:.0f} s after {since}"
    delay = "" if found is None else f", then p50 {milliseconds(found[0])} and p99 {milliseconds(found[1])} after each"
    say(f"{human.plural(spark.recommendations, 'recommendation')} made{first}{delay}")
    if spark.notice:
        say(paint(spark.notice, "yellow"))
    outcome = spark.outcome
    if outcome is None:
        return
    numbers = outcome.numbers
    say(
        f"{numbers['members']:,} members in {numbers['sessions']:,} sessions; "
        f"{human.plural(int(numbers['digests']), 'digest')} written"
    )
    say()
    for line in outcome.lines:
        say(f"  {line}")
    say()
    for what, path in outcome.files.items():
        say(f"{paint(what.ljust(9), 'dim')} {path.as_uri() if path.suffix == '.html' else path}")
    table = spark.folder / "tables" / "recommendations"
    say(f"{paint('table'.ljust(9), 'dim')} {table}  (Parquet, {human.plural(int(numbers['reloaded']), 'row')})")
