"""The framework without Spark: folders and locks, the registry, spans, what went wrong, declarative folders, times."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from barnabas.cli.common.failure import Failure
from barnabas.cli.pipeline.new import write
from barnabas.cli.pipeline.run import _time
from barnabas.pipelines.activity import PIPELINE
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import Pipeline, declarative, registry
from barnabas.pipelines.framework.context import renamed
from barnabas.pipelines.framework.failures import explain
from barnabas.pipelines.framework.run_directory import RunDirectory, houses
from barnabas.pipelines.framework.running import Wanted
from barnabas.pipelines.framework.spans import span_ms
from barnabas.pipelines.framework.topics import missing

# --- folders and locks ----------------------------------------------------------------------------------------------


def test_a_second_run_of_the_same_part_is_refused_and_the_other_part_is_not(tmp_path: Path) -> None:
    house = RunDirectory(tmp_path, "orders")
    with house.occupied("now"):
        with pytest.raises(PipelineError, match=r"runs already.*barnabas pipeline stop orders"), house.occupied("now"):
            pass
        with RunDirectory(tmp_path, "orders").occupied("later"):
            pass
    with house.occupied("now"):
        pass


def test_what_a_run_tells_is_there_as_long_as_it_runs(tmp_path: Path) -> None:
    house = RunDirectory(tmp_path, "orders")
    assert house.state("now") is None and houses(tmp_path) == []
    with house.occupied("now"):
        house.tell("now", {"pid": 7, "results": 3})
        assert house.state("now") == {"pid": 7, "results": 3}
    assert house.state("now") is None
    assert [each.pipeline for each in houses(tmp_path)] == ["orders"]


def test_a_killed_run_leaves_no_trace_in_the_status(tmp_path: Path) -> None:
    code = f"""
import os, sys, signal
from pathlib import Path
from barnabas.pipelines.framework.run_directory import RunDirectory
house = RunDirectory(Path({str(tmp_path)!r}), "orders")
with house.occupied("now"):
    house.tell("now", {{"pid": os.getpid()}})
    print("up", flush=True)
    signal.pause()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "up\n"
        house = RunDirectory(tmp_path, "orders")
        assert house.state("now") == {"pid": process.pid}
        process.kill()
        process.wait()
        assert house.state("now") is None
        assert house.stop("now") is False


def test_stop_ends_the_process_and_waits_for_it(tmp_path: Path) -> None:
    code = f"""
import os, time
from pathlib import Path
from barnabas.pipelines.framework.run_directory import RunDirectory
house = RunDirectory(Path({str(tmp_path)!r}), "orders")
with house.occupied("now"):
    house.tell("now", {{"pid": os.getpid()}})
    print("up", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "up\n"
        assert RunDirectory(tmp_path, "orders").stop("now") is True
        assert process.wait(5) == -15


def test_progress_belongs_to_one_cluster(tmp_path: Path) -> None:
    house = RunDirectory(tmp_path, "orders")
    with house.occupied("now"):
        house.belongs_to("one", fresh=False)
        (house.folder / "checkpoints").mkdir()
        house.belongs_to("one", fresh=False)
        with pytest.raises(PipelineError, match=r"another cluster.*--fresh"):
            house.belongs_to("two", fresh=False)
        house.belongs_to("two", fresh=True)
        assert not (house.folder / "checkpoints").exists()


# --- which pipelines ------------------------------------------------------------------------------------------------


def test_the_six_are_there_with_all_that_makes_a_pipeline() -> None:
    found = {each.name: each for each in registry.built_in()}
    assert tuple(found) == registry.BUILT_IN
    for each in found.values():
        assert each.summary and (each.has("now") or each.has("later")) and each.has("generate")
        assert bool(each.now_summary) == each.has("now") and bool(each.later_summary) == each.has("later")


def test_listing_them_does_not_import_spark() -> None:
    code = (
        "import sys; from barnabas.pipelines.framework import registry; registry.built_in();"
        "assert 'pyspark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


def test_a_misspelt_name_finds_its_neighbour() -> None:
    with pytest.raises(PipelineError, match="Did you mean 'activity'"):
        registry.find("activty")
    with pytest.raises(PipelineError, match=r"no file 'nowhere.py'"):
        registry.find("nowhere.py")


def test_a_new_pipeline_is_found_and_whole(tmp_path: Path) -> None:
    path = write("my_orders", tmp_path)
    found = registry.find(str(path))
    assert found.name == "my_orders" and all(found.has(part) for part in ("now", "later", "generate"))
    record = next(iter(found.generate(1, 1_790_000_000_000, 10)))
    assert record.topic == "my_orders.orders" and set(record.value) == {"id", "item", "price", "time"}
    with pytest.raises(Failure, match="is there already"):
        write("my_orders", tmp_path)
    for bad in ("My", "1x", "a-b", "../x", ""):
        with pytest.raises(Failure, match="no good name"):
            write(bad, tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1", "defines no pipeline"),
        ("import nonsense_that_is_not_there", "cannot be loaded: ModuleNotFoundError"),
        ("def (", "cannot be loaded: SyntaxError"),
        (
            "from barnabas.pipelines.framework import Pipeline\nclass A(Pipeline): pass\nclass B(Pipeline): pass",
            "several pipelines",
        ),
    ],
)
def test_a_file_that_is_no_pipeline_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(PipelineError, match=told) as error:
        registry.find(str(path))
    assert "\n" not in str(error.value)


# --- what was asked for ---------------------------------------------------------------------------------------------


def wanted(tmp_path: Path, **more: object) -> Wanted:
    return Wanted(PIPELINE, "127.0.0.1:1", tmp_path, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"options": {"windw": "1h"}}, "no option 'windw'. It has after, "),
        ({"topics": {"searches": "x"}}, "no topic 'searches'. It has activity.jobs"),
        ({"topics": {"activty.views": "x"}}, "Did you mean 'activity.views'?"),
        ({"topics": {"activity.views": "x,y"}}, "takes one topic, not 'x,y'"),
        ({"begin_ms": 2, "end_ms": 2}, "nothing between them"),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(tmp_path: Path, more: dict[str, object], told: str) -> None:
    with pytest.raises(PipelineError, match=told):
        wanted(tmp_path, **more).check()


def test_a_pipeline_without_that_part_says_the_other(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="nothing to run now: try --later"):
        Wanted(registry.find("restore"), "127.0.0.1:1", tmp_path).check()


def test_a_dead_letter_topic_follows_its_topic() -> None:
    assert renamed({"a": "b"}, "a") == "b"
    assert renamed({"a": "b"}, "a.dead-letter") == "b.dead-letter"
    assert renamed({}, "c.dead-letter") == "c.dead-letter"


def test_a_missing_topic_names_its_neighbour() -> None:
    told = str(missing("events", "ordres", ["orders", "__x"], generates=True))
    assert told.endswith("Did you mean --topic events=orders? Or bring believable data with --generate 200")
    assert str(missing("events", "orders", [], generates=False)).endswith("Create it: barnabas topic create orders.")


@pytest.mark.parametrize(("text", "ms"), [("24h", 86_400_000), ("500ms", 500), ("1.5 s", 1500), ("10m", 600_000)])
def test_spans(text: str, ms: int) -> None:
    assert span_ms(text, "window") == ms


@pytest.mark.parametrize("text", ["", "24", "h", "-1h", "1 fortnight", "1h30m"])
def test_what_is_no_span_is_refused_by_name(text: str) -> None:
    with pytest.raises(PipelineError, match=r"^window="):
        span_ms(text, "window")


def test_times_of_from_and_to() -> None:
    now_ms = time.time() * 1000
    assert _time(None, "--from") is None
    assert abs((_time("-2h", "--from") or 0) - (now_ms - 7_200_000)) < 2000
    assert _time("1790000000000", "--to") == 1_790_000_000_000
    assert _time("beginning", "--from") == 0 and _time("end", "--to") is None
    for bad in ("17", "-50", "soon"):
        with pytest.raises(Failure, match="is not a time"):
            _time(bad, "--from")


# --- what went wrong ------------------------------------------------------------------------------------------------


def test_our_own_error_is_found_between_stack_traces() -> None:
    text = """[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted
Traceback (most recent call last):
  File "worker.py", line 1
barnabas.pipelines.errors.PipelineError: data was lost: orders-0 ends before 5 SQLSTATE: XXKST
\tat org.apache.spark.Thing(Thing.scala:1)"""
    assert explain(RuntimeError(text)) == "data was lost: orders-0 ends before 5"


def test_a_python_error_of_the_user_is_named() -> None:
    text = "Task failed\nTraceback (most recent call last):\n  File\nZeroDivisionError: division by zero\n\n\tat x"
    assert explain(RuntimeError(text)) == "ZeroDivisionError: division by zero"


def test_sparks_own_errors_lose_their_codes_and_plans() -> None:
    text = "[STREAM_FAILED] Query [id = 1] terminated with exception: [NO_SUCH] It is gone SQLSTATE: 42K09\nplan"
    assert explain(RuntimeError(text)) == "RuntimeError: It is gone"
    assert "\n" not in explain(RuntimeError("a\nb\nc")) and len(explain(RuntimeError("x" * 5000))) <= 400


def test_a_worker_that_died_is_said_so() -> None:
    assert (
        explain(RuntimeError("SparkException: Python worker exited unexpectedly (crashed)")) == "a Python worker died"
    )


# --- declarative folders --------------------------------------------------------------------------------------------


def test_which_folders_are_declarative(tmp_path: Path) -> None:
    assert not declarative.is_one(tmp_path)
    (tmp_path / "tables.py").write_text("from pyspark import pipelines as dp\n")
    assert declarative.is_one(tmp_path)
    (tmp_path / "pipeline.py").write_text("")
    assert not declarative.is_one(tmp_path), "a folder with a pipeline.py is one of ours"
    spec = tmp_path / "sub" / "spark-pipeline.yml"
    spec.parent.mkdir()
    spec.write_text("name: x\n")
    assert declarative.is_one(spec) and declarative.is_one(spec.parent)


def test_a_spec_is_made_in_our_folder_and_names_each_file(tmp_path: Path) -> None:
    mine, house = tmp_path / "mine", tmp_path / "house"
    (mine / "deep").mkdir(parents=True)
    house.mkdir()
    (mine / "a.py").write_text("import pyspark.pipelines as dp\n")
    (mine / "deep" / "b.sql").write_text("CREATE MATERIALIZED VIEW b AS SELECT 1;")
    (mine / "README.md").write_text("not a definition")
    spec = declarative._made_spec(mine, house, "mine")
    text = spec.read_text()
    assert "definitions/a.py" in text and "definitions/deep/b.sql" in text and "README" not in text
    assert (house / "definitions" / "a.py").exists()
    assert sorted(each.name for each in mine.iterdir()) == ["README.md", "a.py", "deep"]


def test_declarative_runs_only_over_connect(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="over Spark Connect"):
        declarative._remote("spark://host:7077")
    assert declarative._remote("local[2]") == "local[2]"


def test_pipeline_json_lists_topics_and_options() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "barnabas.cli.main", "pipeline", "list", "--json"], capture_output=True, text=True
    )
    listed = {each["name"]: each for each in json.loads(done.stdout)}
    assert listed["activity"]["writes"] == ["activity.recommendations"]
    assert listed["restore"]["now"] is None


def test_the_base_has_no_parts_of_its_own() -> None:
    assert not any(Pipeline.has(part) for part in ("now", "later", "generate"))


def test_progress_of_another_version_says_what_to_do() -> None:
    text = "[STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA] Streaming stateful operator name does not match"
    assert explain(RuntimeError(text)).endswith("use --fresh")


def test_a_file_that_is_probably_meant_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").touch()
    for wanted in ("shp.py", "shop", str(tmp_path / "shp.py")):
        with pytest.raises(PipelineError, match=r"Did you mean '.*shop\.py'\?"):
            registry.find(wanted)
    with pytest.raises(PipelineError, match="barnabas pipeline list shows what there is"):
        registry.find("wholly-different")
