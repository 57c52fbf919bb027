"""What `demo bus` shows: on a terminal a live table, in a pipe a line every two seconds; at the end the counts."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from barnabas.cli.common import human
from barnabas.cli.common.screen import Column, paint, say, table
from barnabas.cli.demo.bus.counting.search import found_in

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from barnabas.cli.demo.bus.company import Company
    from barnabas.cli.demo.bus.counting.ends import Compared, End
    from barnabas.cli.demo.bus.counting.hops import Hops
    from barnabas.cli.demo.bus.counting.search import SearchProbe
    from barnabas.cli.demo.node import DemoNode

_LINE_S = 2.0


class View(Protocol):
    def draw(self, phase: str) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


def open_view(hops: Hops, probe: SearchProbe | None) -> View:
    sys.stdout.flush()
    return _Live(hops, probe) if sys.stdout.isatty() else _Lines(hops, probe)


class _Lines:
    def __init__(self, hops: Hops, probe: SearchProbe | None) -> None:
        self._hops, self._probe = hops, probe
        self._next = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def draw(self, phase: str) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _LINE_S
        told = "  ".join(f"{each.name} {each.records_in():,}/{each.records_out():,}" for each in self._hops.all)
        found = found_in(self._probe) if self._probe is not None else ""
        say(f"{phase}: {told}" + (f"  {found}" if found else ""))
        sys.stdout.flush()


class _Live:
    def __init__(self, hops: Hops, probe: SearchProbe | None) -> None:
        from rich.console import Console
        from rich.live import Live

        self._hops, self._probe = hops, probe
        self._live = Live(console=Console(highlight=False), auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def draw(self, phase: str) -> None:
        self._live.update(self._picture(phase), refresh=True)

    def _picture(self, phase: str) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        rows = Table(box=None, padding=(0, 2), pad_edge=False, header_style="dim")
        for title, right in (("connector", 0), ("from", 0), ("to", 0), ("in", 1), ("out", 1), ("lag", 1)):
            rows.add_column(title, justify="right" if right else "left", no_wrap=True)
        for hop in self._hops.all:
            lag = self._hops.lag(hop)
            style = "green" if lag == 0 else "yellow"
            rows.add_row(
                Text(hop.name, "bold"), hop.start, hop.end, human.count(hop.records_in()),
                human.count(hop.records_out()), Text("-" if lag is None else human.count(lag), style),
            )  # fmt: skip
        found = found_in(self._probe) if self._probe is not None else ""
        return Group(Text(f"\n{phase}\n", "bold"), rows, Text(f"\n{found}", "green"))


def tell_start(node: DemoNode, console: str, company: Company, enriched_by: str) -> None:
    from barnabas.cli.demo.bus.company import took

    if node.port_was_taken:
        say(paint(f"port {node.wanted_port} is taken, so the node took a free one", "yellow"))
    rows = [("a node of Barnabas", node.bootstrap, f"{node.started_s:.1f} s")]
    if console:
        rows.append(("its console", console, ""))
    rows += [(each.title, each.address, took(each)) for each in company.servers()]
    if company.warehouse is not None:
        rows.append(("DuckDB", str(company.warehouse), ""))
    table([Column("what runs", style="bold"), Column("where", style="green"), Column("ready in")], rows)
    for part, why in company.skipped.items():
        say(paint(f"without {part}: {why}", "yellow"))
    if enriched_by:
        say(f"orders are enriched by {enriched_by}")
    say(f"definitions: {paint(str(company.definitions), 'green')}")
    sys.stdout.flush()


def tell_try(node: DemoNode, company: Company) -> None:
    """What a person can do while it runs."""
    flag = "" if node.bootstrap == "127.0.0.1:9092" else f" -b {node.bootstrap}"
    lines = [f"barnabas connect list{flag}"]
    if company.postgres is not None:
        lines.append(f"barnabas consume orders.enriched --from -5{flag}")
        if company.opensearch is not None:
            lines.append(f"curl '{company.opensearch.address}/{company.opensearch.orders}/_search?q=city:Oslo&size=1'")
        if company.warehouse is not None:
            lines.append(
                f"duckdb -readonly {company.warehouse} 'select city, sum(cents) / 100 from orders group by city'"
            )
    say()
    say("Ctrl-C ends it with a count of everything. Try, from another terminal:")
    for line in lines:
        say(f"  {line}")
    sys.stdout.flush()


def tell_counts(found: list[Compared], problems: list[str]) -> bool:
    """Whether all agree."""
    say()
    rows = []
    for compared in found:
        for end in compared.ends:
            wrong = end in compared.differing
            cents = "" if end.cents is None else f"{end.cents / 100:,.2f}"
            what = compared.what if end is compared.ends[0] else ""
            rows.append((what, end.where, human.count(end.rows), cents, "differs" if wrong else ""))
    columns = [Column("what", style="bold"), Column("where"), Column("count", True), Column("sum", True)]
    table([*columns, Column("", style="red")], rows)
    say()
    differing = [compared for compared in found if compared.differing]
    if not differing:
        say(paint("all agree", "green"))
        return True
    for compared in differing:
        first = compared.ends[0]
        told = ", ".join(f"{end.where}: {_told(end)}" for end in compared.differing)
        say(paint(f"{compared.what} differ: {first.where}: {_told(first)}; {told}", "red"))
    for problem in problems:
        say(paint(problem, "yellow"))
    return False


def _told(end: End) -> str:
    return human.count(end.rows) if end.cents is None else f"{end.rows:,} of {end.cents / 100:,.2f}"


def tell_end(probe: SearchProbe | None, kept: Path | None) -> None:
    if probe is not None and probe.seconds:
        waited = sorted(probe.seconds)
        told = f"after {waited[(len(waited) - 1) // 2]:.1f} s (median), {waited[-1]:.1f} s at most"
        say(f"{human.plural(len(waited), 'order')} searched for in OpenSearch, found {told}")
    if kept is not None:
        say(paint(f"definitions, records, Parquet, the warehouse and logs stay in {kept}", "dim"))
    sys.stdout.flush()
