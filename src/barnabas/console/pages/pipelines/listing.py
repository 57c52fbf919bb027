"""What runs here: rates, batch times, lag and troubles as each run tells them (now.json), and what could be started.

Only what ships is offered; nothing is imported by a name that came from a browser, and pyspark not at all.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

from barnabas.console.clusters.facts import Facts
from barnabas.console.pages.pipelines.allowed import home, why_not
from barnabas.console.pages.pipelines.running import OUTPUT, is_starting
from barnabas.console.people.roles import sees_every_record
from barnabas.console.web.calls import Call
from barnabas.model.json_values import Json, JsonObject
from barnabas.pipelines.framework import registry
from barnabas.pipelines.framework.pipeline import DEAD_LETTER, Pipeline
from barnabas.pipelines.framework.run_directory import CLUSTER, PARTS, RunDirectory, houses

STALE_SECONDS = 15.0  # a stream tells how it is about every second
_OUTPUT_BYTES = 4_096
_FIRST_LOOK_SECONDS = 5.0
_NOT_SHOWN = "it has failed; what it says is not shown to you, since it may quote records"
_FAILED, _WARNED = "barnabas: ", "barnabas: warning:"  # how the command line begins such lines


async def list_pipelines(call: Call) -> object:
    await call.connection.observer.first_look(_FIRST_LOOK_SECONDS)
    if why := why_not(call):
        return {"why_not": why, "runs": [], "pipelines": []}
    folder = home(call)
    built_in, told = await asyncio.to_thread(lambda: (registry.built_in(), _read(folder, call.facts.cluster_id)))
    known = {each.name: each for each in built_in}
    return {
        "why_not": "",
        "home": str(folder),
        "runs": [_run(each, known, call.facts, quotes=sees_every_record(call.role)) for each in told],
        "pipelines": [_offered(each, call.facts) for each in built_in],
    }


def _read(folder: Path, cluster_id: str) -> list[JsonObject]:
    """Every pipeline that has run here on this cluster, and how it goes."""
    found = []
    for house in _all_houses(folder):
        cluster = _text(house.folder / CLUSTER).strip()
        if cluster and cluster_id and cluster != cluster_id:
            continue
        states = [state for part in PARTS if (state := house.state(part)) is not None]
        output = _tail(house.folder / OUTPUT)
        starting = not states and is_starting(house.folder)
        found.append({"name": house.pipeline, "states": states, "output": output, "starting": starting})
    return found


def _all_houses(folder: Path) -> list[RunDirectory]:
    """Those that have run, and those that a console has just started."""
    ran = {each.pipeline: each for each in houses(folder)}
    begun = [name for name in registry.BUILT_IN if name not in ran and (folder / name / OUTPUT).exists()]
    return [*ran.values(), *(RunDirectory(folder, name) for name in begun)]


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _tail(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _OUTPUT_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()][-20:]


def _run(told: JsonObject, known: Mapping[str, Pipeline], facts: Facts, *, quotes: bool) -> JsonObject:
    """`quotes`: with what it printed and what troubles it, which may quote records."""
    parts = [part_row(state, time.time()) for state in told["states"]]
    if not quotes:
        told = {**told, "output": []}
        for part in parts:
            part["troubles"] = [{**each, "what": _NOT_SHOWN} for each in part["troubles"]]
    pipeline = known.get(told["name"])
    failed = [line for line in told["output"] if line.startswith(_FAILED) and not line.startswith(_WARNED)]
    ended_badly = not parts and not told["starting"] and failed
    return {
        "name": told["name"],
        "summary": pipeline.summary if pipeline is not None else "a pipeline of your own",
        "built_in": pipeline is not None,
        "parts": parts,
        "starting": told["starting"],
        "last_error": failed[-1].removeprefix(_FAILED) if ended_badly else "",
        "output": told["output"],
        "groups": sorted(
            name for name in facts.committed if name == told["name"] or name.startswith(f"{told['name']}.")
        ),
        "dead_letters": dead_letters(pipeline, facts) if pipeline is not None else [],
    }


def part_row(state: Mapping[str, Json], now: float) -> JsonObject:
    """One run of one part. Rows and rates are those of the query that reads most: the others read the same again."""
    queries = state.get("queries")
    silent_s = now - float(state.get("told_at", now))
    troubles = [{"query": each["name"], "what": each["trouble"]} for each in queries or () if each.get("trouble")]
    stale = queries is not None and silent_s > STALE_SECONDS
    return {
        "part": state["part"],
        "pid": state["pid"],
        "up": max(0.0, now - float(state["begun_at"])),
        "master": state.get("master", ""),
        "phase": state.get("phase", "") if queries is None else "",
        "rows": max((each["rows"] for each in queries), default=0) if queries is not None else None,
        "rows_per_s": max((each["rows_per_s"] for each in queries), default=0.0) if queries is not None else None,
        "batch_ms": max((each["batch_ms"] or 0 for each in queries), default=0) or None if queries else None,
        "lag": state.get("lag_records"),
        "seconds": state.get("lag_seconds"),
        "results": state.get("results"),
        "bad": state.get("bad"),
        "late": state.get("late"),
        "ui": state.get("ui"),
        "silent": silent_s if stale else None,
        "troubles": troubles,
        "queries": [
            {"name": each["name"], "batches": each["batches"], "rows": each["rows"], "rows_per_s": each["rows_per_s"],
             "batch_ms": each["batch_ms"], "state_bytes": each["state_bytes"], "late": each["late"]}
            for each in queries or ()
        ],
    }  # fmt: skip


def dead_letters(pipeline: Pipeline, facts: Facts) -> list[JsonObject]:
    """The topics that hold what did not fit, as far as they are there."""
    found = []
    for topic in pipeline.reads:
        name = topic.name + DEAD_LETTER
        if topic.schema is not None and name in facts.topics:
            places = [(name, each.index) for each in facts.topics[name].partitions]
            records = sum(max(0, facts.ends.get(each, 0) - facts.starts.get(each, 0)) for each in places)
            found.append({"topic": name, "records": records})
    return found


def _offered(pipeline: Pipeline, facts: Facts) -> JsonObject:
    return {
        "name": pipeline.name,
        "summary": pipeline.summary,
        "now": pipeline.now_summary if pipeline.has("now") else None,
        "later": pipeline.later_summary if pipeline.has("later") else None,
        "generates": pipeline.has("generate"),
        "reads": [{"topic": each.name, "there": each.name in facts.topics} for each in pipeline.reads],
        "writes": [each.name for each in pipeline.writes],
        "options": [{"name": each.name, "default": each.default, "help": each.help} for each in pipeline.options],
    }
