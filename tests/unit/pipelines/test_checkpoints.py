"""Where progress lies: addresses, what is refused, and what Spark is given for S3."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.pipelines import s3a
from barnabas.pipelines.activity import PIPELINE
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework.checkpoints import LocalCheckpoints, parse
from barnabas.pipelines.framework.realtime import LIVE, refuse_other_mode
from barnabas.pipelines.framework.run_directory import RunDirectory
from barnabas.pipelines.framework.running import Wanted
from barnabas.pipelines.ivy import Jars

AWS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION", "SPARK_HOME")


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in AWS:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "url"),
    [("s3a://bucket/a/b", "s3a://bucket/a/b"), ("s3://bucket/", "s3a://bucket"), ("hdfs://name:8020/x", "hdfs://name:8020/x"),
     ("file:///mnt/shared", "file:///mnt/shared")],
)  # fmt: skip
def test_addresses(text: str, url: str) -> None:
    assert parse(text) == url


@pytest.mark.parametrize("text", ["/mnt/shared", "bucket/path", "s3a://", "s3a://key:sesame@bucket/x", "s3a://a b"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(PipelineError, match="--checkpoints takes an address such as s3a://bucket/path") as told:
        parse(text)
    assert "sesame" not in str(told.value)


def test_an_address_is_looked_at_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="takes an address"):
        Wanted(PIPELINE, "127.0.0.1:1", tmp_path, checkpoints="somewhere").check()
    wanted = Wanted(PIPELINE, "127.0.0.1:1", tmp_path, checkpoints="s3://bucket/mine/")
    assert wanted.shared_url == "s3a://bucket/mine/activity"


def test_a_folder_of_checkpoints(tmp_path: Path) -> None:
    checkpoints = LocalCheckpoints(tmp_path / "checkpoints")
    assert checkpoints.queries() == set() and checkpoints.read("began.json") is None
    place = Path(checkpoints.place("sums"))
    (place / "commits").mkdir(parents=True)
    assert checkpoints.last_commit_ms("sums") is None
    (place / "commits" / "0").touch()
    checkpoints.write("began.json", "{}")
    assert checkpoints.queries() == {"sums"} and checkpoints.read("began.json") == "{}"
    assert checkpoints.last_commit_ms("sums") == int((place / "commits" / "0").stat().st_mtime * 1000)
    checkpoints.remove("sums")
    assert checkpoints.queries() == set()


def test_a_run_goes_on_where_its_progress_is(tmp_path: Path) -> None:
    house = RunDirectory(tmp_path, "orders")
    house.folder.mkdir()
    for _ in range(2):
        house.has_progress_in("s3a://bucket/mine/orders")
    for other in ("", "s3a://bucket/yours/orders"):
        with pytest.raises(PipelineError, match="lies in --checkpoints s3a://bucket/mine"):
            house.has_progress_in(other)
    house.belongs_to("one", fresh=True)
    house.has_progress_in("")
    (house.folder / "checkpoints").mkdir()
    house.has_progress_in("")
    with pytest.raises(PipelineError, match=f"lies in {house.folder}, without --checkpoints"):
        house.has_progress_in("s3a://bucket/mine/orders")


def test_a_live_run_does_not_begin_anew_by_micro_batches(tmp_path: Path) -> None:
    wanted = Wanted(PIPELINE, "127.0.0.1:1", tmp_path, master="spark://far:7077")
    refuse_other_mode(wanted, {LIVE, "table"}, 10)
    refuse_other_mode(wanted, {"recommend"}, 0)
    with pytest.raises(PipelineError, match="began in Real-Time Mode, for which Spark at spark://far:7077 has no room"):
        refuse_other_mode(wanted, {LIVE, "table"}, 0)


def test_settings_for_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3a, "s3a_jars", lambda conf: [Path("/cache/a.jar"), Path("/cache/b.jar")])
    plain = s3a.settings({})
    assert plain["spark.jars"] == "/cache/a.jar,/cache/b.jar"
    assert not any("endpoint" in name or "path.style" in name for name in plain)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://store:9000")
    other = s3a.settings({})
    assert other["spark.hadoop.fs.s3a.endpoint"] == "http://store:9000"
    assert other["spark.hadoop.fs.s3a.path.style.access"] == "true"
    assert other["spark.hadoop.fs.s3a.endpoint.region"] == "us-east-1"
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    said = {
        "spark.jars": "/mine.jar",
        "spark.hadoop.fs.s3a.path.style.access": "false",
        "spark.hadoop.fs.s3a.endpoint": "e",
    }
    mine = s3a.settings(said)
    assert mine["spark.jars"] == "/mine.jar,/cache/a.jar,/cache/b.jar"
    assert mine["spark.hadoop.fs.s3a.path.style.access"] == "false" and mine["spark.hadoop.fs.s3a.endpoint"] == "e"
    assert mine["spark.hadoop.fs.s3a.endpoint.region"] == "eu-central-1"


def test_jars_for_s3_are_those_of_sparks_hadoop_and_fetched_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    (home / "jars" / "hadoop-client-api-3.5.0.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fetched = []

    def fetch(jars: Jars, pyspark_home: Path, folder: Path) -> None:
        fetched.append(jars)
        folder.mkdir(parents=True)
        for name, (version,) in jars.versions.items():
            (folder / f"{name}-{version}.jar").touch()

    monkeypatch.setattr(s3a, "fetch", fetch)
    for _ in range(2):
        found = s3a.s3a_jars({})
        cache = tmp_path / "cache" / "barnabas" / "s3a" / "hadoop-3.5.0"
        assert cache / "hadoop-aws-3.5.0.jar" in found and len(found) == 36
    (jars,) = fetched
    assert jars.versions["hadoop-aws"] == ["3.5.0"] and jars.groups["hadoop-aws"] == "org.apache.hadoop"
    assert {
        version
        for name in jars.groups
        if jars.groups[name] == "software.amazon.awssdk"
        for version in jars.versions[name]
    } == {"2.35.4"}
    assert "bundle" not in jars.groups
    (cache / "s3-2.35.4.jar").unlink()  # s3-transfer-manager is still there
    with pytest.raises(PipelineError, match=r"is not whole: there is no s3 in "):
        s3a.s3a_jars({})

    assert s3a.s3a_jars({"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.5.0"}) == []
    (home / "jars" / "hadoop-aws-3.5.0.jar").touch()
    assert s3a.s3a_jars({}) == []
