"""The story of a company's data bus: servers, connectors, what happens in the company, and the counts at the end.

Whatever was started is stopped, in the opposite order, also at Ctrl-C and after errors: workers before what they write
to, and the node last.
"""

from __future__ import annotations

import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from barnabas.cli.common import link
from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.screen import note, paint, say
from barnabas.cli.demo.bus import screen
from barnabas.cli.demo.bus.commands import LoggedCommand, start_pipeline, start_worker
from barnabas.cli.demo.bus.company import CUSTOMERS, ENRICHED, ORDERS, SENSORS, Company
from barnabas.cli.demo.bus.counting.ends import Compared, compare
from barnabas.cli.demo.bus.counting.hops import Hops
from barnabas.cli.demo.bus.counting.search import SearchProbe
from barnabas.cli.demo.bus.counting.topics import TopicWatch
from barnabas.cli.demo.bus.definitions import PIPELINE, write_definitions
from barnabas.cli.demo.bus.producing.makers import Makers
from barnabas.cli.demo.bus.producing.sensors import Sensors
from barnabas.cli.demo.bus.producing.shop import CUSTOMER_COUNT
from barnabas.cli.demo.console import DemoConsole
from barnabas.cli.demo.node import DemoNode

DRAIN_S = 60.0
START_S = 120.0  # until the connectors have passed on what was there at the beginning
SPARK_START_S = 300.0  # on a busy machine it takes minutes
FRAME_S = 0.2
LAGS_S = 1.0
COUNT_S = 5.0
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Asked:
    seconds: float | None
    port: int
    data: str | None
    rate: float
    spark: bool
    install: bool


def tell_the_story(asked: Asked) -> bool:
    """Whether the counts agree."""
    before = {number: signal.signal(number, _interrupted) for number in _INTERRUPTS}
    try:
        with ExitStack() as stack:
            try:
                return _tell(asked, stack)
            finally:
                for number in _INTERRUPTS:  # from here on it only stops: one more would leave servers behind
                    signal.signal(number, signal.SIG_IGN)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def _tell(asked: Asked, stack: ExitStack) -> bool:
    work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="barnabas-demo-")))
    folder = _kept(asked.data) or work / "story"
    folder.mkdir(parents=True, exist_ok=True)
    company = Company(folder, work, asked.install)
    stack.callback(company.stop)
    company.launch()
    node = stack.enter_context(DemoNode(asked.port, str(folder / "node")))
    console = DemoConsole(node.bootstrap, folder / "pipelines")
    stack.callback(console.stop)
    company.wait()
    running = _Running(stack, asked, company, folder, node.bootstrap)
    screen.tell_start(node, console.wait(), company, running.enriched_by)
    running.start()
    if asked.seconds is None:
        screen.tell_try(node, company)
    running.live(asked.seconds, node.check)
    agree = screen.tell_counts(running.counts(), running.watch.problems())
    screen.tell_end(running.probe, folder if asked.data is not None else None)
    return agree


def _kept(data: str | None) -> Path | None:
    """The story begins with nothing: positions of an earlier one would not fit a new database."""
    if data is None:
        return None
    folder = Path(data).expanduser().absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise usage(f"--data {data} is not an empty folder", "The story begins with nothing: name a new one.")
    return folder


class _Running:
    """The node's side of the story: topics, connectors, the pipeline, and those who make something."""

    def __init__(self, stack: ExitStack, asked: Asked, company: Company, folder: Path, bootstrap: str) -> None:
        self._stack, self._company, self._folder, self._bootstrap = stack, company, folder, bootstrap
        self.on_spark, self.enriched_by = _enriching(company, asked.spark)
        self.watch = TopicWatch(bootstrap)
        stack.callback(self.watch.close)
        self.makers = Makers(company, asked.rate)
        stack.callback(self.makers.close)
        admin = stack.enter_context(link.admin(bootstrap))
        self.hops = Hops(company, self.makers, self.watch, admin, self.on_spark)
        self.probe: SearchProbe | None = None
        self._commands: list[LoggedCommand] = []

    def start(self) -> None:
        company, watch = self._company, self.watch
        files = write_definitions(company, self._bootstrap, company.definitions, self.on_spark)
        self._add(start_worker(files, self._bootstrap, self._folder / "connect.log"))
        shop, sensors = self.makers.shop, self.makers.sensors
        if shop is not None:
            there = watch.counts
            self._until(lambda: there[CUSTOMERS].rows == CUSTOMER_COUNT, "customers have come from PostgreSQL")
            if self.on_spark:
                note("Spark is starting ...")
                file, data = company.definitions / PIPELINE, self._folder / "pipelines"
                self._add(start_pipeline(file, self._bootstrap, data, self._folder / "spark.log"))
            self._until(lambda: there[ORDERS].records >= shop.made, "orders have come from PostgreSQL")
            patience_s = SPARK_START_S if self.on_spark else START_S
            self._until(lambda: there[ENRICHED].rows >= shop.made, "orders have been enriched", patience_s)
            if company.opensearch is not None:
                self.probe = SearchProbe(company.opensearch, shop)
                self._stack.callback(self.probe.close)
                # The first documents make the index, which takes seconds: a search would measure that.
                self._until(lambda: watch.written("orders-search") >= shop.made, "orders are in OpenSearch")
        if sensors is not None:
            self._until(lambda: self._is_subscribed(sensors), "the source has subscribed to MQTT")

    def live(self, seconds: float | None, check: Callable[[], None]) -> None:
        """Until it is time to end or Ctrl-C, and then until everything has arrived."""
        with _first_interrupt() as ending, screen.open_view(self.hops, self.probe) as view:
            self.makers.start()
            if self.probe is not None:
                self.probe.start()
            ends = None if seconds is None else time.monotonic() + seconds
            self._draw(view, "live", check, lambda: ending.is_set() or (ends is not None and time.monotonic() > ends))
            self.makers.finish()
            deadline = time.monotonic() + DRAIN_S
            self._draw(view, "ending", check, lambda: not self._on_the_way() or time.monotonic() > deadline)
        if late := self._on_the_way():
            say(paint(f"not everything had arrived after {DRAIN_S:.0f} s: see {', '.join(late)}", "yellow"))
        if self.probe is not None:
            self.probe.close()
        for command in reversed(self._commands):  # sinks write what they hold
            command.stop()

    def counts(self) -> list[Compared]:
        """What was just written to a topic may take a moment until it is read."""
        deadline = time.monotonic() + COUNT_S
        while True:
            found = compare(self._company, self.makers, self.watch)
            if not any(each.differing for each in found) or time.monotonic() > deadline:
                return found
            time.sleep(FRAME_S)

    def _draw(self, view: screen.View, phase: str, check: Callable[[], None], is_over: Callable[[], bool]) -> None:
        look_at = 0.0
        while True:
            check()
            self._check()
            if time.monotonic() >= look_at:
                self.hops.look()
                look_at = time.monotonic() + LAGS_S
            view.draw(phase)
            if is_over():
                return
            time.sleep(FRAME_S)

    def _is_subscribed(self, sensors: Sensors) -> bool:
        sensors.probe()
        return self.watch.counts[SENSORS].probes > 0

    def _on_the_way(self) -> list[str]:
        shop, found = self.makers.shop, self.hops.on_the_way()
        if not found:  # the lags may be from before the last record came
            self.hops.look()
            found = self.hops.on_the_way()
        if shop is not None and not found:
            made = shop.count()
            found = [each for each in (ORDERS, ENRICHED) if made != self._sum(each)]
        return found

    def _sum(self, topic: str) -> tuple[int, int]:
        return self.watch.counts[topic].rows, self.watch.counts[topic].cents

    def _add(self, command: LoggedCommand) -> None:
        self._commands.append(command)
        self._stack.callback(command.stop)

    def _check(self) -> None:
        self.makers.check()
        self.watch.check()
        for command in self._commands:
            command.check()

    def _until(self, is_so: Callable[[], bool], what: str, patience_s: float = START_S) -> None:
        deadline = time.monotonic() + patience_s
        while not is_so():
            self._check()
            if time.monotonic() > deadline:
                why = "; ".join(self.watch.problems()) or "no connector says why"
                raise Failure(f"it took more than {patience_s:.0f} s until {what}: {why}", "--data DIR keeps the logs.")
            time.sleep(FRAME_S)


def _enriching(company: Company, wanted: bool) -> tuple[bool, str]:
    """Whether by Spark, and by what, for people."""
    from barnabas.cli.demo.spark import unavailable

    if company.postgres is None:
        return False, ""
    function = "a Python function of a connector"
    if not wanted:
        return False, f"{function} (--no-spark)"
    missing = unavailable()
    return (False, f"{function}, without Spark: {missing}") if missing else (True, "a pipeline on Spark")


@contextmanager
def _first_interrupt() -> Iterator[threading.Event]:
    """The first Ctrl-C ends the story; the second breaks it off."""
    ending = threading.Event()

    def on_interrupt(*_: object) -> None:
        if ending.is_set():
            raise KeyboardInterrupt
        ending.set()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield ending
    finally:
        signal.signal(signal.SIGINT, before)
