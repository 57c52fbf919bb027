"""What is asked of Ivy, and what becomes of its answers; nothing is fetched here (tests/spark does)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barnabas.pipelines import connector, ivy
from barnabas.pipelines.errors import PipelineError


def test_the_version_of_pyspark_comes_first() -> None:
    wanted = connector.wanted("4.9.0").versions
    assert wanted["spark-sql-kafka-0-10_2.13"] == ["4.9.0", "4.2.0"]
    assert wanted["spark-token-provider-kafka-0-10_2.13"] == ["4.9.0", "4.2.0", "4.1.0-preview1"]
    assert connector.wanted("4.2.0").versions["spark-sql-kafka-0-10_2.13"] == ["4.2.0"]


def test_a_mirror() -> None:
    assert 'root="https://mirror/maven"' in ivy.settings_xml("https://mirror/maven")
    assert "root" not in ivy.settings_xml(None)


class _Ivy:
    """Has some versions; like the real one it retrieves nothing when a wish is not met."""

    def __init__(self, has: dict[str, str]) -> None:
        self.has = has
        self.asked: list[Any] = []

    def __call__(self, java: Path, program: Path, work: Path, jars: ivy.Jars, wanted: dict[str, str]) -> str:
        self.asked.append(dict(wanted))
        missing = [name for name, version in wanted.items() if self.has.get(name) != version]
        if missing:
            return "\n".join(f"\t\t:: org.apache#{name};{wanted[name]}: not found" for name in missing)
        (work / "jars").mkdir()
        for name, version in wanted.items():
            (work / "jars" / f"{name}-{version}.jar").touch()
        return ""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "ivy-2.5.3.jar").touch()
    monkeypatch.setattr(ivy, "find_java", lambda: tmp_path)
    return tmp_path


def test_what_is_missing_is_asked_for_in_the_next_version(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has = {"spark-sql-kafka-0-10_2.13": "4.2.0", "spark-token-provider-kafka-0-10_2.13": "4.1.0-preview1"}
    repository = _Ivy({**has, "kafka-clients": "3.9.2", "commons-pool2": "2.13.1"})
    monkeypatch.setattr(ivy, "_run_ivy", repository)
    ivy.fetch(connector.wanted("4.3.0"), home, home / "cache" / "spark-4.3.0")
    assert len(repository.asked) == 3
    assert len(list((home / "cache" / "spark-4.3.0").glob("*.jar"))) == 4
    assert [each.name for each in (home / "cache").iterdir()] == ["spark-4.3.0"]
    told = capsys.readouterr()
    assert told.out == ""
    first, last = told.err.splitlines()
    assert first.startswith("fetching Spark's Kafka connector") and "spark-sql-kafka-0-10_2.13 4.2.0" in last


def test_no_network_is_one_line_and_leaves_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ivy, "_run_ivy", lambda *_: "java.net.UnknownHostException: repo1\n\tat x")
    with pytest.raises(PipelineError, match=r"could not be fetched \(java.net.UnknownHostException: repo1\)") as told:
        ivy.fetch(connector.wanted("4.3.0"), home, home / "cache" / "spark-4.3.0")
    assert "\n" not in str(told.value)
    assert list((home / "cache").iterdir()) == []


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (
            "ERROR: Server access error at url http://mirror:81/a.pom (java.net.ConnectException: Connection refused)",
            "(mirror:81 is not reached: Connection refused)",
        ),
        (
            "WARN: Host mirror.invalid not found. url=http://mirror.invalid/a.pom",
            "(there is no host mirror.invalid here)",
        ),
    ],
)
def test_offline_says_what_is_missing_and_where_it_belongs(
    home: Path, monkeypatch: pytest.MonkeyPatch, told: str, why: str
) -> None:
    monkeypatch.setattr(ivy, "_run_ivy", lambda *_: f"{told}\n\t\t:: org.apache#kafka-clients;3.9.2: not found")
    folder = home / "cache" / "spark-4.3.0"
    with pytest.raises(PipelineError) as raised:
        ivy.fetch(connector.wanted("4.3.0"), home, folder)
    line = str(raised.value)
    assert why in line and "\n" not in line
    assert "put spark-sql-kafka-0-10_2.13-4.3.0.jar, spark-token-provider-kafka-0-10_2.13-4.3.0.jar," in line
    assert f"commons-pool2-2.13.1.jar into {folder}; BARNABAS_MAVEN_REPOSITORY names a mirror" in line
    many = ivy.Jars("S3", 1, "", {}, {f"jar{number}": ["1"] for number in range(9)})
    assert f"copy {folder} from a machine that has it" in ivy._failure(many, folder, [], told)


def test_jars_that_were_put_there_by_hand_must_be_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "barnabas" / "connector" / f"spark-{pyspark.__version__}"
    folder.mkdir(parents=True)
    for name in ("spark-sql-kafka-0-10_2.13-4.2.0", "kafka-clients-3.9.2"):
        (folder / f"{name}.jar").touch()
    with pytest.raises(PipelineError, match=r"no spark-token-provider-kafka-0-10_2.13 and no commons-pool2 in /"):
        connector.connector_jars()
    for name in ("spark-token-provider-kafka-0-10_2.13-4.2.0", "commons-pool2-2.13.1"):
        (folder / f"{name}.jar").touch()
    assert len(connector.connector_jars()) == 4
