"""Parts of `barnabas demo bus` that need no server: the rule for anomalies, counts, definitions, Java, programs."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from barnabas.cli.demo.bus import screen
from barnabas.cli.demo.bus.company import Company
from barnabas.cli.demo.bus.counting.ends import Compared, End, last_by_key
from barnabas.cli.demo.bus.counting.topics import TopicCount
from barnabas.cli.demo.bus.definitions import write_definitions
from barnabas.cli.demo.bus.functions.anomalies import Sensor
from barnabas.cli.demo.bus.servers import java, packages
from barnabas.cli.demo.bus.servers.missing import Missing, need_modules
from barnabas.connect.definition.loading import load_file


def test_a_value_far_off_is_an_anomaly_and_those_around_it_are_not() -> None:
    chance, sensor, found = random.Random(7), Sensor(), []
    for number in range(1, 200):
        celsius = 40 + chance.uniform(-0.4, 0.4) + (9 if number % 50 == 0 else 0)
        if sensor.deviation(number, celsius) is not None:
            found.append(number)
    assert found == [50, 100, 150]


def test_a_measurement_that_comes_again_gets_the_same_answer() -> None:
    sensor = Sensor()
    for number in range(1, 20):
        sensor.deviation(number, 40 + number % 3)
    first = sensor.deviation(20, 80)
    assert first is not None and sensor.deviation(20, 80) == first
    assert sensor.deviation(19, 80) is None


def test_of_rows_in_parquet_the_last_one_of_a_key_counts() -> None:
    rows = [(1, 5, "b", None, 7), (0, 2, "a", True, None), (0, 1, "a", None, 3), (1, 4, "b", None, 6)]
    assert last_by_key(rows) == {"b": 7}
    assert last_by_key([*rows, (0, 3, "a", None, 9)]) == {"b": 7, "a": 9}


def test_a_topic_is_counted_by_records_and_by_keys() -> None:
    count = TopicCount(lambda key, row: key)
    for key, value in ((b"1", {"cents": 5}), (b"2", {"cents": 6}), (b"1", {"cents": 7}), (b"2", None)):
        count.add(key, None if value is None else msgspec.json.encode(value))
    assert (count.records, count.rows, count.cents) == (4, 1, 7)
    count.add(b"", msgspec.json.encode({"sensor": "probe", "number": 1}))
    assert (count.records, count.probes) == (4, 1)


def test_ends_that_differ_from_the_first_are_named() -> None:
    ends = [End("here", 3, 10), End("there", 3, 10), End("elsewhere", 3, 11), End("nowhere", 2, 10)]
    assert [each.where for each in Compared("orders", ends).differing] == ["elsewhere", "nowhere"]


def test_what_differs_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    good = Compared("log lines", [End("written", 7), End("in topic logs", 7)])
    assert screen.tell_counts([good], ["orders: no database"])
    told = capsys.readouterr().out
    assert "all agree" in told and "no database" not in told
    bad = Compared("orders", [End("rows", 3, 1050), End("documents", 3, 1050), End("in DuckDB", 2, 700)])
    assert not screen.tell_counts([good, bad], ["orders-warehouse: no database"])
    told = capsys.readouterr().out
    assert "orders differ: rows: 3 of 10.50; in DuckDB: 2 of 7.00" in told and "all agree" not in told
    assert "orders-warehouse: no database" in told


def test_definitions_are_right_for_whatever_servers_there_are(tmp_path: Path) -> None:
    company = Company(tmp_path, tmp_path / "work", may_install=False)
    company.postgres = company.opensearch = company.s3 = company.mosquitto = None
    files = write_definitions(company, "127.0.0.1:1", company.definitions, on_spark=False)
    assert [each.name for file in files for each in load_file(file)] == ["logs"]


def test_all_definitions_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    company = Company(tmp_path, tmp_path / "work", may_install=False)
    assert company.postgres is not None
    monkeypatch.setattr(company.postgres, "_folder", tmp_path)
    monkeypatch.setenv("OPENSEARCH_URL", "https://me:secret@search.example:9200")
    files = write_definitions(company, "127.0.0.1:1", company.definitions, on_spark=False)
    names = {each.name for file in files for each in load_file(file)}
    assert names == {
        "logs", "orders", "enrich", "orders-search", "orders-lake", "orders-warehouse", "sensors", "sensors-alerts",
        "logs-search",
    }  # fmt: skip
    assert not any("secret@" in file.read_text() for file in files)
    on_spark = write_definitions(company, "127.0.0.1:1", tmp_path / "other", on_spark=True)
    assert {each.stem for each in files} - {each.stem for each in on_spark} == {"enrich"}
    assert (tmp_path / "other" / "enrich_on_spark.py").is_file()


def test_the_first_java_that_is_new_enough_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, version in (("jdk-a", "17.0.2"), ("jdk-b", "21.0.1"), ("jdk-c", "1.8.0_392")):
        home = tmp_path / name
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").touch(0o755)
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    monkeypatch.setattr(java, "JVM_FOLDERS", (tmp_path,))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk-a"))
    assert java.find_java(17) == tmp_path / "jdk-a" / "bin" / "java"
    assert java.find_java(21) == tmp_path / "jdk-b" / "bin" / "java"
    with pytest.raises(Missing, match="there is no Java 99 or newer here"):
        java.find_java(99)


def test_nothing_is_installed_unless_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Missing, match=r"x is not installed\. As root: apt-get install px, or"):
        packages.install("x", "px", allowed=False)
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/apt-get")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(Missing, match="--install needs root"):
        packages.install("x", "px", allowed=True)
    with pytest.raises(Missing, match=r"pip install 'barnabas\[connect\]'"):
        need_modules("msgspec", "no_such_package")
