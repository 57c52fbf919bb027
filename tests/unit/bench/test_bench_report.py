"""The document: tables from results, notes of a person kept."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

from bench import chart, report
from bench.workloads import ALL
from bench.workloads.connections import Connections
from bench.workloads.produce import Produce

CASE = "100 B, 1 partition, none"


def results(ours: dict[str, float]) -> dict[str, Any]:
    kafka = {"records_per_s": 1_000_000.0, "cpu_s_per_million": 0.2}
    servers = {
        "Kafka": {"median": kafka, "runs": [kafka], "errors": []},
        "Barnabas": {"median": ours, "runs": [ours], "errors": [] if ours else ["ConnectionError: gone"]},
    }
    return {
        "ours": "Barnabas",
        "rounds": 3,
        "quiet_cores": 0.25,
        "machine": {"CPU": "2 x Example"},
        "versions": {"Apache Kafka": "4.3.1"},
        "rows": {"produce": {"when": "2026-01-01", "cases": [{"case": CASE, "servers": servers}]}},
    }


def test_a_row_shows_figures_ratio_goal_and_verdict() -> None:
    document = report.write(results({"records_per_s": 1_500_000.0, "cpu_s_per_million": 0.15}), [Produce()], "")
    assert (
        "| 100 B, 1 partition, none | records/s | 1,000,000/s | 1,500,000/s | 1.50 x | ≥ 1 x | ✅ reached |" in document
    )
    assert "|  | server CPU per million | 0.20 s | 0.15 s | 0.75 x | ≤ 0.6 x | ❌ missed |" in document
    assert "**1 of 2 goals reached.**" in document
    assert report.NO_NOTE in document


def test_a_persons_note_survives_and_the_rest_does_not() -> None:
    first = report.write(results({"records_per_s": 1.0, "cpu_s_per_million": 1.0}), [Produce()], "")
    edited = first.replace(report.NO_NOTE, "The client.\n\nIts one thread.").replace("# Performance", "# Edited")
    second = report.write(results({"records_per_s": 2.0, "cpu_s_per_million": 1.0}), [Produce()], edited)
    assert "The client.\n\nIts one thread.\n<!-- /note -->" in second
    assert "# Edited" not in second
    assert report.notes_of(second) == {"produce": "The client.\n\nIts one thread."}
    assert report.write(results({"records_per_s": 2.0, "cpu_s_per_million": 1.0}), [Produce()], second) == second


def test_a_server_that_failed_is_said_so_and_not_judged() -> None:
    document = report.write(results({}), [Produce()], "")
    assert "- 100 B, 1 partition, none, Barnabas: ConnectionError: gone" in document
    assert "| - | - | ≥ 1 x | not measured |" in document
    assert "**0 of 2 goals reached.**" in document


def test_rows_never_measured_are_left_out() -> None:
    document = report.write(results({"records_per_s": 1.0, "cpu_s_per_million": 1.0}), [Produce(), Connections()], "")
    assert "Idle connections" not in document


def test_a_note_on_a_row_not_measured_survives_too() -> None:
    previous = "<!-- note: connections -->\nSockets.\n<!-- /note -->"
    document = report.write(
        results({"records_per_s": 1.0, "cpu_s_per_million": 1.0}), [Produce(), Connections()], previous
    )
    assert report.notes_of(document)["connections"] == "Sockets."


def test_how_much_others_disturbed_is_told() -> None:
    document = report.write(
        results({"records_per_s": 1.0, "cpu_s_per_million": 1.0, "other_cores": 0.4}), [Produce()], ""
    )
    assert "| [Produce, librdkafka](#produce-librdkafka) | 0 of 2 | 0.40 | 2026-01-01 |" in document


def test_the_chart_is_well_formed_and_has_a_line_a_measure() -> None:
    drawn = chart.draw(results({"records_per_s": 3_000_000.0, "cpu_s_per_million": 0.1}), [Produce()])
    root = ElementTree.fromstring(drawn)
    assert len([element for element in root if element.tag.endswith("circle")]) == 2
    assert "3.00x" in drawn
    assert "2.00x" in drawn


def test_a_chart_of_nothing_is_still_a_chart() -> None:
    ElementTree.fromstring(chart.draw(results({}), [Produce()]))


def test_every_row_has_a_name_of_its_own_and_a_goal_in_each_case() -> None:
    rows = [workload() for workload in ALL]
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        labels = [case.label for case in row.cases()]
        assert len(set(labels)) == len(labels)
        assert all(any(measure.judged for measure in row.measures_of(case)) for case in row.cases())
        assert {case.label for case in row.quick_cases()} <= set(labels)
