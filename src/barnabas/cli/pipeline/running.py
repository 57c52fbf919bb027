"""What `barnabas pipeline status` shows: a line for each run, from what it told last."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from barnabas.cli.common import human
from barnabas.cli.common.screen import Column, say, table
from barnabas.model.json_values import Json

STALE_S = 15.0  # a stream tells how it is about every second

_COLUMNS = (
    Column("pipeline", style="bold"), Column("part"), Column("process", right=True), Column("up", right=True),
    Column("rows", right=True), Column("rows/s", right=True), Column("lag", right=True), Column("behind", right=True),
    Column("results", right=True), Column("bad", right=True), Column("late", right=True),
    Column("", flexible=True),
)  # fmt: skip


def show(states: Sequence[Mapping[str, Json]]) -> None:
    table(_COLUMNS, [row(state, time.time()) for state in states])
    for state in states:
        if state.get("ui"):
            say(f"Spark's own pages of {state['pipeline']}: {state['ui']}")


def row(state: Mapping[str, Json], now: float) -> tuple[str, ...]:
    """Rows and rates are those of the query that reads most: the others read the same records again, or its results."""
    who = (state["pipeline"], state["part"], str(state["pid"]), human.duration(int(now - state["begun_at"])))
    queries = state.get("queries")
    if queries is None:  # Spark is starting, or a batch is worked through: there are no numbers
        return (*who, *["-"] * 7, state.get("phase", ""))
    lag, behind = state.get("lag_records"), state.get("lag_seconds")
    return (
        *who,
        f"{max((query['rows'] for query in queries), default=0):,}",
        human.rate(max((query["rows_per_s"] for query in queries), default=0.0), 1),
        "-" if lag is None else f"{lag:,}",
        "-" if behind is None else f"{behind:.1f} s",
        *(f"{state.get(name, 0):,}" for name in ("results", "bad", "late")),
        _remark(state, now),
    )


def _remark(state: Mapping[str, Json], now: float) -> str:
    trouble = next((f"{each['name']}: {each['trouble']}" for each in state["queries"] if each["trouble"]), "")
    silent_s = now - state.get("told_at", 0)
    if not trouble and silent_s > STALE_S:
        return f"silent for {silent_s:.0f} s"
    first = "" if any(each["batches"] for each in state["queries"]) else "the first batch is under way"
    return trouble or first
