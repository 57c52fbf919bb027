"""A progress line on stderr: how many records, how fast, and how much is left when the size is known."""

from __future__ import annotations

import time

from barnabas.cli.common import human

REDRAW_S = 0.1


class Progress:
    """rich draws it; updates are thinned out to ten a second, because drawing costs more than sending."""

    def __init__(self, total_bytes: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        told: list[ProgressColumn] = [TextColumn("{task.fields[told]}")]
        bar: list[ProgressColumn] = [BarColumn(bar_width=30), TextColumn("{task.percentage:>3.0f} %")]
        columns = [*bar, *told, TimeRemainingColumn()] if total_bytes else told
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
        self._task = self._bar.add_task("", total=total_bytes, told="")
        self._bytes = 0
        self._begun = self._drawn = time.monotonic()
        self._bar.start()

    def update(self, records: int, more_bytes: int) -> None:
        self._bytes += more_bytes
        now = time.monotonic()
        if now - self._drawn < REDRAW_S:
            return
        self._drawn = now
        seconds = now - self._begun
        told = f"{records:,} records  {human.rate(records, seconds)}  {human.size(self._bytes / seconds)}/s"
        self._bar.update(self._task, completed=self._bytes, told=told, refresh=True)

    def close(self) -> None:
        self._bar.stop()
