"""The back-test as a page: what each threshold would have caught, and which of them does best."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.pipelines.anomalies.answer import Tried
from barnabas.pipelines.common import page
from barnabas.pipelines.errors import PipelineError

_COLUMNS = ("threshold", "alerts", "in an incident", "precision", "incidents seen", "recall", "balance (F1)")


def thresholds_of(text: str) -> list[float]:
    """ "3,4,5" as numbers; each above zero."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 < each < float("inf") for each in found):
        raise PipelineError(f"thresholds={text}: they must be numbers above 0 with commas between, such as 3,4,5")
    return found


def best(tried: Sequence[Tried]) -> Tried | None:
    """The best balance; of equals the highest threshold, which is the quietest. None without incidents to learn by."""
    known = [each for each in tried if each.incidents]
    return max(known, key=lambda each: (each.balance, each.threshold), default=None)


def lines(tried: Sequence[Tried], live: float) -> list[str]:
    told = [
        f"threshold {each.threshold:g}: {each.alerts:,} alerts, {each.precision:.0%} of them in an incident, "
        f"{each.incidents_seen} of {each.incidents} incidents seen"
        for each in tried
    ]
    chosen = best(tried)
    if chosen is None:
        told.append(
            "no incident in this range, so precision and recall say nothing: take a longer one (--from), or let"
            " --now --generate run for ten minutes first"
        )
    elif not any(each.alerts for each in tried):
        told.append("no threshold gave an alert: the range is too short for a baseline, or the thresholds too high")
    else:
        told.append(f"best balance at {chosen.threshold:g}; the stream runs with {live:g}")
    return told


def report(tried: Sequence[Tried], live: float, too_late: int) -> str:
    chosen = best(tried)
    rows = [
        [
            page.good_or_bad(f"{each.threshold:g} (best)", True) if each is chosen else f"{each.threshold:g}",
            f"{each.alerts:,}",
            f"{each.true_alerts:,}",
            f"{each.precision:.1%}" if each.alerts else "-",
            f"{each.incidents_seen} of {each.incidents}",
            f"{each.recall:.1%}" if each.incidents else "-",
            f"{each.balance:.3f}" if each.alerts and each.incidents else "-",
        ]
        for each in tried
    ]
    lead = f"Thresholds in deviations, tried on the log. The stream runs with {live:g}. {too_late:,} came too late."
    charts = page.pair(
        page.line_chart("precision, by threshold", [each.precision for each in tried]),
        page.line_chart("recall, by threshold", [each.recall for each in tried]),
    )
    return page.page("Back-test of alert thresholds", lead, [page.card(page.table(_COLUMNS, rows)), charts])
