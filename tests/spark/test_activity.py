"""The activity pipeline on a real node and a real Spark, with events late, doubled and out of order, and bad records.

One stage is played for all tests: two portions of one stream, with a restart of the queries between them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.errors import StreamingQueryException

from barnabas import Admin
from barnabas.pipelines.activity import PIPELINE, RECOMMENDATIONS, answer, table
from barnabas.pipelines.activity.generator import JOBS, MEMBERS, SEARCHES, VIEWS, Activity
from barnabas.pipelines.activity.matching import recommend
from barnabas.pipelines.activity.rules import Rules
from barnabas.pipelines.activity.town import Town
from barnabas.pipelines.common.disorder import Disorder, millis
from barnabas.pipelines.common.lateness import counts
from barnabas.pipelines.framework import Record, RunContext, deadletters
from barnabas.testing import RunningNode
from tests.spark.stage import Stage, dropped_by_watermark

BEGIN = 1_790_000_400_000  # six minutes and forty seconds past an hour
HOUR = 3_600_000
SPAN = 2 * HOUR
END = BEGIN + SPAN
RULES = Rules(window_ms=HOUR, after_ms=600_000, late_ms=60_000)
OPTIONS = {"window": "1h", "after": "10m", "late": "1m", "session": "30m"}
DISORDER = Disorder(network_ms=300, late=0.06, late_ms=58_000, too_late=0.02, too_late_ms=240_000, twice=0.05)
SHOWN = ("member", "because", "interest", "job", "title", "company", "city", "score")
BAD = {
    SEARCHES: [b"nonsense", b'{"id": "x", "member": "seven"}', b'{"id": "y", "member": 7}'],
    JOBS: [b'["a list"]'],
}
WHY = {
    b"nonsense": "the value is no JSON object",
    b'{"id": "x", "member": "seven"}': "member: seven is not bigint",
    b'{"id": "y", "member": 7}': "missing: field, city, found, time",
    b'["a list"]': "the value is no JSON object",
}


class Played:
    """What was written, and the stage on which it was played."""

    def __init__(self, stage: Stage, records: list[Record], contexts: list[RunContext]) -> None:
        self.stage, self.records, self.contexts = stage, records, contexts
        self.want = answer.recommendations(records, RULES)
        self.told = stage.values(RECOMMENDATIONS)

    def table(self) -> dict[tuple[str, str], dict[str, Any]]:
        rows = self.stage.spark.read.parquet(str(self.stage.folder / "tables" / table.NAME)).collect()
        assert len({(row["interest"], row["job"]) for row in rows}) == len(rows), "a row is in the table twice"
        return {(row["interest"], row["job"]): row.asDict() for row in rows}


def play(stage: Stage) -> RunContext:
    """Everything that is there, with the dead letters, and the table after the stream."""
    context = stage.context(once=True, options=OPTIONS)
    PIPELINE.now(context)
    deadletters.start(context)
    finish(context, "recommend")
    for name in list(context.waiting):  # each begins when the one before has ended
        assert context.is_ready(name)
        context.start_again(name)
        finish(context, name)
    return context


def finish(context: RunContext, name: str) -> None:
    """On a busy machine Spark loses patience with its Python processes (10 s); then the query goes on from its
    checkpoint, as `barnabas pipeline run` does it."""
    for _ in range(10):
        try:
            assert context.queries[name].awaitTermination(240), f"{name} did not end"
            return
        except StreamingQueryException as error:
            if "failed to connect back" not in str(error):
                raise
            context.start_again(name)
    raise AssertionError(f"{name} cannot start")


@pytest.fixture(scope="module")
def played(spark: Any, node: RunningNode, admin: Admin, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    stage = Stage(PIPELINE, spark, node.bootstrap, tmp_path_factory.mktemp("activity"), partitions=2)
    for name in (SEARCHES, VIEWS, JOBS):
        admin.create_topic(stage.topics[name] + ".dead-letter", partitions=1)
    activity = Activity(7, Town(7, members=300, companies=40), job_share=0.02, disorder=DISORDER)
    stage.write(activity.members(BEGIN))
    records = [*activity.opening_jobs(BEGIN - HOUR // 2, BEGIN, 30), *activity.history(BEGIN, END - 300_000, 1200)]
    half = len(records) // 2
    stage.write(records[:half])
    producer = Producer({"bootstrap.servers": node.bootstrap})
    for name, values in BAD.items():
        for value in values:
            producer.produce(stage.topics[name], value, b"bad", partition=0, timestamp=BEGIN)
    producer.flush()
    first = play(stage)
    stage.write(records[half:])
    yield Played(stage, records, [first, play(stage)])


def test_streamed_and_plain_python_agree(played: Played) -> None:
    counted = Counter((each["interest"], each["job"]) for each in played.told)
    assert max(counted.values()) == 1, "a recommendation was made twice"
    assert {pair: {name: each[name] for name in SHOWN} for pair, each in _by_pair(played.told).items()} == played.want
    assert len(played.want) > 300
    assert {each["because"] for each in played.told} == {"search", "view"}


def test_the_test_had_what_it_is_about(played: Played) -> None:
    """Late, too late, doubled and out of order, and jobs that came after the search that they fit."""
    late = [record.time_ms - millis(record.value["time"]) for record in played.records]
    assert sum(30_000 < each <= 60_000 for each in late) > 10
    assert sum(not counts(0, each, RULES.late_ms) for each in late) > 10
    assert max(Counter(record.value["id"] for record in played.records).values()) == 2
    assert any(millis(each["posted"]) > millis(each["time"]) for each in played.told)


def test_a_batch_over_the_log_agrees(played: Played) -> None:
    context = played.stage.context(options=OPTIONS)
    searches, views, jobs = (context.batch(name) for name in (SEARCHES, VIEWS, JOBS))
    rows = [row.asDict() for row in recommend(searches, views, jobs, RULES).collect()]
    assert {pair: {name: each[name] for name in SHOWN} for pair, each in _by_pair(rows).items()} == played.want


def test_the_table_has_what_the_topic_has(played: Played) -> None:
    found = played.table()
    assert {pair: {name: each[name] for name in SHOWN} for pair, each in found.items()} == played.want


def test_spark_drops_nothing_that_counts_and_forgets_what_is_over(played: Played) -> None:
    assert [dropped_by_watermark(context) for context in played.contexts] == [0, 0]
    kept = sum(
        operator["numRowsUpdated"] - operator["numRowsRemoved"]
        for context in played.contexts
        for progress in context.queries["recommend"].recentProgress
        for operator in progress["stateOperators"]
    )
    remembered = [
        record
        for record in played.records
        if millis(record.value["time"]) > END - (2 * HOUR if record.topic == JOBS else HOUR)
    ]
    assert 0 < kept < 3 * len(remembered) < len(played.records) * 2, "old interests are still in the state"


def test_bad_records_are_kept_with_the_reason_and_the_stream_goes_on(played: Played) -> None:
    stage = played.stage
    stage.topics |= {name + ".dead-letter": stage.topics[name] + ".dead-letter" for name in (SEARCHES, VIEWS, JOBS)}
    for name in (SEARCHES, VIEWS, JOBS):
        letters = stage.messages(name + ".dead-letter")
        assert [letter.value for letter in letters] == BAD.get(name, [])
        for letter in letters:
            headers = {key: (value or b"").decode() for key, value in letter.headers}
            assert letter.key == b"bad" and headers["topic"] == stage.topics[name] and headers["partition"] == "0"
            assert headers["error"] == WHY[letter.value]


def test_the_lag_is_seen_in_a_consumer_group(played: Played, admin: Admin) -> None:
    mine = [each for each in admin.describe_group("activity").partitions if each.topic in played.stage.topics.values()]
    assert len(mine) == 6 and all(each.lag_records == 0 for each in mine)


def test_later_agrees_leaves_digests_and_a_reload_changes_its_range_and_nothing_else(played: Played) -> None:
    """New logic (a window of ten minutes) for half an hour in the middle, which begins and ends within an hour."""
    before = played.table()
    begin_ms, end_ms = BEGIN + HOUR // 2, BEGIN + HOUR
    rules = Rules(600_000, RULES.after_ms, RULES.late_ms)
    new = {**OPTIONS, "window": "10m", "reload": "yes"}
    outcome = played.stage.later(options=new, begin_ms=begin_ms, end_ms=end_ms)

    want = answer.insights(played.records, begin_ms, end_ms, rules, 1_800_000)
    assert json.loads(outcome.files["figures"].read_text()) == json.loads(json.dumps(asdict(want)))
    assert outcome.files["report"].read_text().count("<svg") == 8

    town = Town(7, members=300, companies=40)
    jobs = [record.value for record in played.records if record.topic == JOBS]
    posted = {job["company"] for job in jobs if begin_ms <= millis(job["time"]) < end_ms}
    told = {n for n in range(300) if town.member(n).company in posted}
    letters = list(outcome.files["digests"].glob("*.eml"))
    assert {int(file.stem.rpartition("-")[2]) for file in letters} == told
    assert outcome.numbers["digests"] == len(told) > 5

    def inside(row: dict[str, Any]) -> bool:
        return bool(begin_ms <= row["time"].timestamp() * 1000 < end_ms)

    after = played.table()
    assert {p: r for p, r in after.items() if not inside(r)} == {p: r for p, r in before.items() if not inside(r)}
    changed = answer.recommendations(played.records, rules)
    times = {r.value["id"]: millis(r.value["time"]) for r in played.records if r.topic != JOBS}
    fresh = {pair: each for pair, each in changed.items() if begin_ms <= times[pair[0]] < end_ms}
    assert {p: {n: r[n] for n in SHOWN} for p, r in after.items() if inside(r)} == fresh
    assert outcome.numbers["reloaded"] == len(fresh)
    assert 0 < len(fresh) < sum(map(inside, before.values()))


def test_a_reload_that_died_half_way_is_finished_by_the_next_one(played: Played) -> None:
    folder: Path = played.stage.folder / "tables" / table.NAME
    before = played.table()
    hour = next(folder.glob("hour=*"))
    coming = folder / "_coming"
    coming.mkdir()
    (coming / hour.name).mkdir()
    table.finish_exchange(folder)  # not complete: it is thrown away
    assert played.table() == before
    (coming / hour.name).mkdir(parents=True)
    (hour / next(hour.iterdir()).name).replace(coming / hour.name / "reloaded.parquet")
    (coming / "_complete").touch()
    table.finish_exchange(folder)
    assert not coming.exists() and (hour / "reloaded.parquet").exists()


def _by_pair(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["interest"], row["job"]): row for row in rows}


def test_members_are_read_whole_whatever_the_range(played: Played) -> None:
    context = played.stage.context(options=OPTIONS, begin_ms=END, end_ms=END + 1)
    assert context.everything(MEMBERS).count() == 300
