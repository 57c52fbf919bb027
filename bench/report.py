"""docs/performance.md: generated tables around hand-written notes.

Everything is written anew from the results, except what stands between a row's markers (`<!-- note: row -->` and
`<!-- /note -->`): that is a person's explanation of what limits the row, and is carried over as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .measures import Measure, Verdict
from .runner import value_text
from .stats import ratio
from .workload import Workload

NOTE = re.compile(r"<!-- note: (?P<row>[\w-]+) -->\n(?P<text>.*?)\n?<!-- /note -->", re.DOTALL)
# Sections of notes alone: other programs measure them (bench.connect..., bench.links, bench.mirror).
BESIDE = {"connectors": "Connectors", "links": "Links and mirrors"}
NO_NOTE = "What limits this row has not been written down yet."
SIGNS = {
    Verdict.REACHED: "✅ reached",
    Verdict.MISSED: "❌ missed",
    Verdict.UNKNOWN: "not measured",
    Verdict.NO_GOAL: "",
}

HEAD = """# Performance

Written by `make bench`; the notes under the tables are written by hand and kept. Both servers run on the same machine
as single nodes with their defaults (Apache Kafka with its production JVM flags, 1 GB of heap, warmed up), in turns,
and every figure is the median of {rounds} runs each. Trust the ratios, not the absolute figures: the load runs on the
same cores. CPU is what the server's processes used.{repeated}
"""
REPEATED = (
    "\nA run during which other processes used more than {quiet:g} of a core is repeated, and the calmest one counts."
)


def notes_of(document: str) -> dict[str, str]:
    return {found["row"]: found["text"] for found in NOTE.finditer(document)}


def measures_by_key(workload: Workload[Any], case_label: str) -> dict[str, Measure]:
    """A row's measures for the case of this name; the row's own where the case is no longer there."""
    for case in workload.cases():
        if case.label == case_label:
            return {measure.key: measure for measure in workload.measures_of(case)}
    return {measure.key: measure for measure in workload.measures}


def table_lines(
    measures: Iterable[Measure], case: str, kafka: Mapping[str, float], ours: Mapping[str, float]
) -> list[str]:
    lines = []
    for measure in measures:
        theirs_text = value_text(measure, kafka[measure.key]) if measure.key in kafka else "-"
        ours_text = value_text(measure, ours[measure.key]) if measure.key in ours else "-"
        both = measure.comparable and measure.key in kafka and measure.key in ours
        got = ratio(ours[measure.key], kafka[measure.key]) if both else None
        cells = [
            case,
            measure.label,
            theirs_text,
            ours_text,
            f"{got:.2f} x" if got is not None else "-",
            measure.goal_text() or "-",
            SIGNS[measure.verdict(kafka, ours)],
        ]
        lines.append("| " + " | ".join(cells) + " |")
        case = ""  # said once
    return lines


def row_section(
    workload: Workload[Any], row: Mapping[str, Any], ours_name: str, note: str, beside: str = "Kafka", page_on: str = ""
) -> list[str]:
    """`page_on`: what the page says of the machine; a row of another one says so itself."""
    out = [f"## {workload.title}", ""]
    on = _facts(row.get("on", {}))
    if page_on and on and on != page_on:
        out += [f"Measured on: {on}", ""]
    out += [f"| case | measure | {beside} | {ours_name} | ratio | to reach | |", "|---|---|--:|--:|--:|--:|---|"]
    failed = []
    for case in row["cases"]:
        known = measures_by_key(workload, case["case"])
        servers = case["servers"]
        kafka, ours = (servers.get(name, {}).get("median", {}) for name in (beside, ours_name))
        out += table_lines(known.values(), case["case"], kafka, ours)
        for name, outcome in servers.items():
            failed += [f"- {case['case']}, {name}: {error}" for error in outcome["errors"][:1]]
    if failed:
        out += ["", "Runs that failed:", "", *failed]
    return [*out, "", *_note_lines(workload, note)]


def _facts(facts: Mapping[str, str]) -> str:
    return " · ".join(f"{name}: {value}" for name, value in facts.items())


def _note_lines(workload: Workload[Any], note: str) -> list[str]:
    return [f"<!-- note: {workload.name} -->", note, "<!-- /note -->", ""]


def verdicts(workload: Workload[Any], row: Mapping[str, Any], ours_name: str, beside: str = "Kafka") -> list[Verdict]:
    out = []
    for case in row["cases"]:
        kafka, ours = (case["servers"].get(name, {}).get("median", {}) for name in (beside, ours_name))
        out += [m.verdict(kafka, ours) for m in measures_by_key(workload, case["case"]).values() if m.judged]
    return out


def disturbance(row: Mapping[str, Any]) -> float:
    """How many cores strangers used in the worst case of a row: above a quarter, read its figures with care."""
    outcomes = [outcome["median"] for case in row["cases"] for outcome in case["servers"].values()]
    return max((float(median.get("other_cores", 0.0)) for median in outcomes), default=0.0)


def write(results: Mapping[str, Any], workloads: Sequence[Workload[Any]], previous: str) -> str:
    """The whole document from the results; `previous` is the document as it stands, for its notes."""
    notes = notes_of(previous)
    ours_name = results["ours"]
    shown = [workload for workload in workloads if workload.name in results["rows"]]
    overview = ["| row | goals reached | others busy, cores | measured |", "|---|--:|--:|---|"]
    total = reached = 0
    for workload in shown:
        row = results["rows"][workload.name]
        judged = verdicts(workload, row, ours_name)
        good = sum(verdict is Verdict.REACHED for verdict in judged)
        total, reached = total + len(judged), reached + good
        link = f"[{workload.title}](#{_anchor(workload.title)})"
        overview.append(f"| {link} | {good} of {len(judged)} | {disturbance(row):.2f} | {row['when']} |")
    quiet = results["quiet_cores"]
    out = [HEAD.format(rounds=results["rounds"], repeated=REPEATED.format(quiet=quiet) if quiet else "")]
    facts = _facts({**results["machine"], **results["versions"]})
    out += [facts, ""]
    out += [
        f"**{reached} of {total} goals reached.**",
        "",
        *overview,
        "",
        "![times better than Kafka](performance.svg)",
        "",
    ]
    for workload in workloads:
        note = notes.get(workload.name, NO_NOTE)
        if workload in shown:
            out += row_section(workload, results["rows"][workload.name], ours_name, note, page_on=facts)
        elif workload.name in notes:
            out += [f"## {workload.title}", "", "Not measured yet.", "", *_note_lines(workload, note)]
    for name, title in BESIDE.items():
        if name in notes:
            out += [f"## {title}", "", f"<!-- note: {name} -->", notes[name], "<!-- /note -->", ""]
    return "\n".join(out).rstrip() + "\n"


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
