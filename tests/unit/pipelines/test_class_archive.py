"""Spark's classes kept ready for Java: which archive is used, and which is written."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from barnabas.pipelines import class_archive
from barnabas.pipelines.class_archive import java_options


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home = tmp_path / "java"
    home.mkdir()
    (home / "release").write_text('JAVA_VERSION="17.0.15"\n')
    return home


def written(options: str, seconds_ago: float) -> Path:
    """As Java does at the end of the run that got these options."""
    place = Path(options.split("ArchiveClassesAtExit=")[1].split()[0])
    place.write_bytes(b"classes")
    os.utime(place, (time.time() - seconds_ago,) * 2)
    return place


def test_the_first_run_writes_what_the_next_one_uses(java: Path, tmp_path: Path) -> None:
    first = java_options(java, tmp_path, "activity live")
    place = written(first, seconds_ago=60)
    second = java_options(java, tmp_path, "activity live")
    archive = Path(second.split("SharedArchiveFile=")[1].split()[0])
    assert archive.read_bytes() == b"classes" and archive.parent == place.parent and not place.exists()
    assert java_options(java, tmp_path, "activity live") == second


def test_what_is_still_being_written_is_left_alone(java: Path, tmp_path: Path) -> None:
    place = written(java_options(java, tmp_path, "activity live"), seconds_ago=0)
    assert "ArchiveClassesAtExit" in java_options(java, tmp_path, "activity live") and place.exists()


def test_one_archive_is_enough(java: Path, tmp_path: Path) -> None:
    place = written(java_options(java, tmp_path, "lake now"), seconds_ago=60)
    another = place.with_suffix(".1.new")
    another.write_bytes(b"the same classes")
    os.utime(another, (time.time() - 60,) * 2)
    java_options(java, tmp_path, "lake now")
    java_options(java, tmp_path, "lake now")
    assert [each.suffix for each in place.parent.iterdir()] == [".jsa"]


@pytest.mark.parametrize("other", ["java", "spark", "run"])
def test_an_archive_is_for_one_java_one_spark_and_one_kind_of_run(java: Path, tmp_path: Path, other: str) -> None:
    written(java_options(java, tmp_path, "lake now"), seconds_ago=60)
    if other == "java":
        (java / "release").write_text('JAVA_VERSION="21.0.1"\n')
    spark = tmp_path / "elsewhere" if other == "spark" else tmp_path
    assert "ArchiveClassesAtExit" in java_options(java, spark, "lake later" if other == "run" else "lake now")


def test_without_a_place_for_it_there_is_none(java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(java / "release"))
    assert java_options(java, tmp_path, "lake now") == ""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "with a space"))
    assert java_options(java, tmp_path, "lake now") == ""


def test_whoever_has_a_way_of_their_own_is_left_alone() -> None:
    assert class_archive.may_be_used(("-Xmx2g", ""))
    assert not class_archive.may_be_used(("-Xshare:off", ""))
    assert not class_archive.may_be_used(("", "-XX:SharedArchiveFile=/mine.jsa"))
