"""Settings from outside: flags, environment, TOML, and a Kafka server.properties as it is."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.settings.sources import environment_name, load_settings
from barnabas.model.errors import KafkaError
from barnabas.model.properties import parse_properties
from barnabas.model.settings import NODE_SETTINGS

KAFKAS_OWN = r"""
# A file as Kafka ships it.
process.roles=broker,controller
node.id=4
! another comment
listeners = PLAINTEXT://:9092,CONTROLLER://:9093
advertised.listeners: PLAINTEXT://broker.example.org:9092
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,\
    SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
controller.listener.names CONTROLLER
log.dirs=/var/lib/caf\u00e9/a\=b
log.retention.hours=24
listener.name.plaintext.ssl.keystore.location=/x
zookeeper.connect=localhost:2181
log.retention.hour=3
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_server_properties_works_as_it_is(tmp_path: Path) -> None:
    loaded = load_settings(config=write(tmp_path, "server.properties", KAFKAS_OWN), environ={})
    settings = loaded.settings
    assert settings.int("node.id") == 4
    assert [x.port for x in settings.client_listeners()] == [9092]
    assert settings.advertised_listeners()[0].host == "broker.example.org"
    assert settings.list("log.dirs") == ("/var/lib/café/a=b",)
    assert settings.topic({})["retention.ms"] == 24 * 3_600_000
    assert len(loaded.warnings) == 2
    assert "unknown setting zookeeper.connect" in loaded.warnings[0]
    assert "did you mean log.retention.hours?" in loaded.warnings[1]
    assert "server.properties:15" in loaded.warnings[1]


def test_flags_beat_environment_beats_file_beats_fallback(tmp_path: Path) -> None:
    config = write(tmp_path, "x.toml", "num.partitions = 2\nfetch.max.bytes = 2000\nmessage.max.bytes = 20")
    loaded = load_settings(
        flags={"num.partitions": "4"},
        environ={"BARNABAS_NUM_PARTITIONS": "3", "BARNABAS_FETCH_MAX_BYTES": "3000", "HOME": "/"},
        config=config,
        fallback={"message.max.bytes": "10", "num.partitions": "1", "node.id": "9"},
    )
    settings = loaded.settings
    assert [settings[n] for n in ("num.partitions", "fetch.max.bytes", "message.max.bytes", "node.id")] == [
        4,
        3000,
        20,
        9,
    ]
    assert loaded.warnings == ()


def test_the_folder_of_a_file_beats_the_one_the_program_falls_back_to(tmp_path: Path) -> None:
    usual = {"log.dirs": "/usual"}
    for name in ("log.dir", "log.dirs"):
        config = write(tmp_path, "server.properties", f"{name}=/data")
        assert load_settings(config=config, environ={}, fallback=usual).settings.data_directories() == ("/data",)
    assert load_settings(environ={}, fallback=usual).settings.data_directories() == ("/usual",)


def test_toml_takes_dotted_names_and_tables(tmp_path: Path) -> None:
    text = """
auto.create.topics.enable = false
"log.dir.failure.timeout.ms" = 5
[log]
dirs = "/data"
retention.ms = -1
cleaner = { threads = 2, io.buffer.load.factor = 0.5 }
[log.segment]
bytes = 2_000_000
[log.cleanup]
policy = ["compact", "delete"]
"""
    settings = load_settings(config=write(tmp_path, "a.toml", text), environ={}).settings
    assert settings.bool("auto.create.topics.enable") is False
    assert settings.list("log.dirs") == ("/data",)
    assert settings["log.retention.ms"] == -1
    assert settings["log.cleaner.threads"] == 2 and settings["log.cleaner.io.buffer.load.factor"] == 0.5
    assert settings["log.segment.bytes"] == 2_000_000 and settings["log.dir.failure.timeout.ms"] == 5
    assert settings.list("log.cleanup.policy") == ("compact", "delete")


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        (
            "a.toml",
            "x = 1\n[log.segment]\n\nbytes = 5\n",
            r"a\.toml:4: log\.segment\.bytes='5': must be 1048576 or more",
        ),
        ("a.toml", "log.segment.bytes = \n", r"a\.toml: .*line 1"),
        ("a.toml", "log.segment.bytes = 1979-05-27\n", r"a\.toml:1: log\.segment\.bytes: expected text"),
        ("a.properties", "\n#\nnum.partitions=none\n", r"a\.properties:3: num\.partitions='none': expected a whole"),
        ("a.properties", "x=" + "y" * (1 << 20), "larger than"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    with pytest.raises(KafkaError, match=complaint) as refused:
        load_settings(config=write(tmp_path, name, text), environ={})
    assert "\n" not in refused.value.message


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(KafkaError, match=r"cannot read .*No such file"):
        load_settings(config=tmp_path / "nope.toml", environ={})


def test_a_variable_that_nearly_names_a_setting_is_pointed_out() -> None:
    loaded = load_settings(environ={"BARNABAS_LOG_SEGMENT_BYTE": "5", "BARNABAS_TRACE": "1"})
    assert loaded.warnings == (
        "environment: unknown setting BARNABAS_LOG_SEGMENT_BYTE: did you mean BARNABAS_LOG_SEGMENT_BYTES?",
    )


def test_each_setting_has_a_variable_of_its_own() -> None:
    assert len({environment_name(name) for name in NODE_SETTINGS}) == len(NODE_SETTINGS)


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("a=b", [("a", "b")]),
        ("a = b ", [("a", "b ")]),
        ("a:b", [("a", "b")]),
        ("a b c", [("a", "b c")]),
        ("a\\=b=c", [("a=b", "c")]),
        ("a=b\\\n   c", [("a", "bc")]),
        ("a=b\\\\\nc=d", [("a", "b\\"), ("c", "d")]),
        ("a", [("a", "")]),
        ("a=\\t\\u0041\\q", [("a", "\tAq")]),
        ("  # no\r\n ! no\r\n\r\na=1\rb=2", [("a", "1"), ("b", "2")]),
        ("a=#b", [("a", "#b")]),
        ("a=b\\", [("a", "b")]),
        ("=x", [("", "x")]),
        ("a= = b", [("a", "= b")]),
        ("a=1\n\\\n# c", [("a", "1")]),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, entries: list[tuple[str, str]]) -> None:
    assert [(name, value) for name, value, _ in parse_properties(text)] == entries


@given(st.text(alphabet="ab=: \t\\\n#!u0", max_size=60))
def test_no_text_breaks_the_properties_reader(text: str) -> None:
    for name, value, line in parse_properties(text):
        assert isinstance(name, str) and isinstance(value, str) and 1 <= line <= text.count("\n") + 1
