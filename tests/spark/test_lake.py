"""The lake pipeline on a real node and a real Spark: exactly once, small files merged, past ranges loaded again."""

import json
import shutil
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from barnabas.client.consumer.message import Message
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.lake import PIPELINE, answer, generator, now, table_of
from barnabas.pipelines.lake.table import Table
from barnabas.testing import RunningNode
from tests.spark.stage import Stage

BEGIN = 1_790_035_195_000  # shortly before a midnight: two folders
PRICE = (
    "CAST(key AS STRING) AS member, CAST(get_json_object(CAST(value AS STRING), '$.price_cents') AS BIGINT) AS price"
)


class Dies(Exception):
    """The driver is gone."""


def raw_rows(spark: Any, table: Table) -> dict[answer.Place, tuple[int, Any]]:
    return by_place(table.read(spark).selectExpr(*PLACE, "key", "value").collect(), lambda row: tuple(map(bytes, row)))


def by_place(rows: list[Any], shown: Any) -> dict[answer.Place, tuple[int, Any]]:
    found = {(row[0], row[1]): (row[2], shown(row[3:])) for row in rows}
    assert len(found) == len(rows), "a record is in the table twice"
    return found


PLACE = ("partition", "offset", "unix_millis(timestamp) AS sent")


def test_each_record_is_in_the_table_once_though_the_driver_dies_at_the_worst_moments(
    quick_spark: Any, node: RunningNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(PIPELINE, quick_spark, node.bootstrap, tmp_path, partitions=2)
    records = list(islice(generator.generate(3, BEGIN, 100), 1200))
    table = table_of(stage.context())

    def die(*_: Any, **__: Any) -> None:
        raise Dies

    stage.write(records[:300])
    with monkeypatch.context() as patched:  # files are written, but no commit names them
        patched.setattr(Table, "commit", die)
        with pytest.raises(Exception, match="Dies"):
            stage.now()
    assert not table.exists() and list(table.place.rglob("*.parquet"))
    with monkeypatch.context() as patched:  # the table has the batch, but Spark does not know
        patched.setattr(now, "merge_small_files", die)
        with pytest.raises(Exception, match="Dies"):
            stage.now()
    assert sum(table.taken_in(stage.topics[generator.TOPIC]).values()) == 300
    stage.write(records[300:900])
    stage.now(step=300, options={"merge": "2"})  # the batch that is in already, and the rest
    shutil.rmtree(tmp_path / "checkpoints")  # Spark begins at the beginning, the table knows better
    stage.write(records[900:])
    stage.now(options={"merge": "2"})

    want = answer.rows(stage.messages(generator.TOPIC))
    assert raw_rows(stage.spark, table) == want and len(want) == 1200
    assert {each.partition_values["date"] for each in table.files()} == {"2026-09-21", "2026-09-22"}
    _other_readers_agree(table, len(want))
    operations = [_operation(place) for place in sorted((table.place / "_delta_log").glob("*.json"))]
    assert operations.count("STREAMING UPDATE") == 4 and "OPTIMIZE" in operations
    table.tidy(0)
    on_disk = {place.relative_to(table.place).as_posix() for place in table.place.glob("date=*/*.parquet")}
    assert on_disk == {each.path for each in table.files()}


def test_a_second_topic_in_the_same_folder_has_its_own_checkpoint(
    quick_spark: Any, node: RunningNode, tmp_path: Path
) -> None:
    """Offsets of the first would be taken for its own, and the query would say that data was lost."""
    first, second = (Stage(PIPELINE, quick_spark, node.bootstrap, tmp_path, partitions=1) for _ in range(2))
    records = list(islice(generator.generate(3, BEGIN, 100), 40))
    for stage, some in ((first, records), (second, records[:10])):
        stage.write(some)
        stage.now()
    first.write(records[:5])
    first.now()
    for stage, count in ((first, 45), (second, 10)):
        assert sum(table_of(stage.context()).taken_in(stage.topics[generator.TOPIC]).values()) == count


def test_a_range_loaded_again_changes_and_nothing_else(quick_spark: Any, node: RunningNode, tmp_path: Path) -> None:
    stage = Stage(PIPELINE, quick_spark, node.bootstrap, tmp_path, partitions=2)
    records = list(islice(generator.generate(4, BEGIN, 100), 900))
    table = table_of(stage.context())
    wrong = {"columns": PRICE.replace("CAST(get", "10 * CAST(get")}  # the bug: cents taken for tenths of them
    right = {"columns": PRICE, "where": "get_json_object(CAST(value AS STRING), '$.page') <> '/help'"}
    stage.write(records)
    stage.now(options=wrong, step=300)
    log = stage.messages(generator.TOPIC)
    before = answer.rows(log, lambda message: _priced(message, 10))
    after = answer.rows(log, lambda message: _priced(message, 1) if _page(message) != "/help" else None)
    assert priced_rows(stage.spark, table) == before
    old_files = {each.path: (table.place / each.path).stat().st_mtime_ns for each in table.files()}

    begin, end = BEGIN + 3_500, BEGIN + 5_000
    outcome = stage.later(options=right, begin_ms=begin, end_ms=end)
    want = answer.reloaded(before, after, lambda place, sent: begin <= sent < end)
    assert priced_rows(stage.spark, table) == want
    assert outcome.numbers["rows_before"] > outcome.numbers["rows_after"] > 0
    untouched = [path for path, at in old_files.items() if path in {each.path for each in table.files()}]
    assert 0 < len(untouched) < len(old_files)
    assert all((table.place / path).stat().st_mtime_ns == old_files[path] for path in untouched)

    outcome = stage.later(options={**right, "offsets": "0:10-60,1:400-9999"})
    inside = {0: range(10, 60), 1: range(400, 9999)}
    want = answer.reloaded(want, after, lambda place, sent: place[1] in inside[place[0]])
    assert priced_rows(stage.spark, table) == want

    with pytest.raises(PipelineError, match="'member' is string in the table and would become int"):
        stage.later(options={"columns": "1 AS member", "offsets": "0:0-5"})
    assert priced_rows(stage.spark, table) == want


def priced_rows(spark: Any, table: Table) -> dict[answer.Place, tuple[int, Any]]:
    return by_place(table.read(spark).selectExpr(*PLACE, "member", "price").collect(), tuple)


def _priced(message: Message, factor: int) -> tuple[str, int]:
    return message.key.decode(), json.loads(message.value)["price_cents"] * factor


def _page(message: Message) -> str:
    return str(json.loads(message.value)["page"])


def _operation(place: Path) -> str:
    return str(json.loads(place.read_text().splitlines()[0])["commitInfo"]["operation"])


def _other_readers_agree(table: Table, count: int) -> None:
    """A reader of Delta that has nothing to do with us or with Spark, where it is installed."""
    try:
        from deltalake import DeltaTable
    except ImportError:
        return
    rows = DeltaTable(str(table.place)).to_pyarrow_table(columns=["partition", "offset"])
    places = set(zip(rows["partition"].to_pylist(), rows["offset"].to_pylist(), strict=True))
    assert rows.num_rows == len(places) == count
