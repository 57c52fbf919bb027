"""How a running pipeline looks: on a terminal a still screen, in a pipe a line every two seconds.

Rows a second, lag in records and in seconds, the time of a batch, the last results; a record that did not fit the
schema is shown with its place and the reason.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from barnabas.cli.common import human
from barnabas.cli.common.screen import paint, quoted, say

if TYPE_CHECKING:
    from rich.console import RenderableType

    from barnabas.pipelines.framework.progress.watching import Shown, Snapshot, Watch
    from barnabas.pipelines.framework.running import Run

LINE_S = 2.0
FRAME_S = 0.5
RESULTS = 10
LETTERS = 3
VALUE_SHOWN = 200


class View(Protocol):
    def draw(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


def open_view(run: Run, watch: Watch, quiet: bool) -> View:
    if quiet:
        return Silent()
    return Screen(run, watch) if sys.stdout.isatty() else Lines(run, watch)


class Silent:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def draw(self) -> None:
        return None


class Lines(Silent):
    """One line every two seconds, and one for each bad record as it comes."""

    def __init__(self, run: Run, watch: Watch) -> None:
        self._run, self._watch = run, watch
        self._next = time.monotonic()
        self._letters = 0
        self._troubles: dict[str, str] = {}
        self._notice = ""

    def __exit__(self, *_: object) -> None:
        self._tell_letters()

    def draw(self) -> None:
        self._tell_letters()
        for name, why in self._run.troubles.items():
            if self._troubles.get(name) != why:
                say(f"{name}: {why}; starting it again")
        self._troubles = dict(self._run.troubles)
        if self._run.notice != self._notice:
            self._notice = self._run.notice
            if self._notice:
                say(self._notice)
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LINE_S
        snapshot = self._watch.look()
        batch = next((query.batch_ms for query in snapshot.queries if query.batch_ms is not None), None)
        told = [
            f"{time.monotonic() - self._watch.begun:6.0f} s",
            f"{human.rate(_rate(snapshot), 1):>9}",
            f"lag {lag_told(snapshot)}",
            f"batch {'-' if batch is None else f'{batch:,} ms'}",
            f"results {snapshot.results:,}",
            f"bad {snapshot.bad:,}",
            f"late {snapshot.late:,}",
        ]
        line = "  ".join(told)
        if self._watch.recent:
            line += f"  {result_told(self._run, self._watch.recent[-1])}"
        say(line)
        sys.stdout.flush()

    def _tell_letters(self) -> None:
        new = self._watch.bad - self._letters
        for letter in list(self._watch.dead)[-new:] if new else ():
            say(letter_told(letter))
        self._letters += new
        sys.stdout.flush()


class Screen(Silent):
    """rich keeps it still; at the end it goes, and the summary stays."""

    def __init__(self, run: Run, watch: Watch) -> None:
        from rich.console import Console
        from rich.live import Live

        self._run, self._watch = run, watch
        self._next = 0.0
        self._live = Live(console=Console(highlight=False), auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def draw(self) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + FRAME_S
            self._live.update(picture(self._run, self._watch), refresh=True)


def picture(run: Run, watch: Watch) -> RenderableType:
    """Head, queries, results, bad records."""
    from rich.console import Group
    from rich.text import Text

    snapshot = watch.look()
    up = human.duration(int(time.monotonic() - watch.begun))
    head = Text.assemble(
        "\n", (run.wanted.pipeline.name, "bold"), ("  now", "cyan"), (f"  on {run.wanted.bootstrap}, up {up}", "dim"),
        "\n\n", ("rows ", "dim"), (human.rate(_rate(snapshot), 1), "bold"), ("     lag ", "dim"),
        (lag_told(snapshot), "bold"), ("     results ", "dim"), (f"{snapshot.results:,}", "bold green"),
        ("     bad ", "dim"), (f"{snapshot.bad:,}", "bold red" if snapshot.bad else "bold"),
        ("     late ", "dim"), (f"{snapshot.late:,}", "bold yellow" if snapshot.late else "bold"), "\n",
    )  # fmt: skip
    parts: list[RenderableType] = [head, _queries(snapshot)]
    if snapshot.ui:
        parts.append(Text(f"\nSpark's own pages: {snapshot.ui}", "dim"))
    if run.notice:
        parts.append(Text(f"\n{run.notice}", "yellow"))
    if watch.recent:
        parts.append(Text("\nlast results", "dim"))
        for shown in list(watch.recent)[-RESULTS:]:
            parts.append(_row(shown.at_ms, result_told(run, shown), "green"))
    elif not any(query.batches for query in snapshot.queries):
        parts.append(Text("\nthe first batch is under way; Spark takes a few seconds for it", "dim"))
    if watch.dead:
        parts.append(Text("\nrecords that do not fit, now in the dead-letter topic", "dim"))
        for shown in list(watch.dead)[-LETTERS:]:
            parts.append(_row(shown.at_ms, letter_told(shown), "red"))
    parts.append(Text("\nCtrl-C stops it; it goes on from there the next time.", "dim"))
    return Group(*parts)


def _queries(snapshot: Snapshot) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("query")
    for title in ("batches", "rows", "rows/s", "late", "batch time", "state memory"):
        table.add_column(title, justify="right")
    table.add_column("", style="yellow", overflow="fold")
    for query in snapshot.queries:
        batch = "-" if query.batch_ms is None else human.duration(query.batch_ms / 1000)
        table.add_row(
            query.name, f"{query.batches:,}", f"{query.rows:,}", human.rate(query.rows_per_s, 1),
            f"{query.late:,}" if query.late else "", batch,
            human.size(query.state_bytes) if query.state_bytes else "", query.trouble,
        )  # fmt: skip
    return table


def _row(at_ms: int, told: str, style: str) -> RenderableType:
    from rich.text import Text

    room = max(20, shutil.get_terminal_size((100, 24)).columns - 16)
    told = told if len(told) <= room else told[: room - 1] + "…"
    return Text.assemble((human.moment(at_ms)[11:], "dim"), "  ", (told, style))


def _rate(snapshot: Snapshot) -> float:
    """Of the query that reads most: the others read the same records again, or its results."""
    return max((query.rows_per_s for query in snapshot.queries), default=0.0)


def lag_told(snapshot: Snapshot) -> str:
    if snapshot.lag_records is None:
        return "-"
    behind = "" if not snapshot.lag_seconds else f", {human.duration(round(snapshot.lag_seconds, 1))}"
    return f"{human.plural(snapshot.lag_records, 'record')}{behind}"


def result_told(run: Run, shown: Shown) -> str:
    try:
        value = json.loads(shown.value)
        return quoted(run.wanted.pipeline.tell(shown.topic, value))
    except (ValueError, KeyError, TypeError):
        return quoted(shown.value[:VALUE_SHOWN].decode(errors="replace"))


def letter_told(shown: Shown) -> str:
    """The bad record, where it was, and why it does not fit."""
    place = f"{shown.headers.get('topic', shown.topic)}-{shown.headers.get('partition', '?')}"
    value = quoted(shown.value[:VALUE_SHOWN].decode(errors="replace")) + ("…" if len(shown.value) > VALUE_SHOWN else "")
    why = shown.headers.get("error", "it does not fit")
    told = f"bad record at {place} offset {shown.headers.get('offset', '?')}: {value}  ({why.partition(' (')[0]})"
    return paint(told, "red") if not sys.stdout.isatty() else told
