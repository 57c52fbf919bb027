"""`barnabas pipeline run` from its words to the summary, over a real node. Spark alone is replaced."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas import Admin
from barnabas.pipelines.framework.run_directory import RunDirectory
from barnabas.testing import RunningNode
from tests.support.members import until
from tests.unit.cli.typed import Typed

OWN = "from tests.support.without_spark import Shop\nPIPELINE = Shop()\n"


@pytest.fixture
def shop(barnabas_node: RunningNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a pipeline; its topics, and a folder of its own."""
    monkeypatch.setenv("BARNABAS_BOOTSTRAP", barnabas_node.bootstrap)
    monkeypatch.setenv("BARNABAS_PIPELINES", str(tmp_path / "home"))
    monkeypatch.setattr("barnabas.cli.pipeline.run.READ_BACK_S", 0.3)
    monkeypatch.setattr("barnabas.cli.pipeline.screen.LINE_S", 0.2)
    spark: Any = SimpleNamespace(stop=lambda: None, sparkContext=SimpleNamespace(uiWebUrl=None))
    for name, instead in (
        ("spark_start.is_there", lambda: None),
        ("spark_start.start", lambda wanted, log, tasks, say: (spark, True, tasks)),
        ("realtime.tasks_wanted", lambda wanted, place, queries, say: 0),
    ):
        monkeypatch.setattr(f"barnabas.pipelines.framework.{name}", instead)
    # The screen reads results from the end on, and this pipeline has written its one before Spark would be up.
    monkeypatch.setattr("barnabas.pipelines.framework.readback._end", lambda *_: 0)
    with Admin(barnabas_node.bootstrap) as admin:
        admin.create_topic("orders", partitions=1)
    file = tmp_path / "shop.py"
    file.write_text(OWN)
    return file


def test_it_reads_what_is_there_and_ends(typed: Typed, shop: Path, tmp_path: Path) -> None:
    said = typed("pipeline", "run", shop, "--once")
    assert said.code == 0, said.all
    assert "starting Spark ..." in said.err
    summary = next(line for line in said.lines() if line.startswith("shop --now ran"))
    assert summary.endswith(": 24 rows in 2 batches, 1 result, 0 dead letters, 0 late rows left out")
    assert any(line.startswith("Spark's own start ") and "first result" in line for line in said.lines())
    assert said.lines()[-1] == f"progress and tables {tmp_path / 'home' / 'shop'}"


def test_it_ends_after_its_seconds_with_data_of_its_own(typed: Typed, shop: Path) -> None:
    said = typed("pipeline", "run", shop, "--seconds", 1, "--generate", 200)
    assert said.code == 0 and any(" lag " in line and " batch 250 ms " in line for line in said.lines())
    (told,) = [line for line in said.lines() if "records written for it" in line]
    assert int(told.split(", ")[-1].split()[0].replace(",", "")) > 10


def test_what_runs_is_shown_refused_a_second_time_and_stopped(typed: Typed, shop: Path, tmp_path: Path) -> None:
    house, seen = RunDirectory(tmp_path / "home", "shop"), dict[str, Any]()

    def meanwhile() -> None:
        until(lambda: "queries" in (house.state("now") or {}), "it tells how it is")
        seen["state"] = house.state("now")
        try:
            with house.occupied("now"):
                pass
        except Exception as refused:
            seen["refused"] = str(refused)
        seen["stopped"] = house.stop("now")

    beside = threading.Thread(target=meanwhile)
    beside.start()
    said = typed("pipeline", "run", shop, "--quiet")
    beside.join(30)
    assert said.code == 0 and said.lines()[0].startswith("shop --now ran ")
    assert seen["stopped"] and "Stop it with: barnabas pipeline stop shop" in seen["refused"]
    assert {"pipeline": "shop", "part": "now"}.items() <= seen["state"].items()
    assert seen["state"]["queries"][0]["rows"] == 24
    said = typed("pipeline", "stop", "shop")
    assert said.code == 1 and "shop does not run. barnabas pipeline status shows what does." in said.err


def test_the_bulk_half_leaves_its_files_and_numbers(typed: Typed, shop: Path, tmp_path: Path) -> None:
    said = typed("pipeline", "run", shop, "--later", "--from", "yesterday", "--to", "end")
    assert said.code == 0
    assert said.lines()[0] == "tea 2 orders"
    assert said.lines()[1].startswith("shop --later took ") and said.lines()[1].endswith(": 1 items, 2,000 orders read")
    assert said.lines()[2] == f"report {tmp_path / 'home' / 'shop' / 'revenue.csv'}"


def test_status_of_what_runs(typed: Typed, tmp_path: Path) -> None:
    assert typed("pipeline", "status", "--data", tmp_path).out == "no pipeline runs\n"
    house = RunDirectory(tmp_path, "shop")
    queries = [{"name": "q", "batches": 1, "rows": 7, "rows_per_s": 1.0, "trouble": ""}]
    state = {"pid": 7, "pipeline": "shop", "part": "now", "begun_at": 0.0, "told_at": 4e9, "queries": queries}
    with house.occupied("now"):
        house.tell("now", {**state, "ui": "http://127.0.0.1:4040"})
        said = typed("pipeline", "status", "--data", tmp_path)
        assert said.lines()[0].startswith("pipeline part process up rows") and said.lines()[1].startswith("shop now 7 ")
        assert said.lines()[2] == "Spark's own pages of shop: http://127.0.0.1:4040"
        assert typed("pipeline", "status", "shop.py", "--json", "--data", tmp_path).json()[0]["pid"] == 7


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--now", "--later"), 2, "--now and --later are two different runs"),
        (("--later", "--once"), 2, "--once, --generate and --seconds are for --now"),
        (("--from", "whenever"), 2, "--from 'whenever' is not a time. Write 2026-05-01T10:00"),
        (("--to", "1200"), 2, "--to '1200' is not a time"),
        (("--topic", "ordres=mine"), 1, "shop has no topic 'ordres'. It has orders, revenue. Did you mean 'orders'?"),
        (("--set", "window=1h"), 1, "shop has no option 'window'. It has none."),
        (("--topic", "orders=a,b"), 1, "takes one topic, not 'a,b'"),
        (("--topic", "orders=mine"), 1, "there is no topic 'mine'"),
        (("--later", "--from", "today", "--to", "yesterday"), 1, "--from lies behind --to"),
        (("--set", "window"), 2, "--set 'window' is not name=value"),
    ],
)
def test_what_cannot_be_run_is_one_line(typed: Typed, shop: Path, words: tuple[str, ...], code: int, told: str) -> None:
    said = typed("pipeline", "run", shop, *words)
    assert said.code == code and told in said.err and said.err.count("\n") == 1


def test_a_pipeline_without_a_generator(typed: Typed, shop: Path) -> None:
    shop.write_text(OWN.replace("PIPELINE = Shop()", "class Bare(Shop):\n    generate = Shop.__mro__[1].generate\n"))
    said = typed("pipeline", "run", shop, "--generate", 5)
    assert said.code == 1 and "shop has no generator of data" in said.err


def test_a_name_that_is_nearly_one(typed: Typed) -> None:
    said = typed("pipeline", "run", "activty")
    assert said.code == 1 and "there is no pipeline 'activty'. Did you mean 'activity'?" in said.err


@pytest.mark.parametrize("words", [("--seconds", "5"), ("--set", "a=b"), ("--from", "today")])
def test_a_folder_of_declarative_pipelines_takes_no_such_options(
    typed: Typed, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "spark-pipeline.yml").write_text("name: mine\n")
    said = typed("pipeline", "run", tmp_path, *words)
    assert said.code == 2 and f"{words[0]} is not for a folder of Declarative Pipelines" in said.err


def test_those_that_ship_are_listed(typed: Typed) -> None:
    said = typed("pipeline", "list")
    assert said.code == 0 and any(line.startswith("activity ") for line in said.lines())
    assert any(line.startswith("--now ") for line in said.lines())
    found = {each["name"]: each for each in typed("pipeline", "list", "--json").json()}
    assert "activity.searches" in found["activity"]["reads"] and json.dumps(found["lake"]["options"])


def test_a_new_one_is_written_once(typed: Typed, tmp_path: Path) -> None:
    said = typed("pipeline", "new", "my_shop", "--folder", tmp_path / "made")
    file = tmp_path / "made" / "my_shop.py"
    assert said.code == 0 and said.lines()[0] == f"wrote {file}" and "class MyShop(Pipeline):" in file.read_text()
    compile(file.read_text(), file, "exec")
    said = typed("pipeline", "new", "my_shop", "--folder", tmp_path / "made")
    assert said.code == 1 and f"{file} is there already. Take another name, or --folder." in said.err
    said = typed("pipeline", "new", "My-Shop")
    assert said.code == 2 and "'My-Shop' is no good name" in said.err
