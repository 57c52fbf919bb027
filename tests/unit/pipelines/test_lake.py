"""The lake pipeline without Spark: the Delta log, its checkpoints, which files are merged, and ranges."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.lake.checkpoints import forget_old_versions, write_checkpoint
from barnabas.pipelines.lake.compaction import SMALLEST, level_of, to_merge
from barnabas.pipelines.lake.log import DataFile, DeltaLog, Snapshot, meta_data, position
from barnabas.pipelines.lake.now import batch_ends
from barnabas.pipelines.lake.ranges import Range, parse_offsets
from barnabas.pipelines.lake.shape import Shape

SCHEMA = '{"type":"struct","fields":[{"name":"offset","type":"long","nullable":true,"metadata":{}}]}'


def data_file(name: str, size: int = 100, date: str = "2026-10-01", **stats: object) -> DataFile:
    return DataFile(f"date={date}/{name}", {"date": date}, size, 1, json.dumps(stats) if stats else None)


def test_a_log_is_read_again_as_it_was_written(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path)
    one, two = data_file("one"), data_file("two", size=7)
    log.commit(lambda found: [meta_data("id", SCHEMA, ["date"]), one.add(), position("topic/0", 5)], "WRITE")
    log.commit(lambda found: [one.remove(99), two.add(), position("topic/0", 9)], "WRITE")
    for seen in (log.snapshot(), DeltaLog(tmp_path).snapshot()):
        assert (seen.version, list(seen.files.values()), seen.positions) == (1, [two], {"topic/0": 9})
        assert seen.removed == {one.path: 99}
        assert (seen.schema_text, seen.partition_columns) == (SCHEMA, ["date"])
    first = [json.loads(line) for line in (tmp_path / "_delta_log" / f"{0:020d}.json").read_text().splitlines()]
    assert {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}} in first


def test_nothing_is_written_when_the_decision_is_not_to(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path)
    assert log.commit(lambda found: None, "WRITE") is None
    assert log.snapshot().version == -1 and not list(tmp_path.rglob("*.json"))


def test_of_many_writers_at_once_each_gets_a_version_of_its_own(tmp_path: Path) -> None:
    def add_one(found: Snapshot) -> list[dict[str, Any]]:
        return [position("count", found.positions.get("count", 0) + 1)]

    def write() -> None:
        log = DeltaLog(tmp_path)
        for _ in range(25):
            log.commit(add_one, "WRITE")

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = DeltaLog(tmp_path).snapshot()
    assert (found.version, found.positions["count"]) == (99, 100)
    assert not list((tmp_path / "_delta_log").glob(".*tmp"))


def test_a_checkpoint_stands_for_all_before_it(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path)
    log.commit(lambda found: [meta_data("id", SCHEMA, ["date"]), position("topic/0", 1)], "WRITE")
    for number in range(9):
        actions = [data_file(f"f{number}", numRecords=number).add(), position("topic/0", number)]
        log.commit(lambda found: actions, "WRITE")  # noqa: B023
    lately = int(time.time() * 1000)
    log.commit(lambda found: [data_file("f0").remove(lately)], "WRITE")
    write_checkpoint(log.folder, log.snapshot())
    log.commit(lambda found: [data_file("last").add()], "WRITE")
    before = DeltaLog(tmp_path).snapshot()
    for version in range(10):
        (log.folder / f"{version:020d}.json").unlink()
    after = DeltaLog(tmp_path).snapshot()
    assert (after.version, after.files, after.removed) == (before.version, before.files, before.removed)
    assert (after.positions, after.schema_text) == (before.positions, before.schema_text)
    assert len(after.files) == 9


def test_old_versions_are_forgotten_only_behind_a_checkpoint(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path)
    for _ in range(6):
        log.commit(lambda found: [position("n", 1)], "WRITE")
    write_checkpoint(log.folder, log.snapshot())
    log.commit(lambda found: [position("n", 2)], "WRITE")
    assert forget_old_versions(log.folder, 5, keep_ms=60_000) == 0
    time.sleep(0.02)
    assert forget_old_versions(log.folder, 5, keep_ms=0) == 5
    assert DeltaLog(tmp_path).snapshot().positions == {"n": 2}


def test_a_table_of_a_newer_writer_is_refused(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path)
    log.folder.mkdir()
    body = json.dumps({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7}})
    (log.folder / f"{0:020d}.json").write_text(body + "\n")
    with pytest.raises(PipelineError, match="newer Delta writer"):
        log.snapshot()


def test_only_enough_files_of_one_size_and_one_folder_are_merged() -> None:
    small = [data_file(f"s{number}", 1000) for number in range(8)]
    other_day = [data_file(f"o{number}", 1000, "2026-10-02") for number in range(7)]
    large = [data_file(f"l{number}", 40 * SMALLEST) for number in range(3)]
    assert to_merge([*small, *other_day, *large]) == [small]
    assert to_merge(small[:7]) == []


def test_a_merged_file_is_not_merged_again_with_every_batch() -> None:
    files: list[DataFile] = []
    rewritten = 0
    for number in range(1000):
        files.append(data_file(f"f{number:05d}", 10_000))
        for group in to_merge(files):
            rewritten += sum(each.size for each in group)
            files = [each for each in files if each not in group]
            files.append(data_file(f"m{number:05d}", sum(each.size for each in group)))
    assert sum(each.size for each in files) == 10_000_000
    assert len(files) < 30
    assert rewritten < 4 * 10_000_000


def test_files_of_the_wanted_size_are_left_alone() -> None:
    target = 1_000_000
    assert to_merge([data_file(f"f{number}", 600_000) for number in range(20)], target=target) == []
    groups = to_merge([data_file(f"f{number:02d}", 300_000) for number in range(20)], target=target)
    assert all(sum(each.size for each in group) <= target for group in groups)
    assert level_of(1) == level_of(SMALLEST) == 0 < level_of(SMALLEST + 1)


def test_a_range_never_reaches_beyond_what_is_in_the_table() -> None:
    condition = Range(offsets={0: (5, 100), 2: (7, 9)}).within({0: 50, 1: 10})
    assert condition == "((partition = 0 AND offset >= 5 AND offset < 50))"
    assert Range(offsets={0: (60, 70)}).within({0: 50}) == "false"
    by_time = Range(1000, 2000).within({0: 50})
    assert "offset < 50" in by_time and "timestamp_millis(1000)" in by_time and "timestamp_millis(2000)" in by_time


def test_files_that_cannot_hold_the_range_are_left_alone() -> None:
    low = {"partition": 0, "offset": 10, "timestamp": "2026-09-21T14:13:20.000Z"}  # 1,790,000,000,000
    high = {"partition": 1, "offset": 20, "timestamp": "2026-09-21T14:13:30.000Z"}
    held = data_file("f", minValues=low, maxValues=high)
    begin = 1_790_000_000_000
    assert Range(begin, begin + 1).may_touch(held) and Range(begin + 10_000).may_touch(held)
    assert not Range(begin + 10_001).may_touch(held) and not Range(None, begin).may_touch(held)
    assert Range(offsets={1: (20, 21)}).may_touch(held)
    assert not Range(offsets={1: (21, 30)}).may_touch(held) and not Range(offsets={2: (10, 20)}).may_touch(held)
    assert Range(offsets={2: (10, 20)}).may_touch(data_file("unknown"))


def test_offsets_as_a_person_writes_them() -> None:
    assert parse_offsets(" 0:100-200, 2:0-5") == {0: (100, 200), 2: (0, 5)}
    assert parse_offsets("") == {}
    for bad in ("0", "0:5", "0:9-3", "0:1-2,0:3-4", "a:1-2", "0:-1-5"):
        with pytest.raises(PipelineError, match="offsets="):
            parse_offsets(bad)


def test_where_a_batch_ends_is_read_from_sparks_own_plan(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    plan = tmp_path / "offsets" / "3"
    plan.write_text('v1\n{"batchWatermarkMs":0,"conf":{"a":"b"}}\n{"events":{"0":12,"1":7}}')
    assert batch_ends(tmp_path, 3, "events") == {0: 12, 1: 7}
    with pytest.raises(PipelineError, match="does not say where other ends"):
        batch_ends(tmp_path, 3, "other")


def test_folders_are_by_day_or_by_hour() -> None:
    assert Shape(by="hour").folders == ["date", "hour"]
    with pytest.raises(PipelineError, match="by=month"):
        Shape(by="month")


def test_a_topic_that_was_made_anew_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    from barnabas.pipelines.lake import refuse_another_log
    from barnabas.pipelines.lake.table import Table, positions

    table = Table(tmp_path)
    refuse_another_log(table, "events", {0: (0, 0)})
    table.log.commit(lambda found: positions("events", {0: 5, 1: 7}), "WRITE")
    assert table.taken_in("events") == {0: 5, 1: 7} and table.taken_in("event") == {}
    refuse_another_log(table, "events", {0: (3, 5), 1: (0, 9)})
    with pytest.raises(PipelineError, match="events-1 ends at offset 6, the table has it up to 7"):
        refuse_another_log(table, "events", {0: (0, 5), 1: (0, 6)})
