"""What `barnabas pipeline run` does: from the words of a person to a run, its screen, and the summary at the end."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.common import human, moments
from barnabas.cli.common.failure import usage
from barnabas.cli.common.screen import note, paint, say

if TYPE_CHECKING:
    from barnabas.pipelines.framework.outcome import Outcome
    from barnabas.pipelines.framework.progress.watching import Watch
    from barnabas.pipelines.framework.running import Run, Wanted

TICK_S = 0.2
TELL_S = 1.0
READ_BACK_S = 1.0  # after the last batch, for its results to be read back


@dataclass(frozen=True)
class Asked:
    """The options of the command, as they were given."""

    name: str
    now: bool | None
    begin: str | None
    end: str | None
    master: str
    once: bool
    generate: float | None
    seconds: float | None
    options: dict[str, str]
    topics: dict[str, str]
    source: dict[str, str]
    conf: dict[str, str]
    fresh: bool
    exactly_once: bool
    quiet: bool
    home: Path
    bootstrap: str
    checkpoints: str = ""


def run_pipeline(asked: Asked) -> int:
    from barnabas.pipelines.framework import declarative
    from barnabas.pipelines.framework.running import opened

    if declarative.is_one(Path(asked.name)):
        _no_more_than(asked)
        declarative.run(
            Path(asked.name), asked.home, asked.bootstrap, asked.master, asked.conf, _say_event, asked.fresh
        )
        return 0
    wanted = _wanted(asked)
    told = (lambda _: None) if asked.quiet else (lambda words: note(f"{words} ..."))
    with opened(wanted, told) as run:
        if not wanted.now:
            run.house.tell("later", {**run.state, "phase": "working", "told_at": time.time()})
            outcome = run.later()
            _tell_outcome(outcome, wanted, time.time() - run.state["begun_at"])
            return 0
        return _stream(run, asked)


def _say_event(words: str) -> None:
    say(words)
    sys.stdout.flush()


def _no_more_than(asked: Asked) -> None:
    """What a folder of Declarative Pipelines has no use for is refused, not ignored."""
    given: dict[str, object] = {
        "--from": asked.begin,
        "--to": asked.end,
        "--generate": asked.generate,
        "--seconds": asked.seconds,
    }
    given |= {"--set": asked.options, "--topic": asked.topics, "--client": asked.source}
    given |= {"--checkpoints": asked.checkpoints}
    for flag, value in given.items():
        if value:
            raise usage(f"{flag} is not for a folder of Declarative Pipelines", "They run over what is there, once.")


def _stream(run: Run, asked: Asked) -> int:
    from barnabas.cli.pipeline.screen import open_view
    from barnabas.pipelines.framework.progress.watching import Watch

    with Watch(run) as watch, _feeding(run, asked) as fed, _until_told() as ended:
        run.start_now()
        state = {**run.state, "spark_s": round(run.spark_s, 2)}
        deadline = time.monotonic() + asked.seconds if asked.seconds else None
        with open_view(run, watch, asked.quiet) as view:
            next_tell = 0.0
            while not ended.is_set() and run.check():
                view.draw()
                if time.monotonic() >= next_tell:
                    next_tell = time.monotonic() + TELL_S
                    watch.tell(state)
                if deadline is not None and time.monotonic() > deadline:
                    break
                ended.wait(TICK_S)
            if not ended.is_set():
                time.sleep(READ_BACK_S)
        _summary(run, watch, fed, time.time() - state["begun_at"])
    return 0


def _wanted(asked: Asked) -> Wanted:
    from barnabas.pipelines.errors import PipelineError
    from barnabas.pipelines.framework import registry
    from barnabas.pipelines.framework.running import Wanted

    pipeline = registry.find(asked.name)
    now = pipeline.has("now") if asked.now is None else asked.now
    if asked.generate and not pipeline.has("generate"):
        raise PipelineError(f"{pipeline.name} has no generator of data")
    return Wanted(
        pipeline,
        asked.bootstrap,
        asked.home,
        now,
        _time(asked.begin, "--from"),
        _time(asked.end, "--to"),
        asked.once,
        asked.master,
        make_inputs=asked.generate is not None,
        fresh=asked.fresh,
        topics=asked.topics,
        options=asked.options,
        source=asked.source,
        conf=asked.conf,
        exactly_once=asked.exactly_once,
        checkpoints=asked.checkpoints,
    )


def _time(words: str | None, flag: str) -> int | None:
    """Milliseconds since 1970; `beginning` and `end` leave that side open."""
    if words is None:
        return None
    now_ms = int(time.time() * 1000)
    try:
        place = moments.parse(words, now_ms)
    except ValueError:
        place = moments.Position("offset")
    if place.kind == "beginning":
        return 0 if flag == "--from" else None
    if place.kind == "end":
        return None if flag == "--to" else now_ms
    if place.kind != "time":
        raise usage(f"{flag} {words!r} is not a time", "Write 2026-05-01T10:00, 10:30, -2h, today or yesterday.")
    return place.value


@contextmanager
def _until_told() -> Iterator[threading.Event]:
    """Ctrl-C and `barnabas pipeline stop` end a run cleanly; a second one ends it at once."""
    ended = threading.Event()

    def on_signal(*_: object) -> None:
        if ended.is_set():
            os._exit(130)
        ended.set()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _feeding(run: Run, asked: Asked) -> Iterator[list[int]]:
    """Write believable data beside the run, when it was asked for. Gives the count, in a list to look into."""
    from barnabas.pipelines.framework import records

    count = [0]
    if asked.generate is None:
        yield count
        return
    wanted, ends = run.wanted, threading.Event()
    begun_ms = int(time.time() * 1000)
    made = wanted.pipeline.generate(begun_ms & 0xFFFF, begun_ms, asked.generate)

    def one_more(_: object) -> None:
        count[0] += 1

    def feed() -> None:
        records.feed(wanted.bootstrap, made, lambda: not ends.is_set(), wanted.topic, one_more)

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    try:
        yield count
    finally:
        ends.set()
        feeder.join(10)


def _tell_outcome(outcome: Outcome, wanted: Wanted, seconds: float) -> None:
    for line in outcome.lines:
        say(line)
    if outcome.lines:
        say()
    numbers = ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in outcome.numbers.items())
    say(f"{paint(wanted.pipeline.name, 'bold')} --later took {human.duration(round(seconds, 1))}: {numbers}")
    for what, path in outcome.files.items():
        say(f"{paint(what.ljust(9), 'dim')} {path}")
    sys.stdout.flush()


def _summary(run: Run, watch: Watch, fed: list[int], seconds: float) -> None:
    snapshot = watch.look()
    rows = sum(query.rows for query in snapshot.queries[:1])
    batches = sum(query.batches for query in snapshot.queries[:1])
    say(
        f"{paint(run.wanted.pipeline.name, 'bold')} --now ran {human.duration(round(seconds, 1))}: "
        f"{human.plural(rows, 'row')} in {human.plural(batches, 'batch', 'batches')}, "
        f"{human.plural(watch.results, 'result')}, {human.plural(watch.bad, 'dead letter')}, "
        f"{human.plural(snapshot.late, 'late row')} left out"
    )
    if rows and not watch.results and run.wanted.pipeline.writes:
        say(paint("no result yet: a window or a join tells its results when the watermark has passed them", "yellow"))
    told = [f"Spark's own start {human.duration(round(run.spark_s, 1))}"]
    if watch.first_result_s is not None:
        told.append(f"first result {human.duration(round(watch.first_result_s, 1))} after it")
    if fed[0]:
        told.append(f"{fed[0]:,} records written for it")
    say(paint(", ".join(told), "dim"))
    if run.wanted.shared_url:
        say(f"{paint('progress', 'dim')} {run.wanted.shared_url}")
    what = "tables" if run.wanted.shared_url else "progress and tables"
    say(f"{paint(what, 'dim')} {run.house.folder}")
    for name, why in run.troubles.items():
        say(paint(f"{name}: {why}", "yellow"))
    sys.stdout.flush()
