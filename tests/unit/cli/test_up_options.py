"""`up` is read twice, quickly and by typer: both must understand the same."""

import inspect

import pytest
import typer.main

from barnabas.cli.app import app
from barnabas.cli.common.failure import Failure
from barnabas.cli.up import command as up_command
from barnabas.cli.up.options import ROWS, UpOptions, quick
from barnabas.cli.up.settings import flags, load, zones


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", UpOptions()),
        ("--port 0 --quiet", UpOptions(port=0, quiet=True)),
        ("-p 9093 -q -d data", UpOptions(port=9093, quiet=True, data="data")),
        ("--host=0.0.0.0 --port=1", UpOptions(host="0.0.0.0", port=1)),
        ("--set a=1 -s b=2=3", UpOptions(set=("a=1", "b=2=3"))),
        ("--nodes 5 --zone a,b,c --witness", UpOptions(nodes=5, zone="a,b,c", witness=True)),
        (
            "--config x.toml --advertise h:1 --log-level info",
            UpOptions(config="x.toml", advertise="h:1", log_level="info"),
        ),
    ],
)
def test_both_readers_agree(line: str, expected: UpOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    words = line.split()
    assert quick(words) == expected
    seen: list[UpOptions] = []
    monkeypatch.setattr("barnabas.cli.up.node.run", lambda options: seen.append(options) or 0)
    command = typer.main.get_command(app)
    command.main(["up", *words], standalone_mode=False)
    assert seen == [expected]


@pytest.mark.parametrize(
    "line", ["--help", "-h", "--port", "--port x", "--port -1", "--nope", "extra", "--quiet=yes", "--data --quiet"]
)
def test_what_is_not_ordinary_is_left_to_typer(line: str) -> None:
    assert quick(line.split()) is None


def test_the_table_is_the_whole_signature() -> None:
    assert list(inspect.signature(up_command.up).parameters) == [row.field for row in ROWS]
    assert {row.field for row in ROWS} == set(UpOptions.__dataclass_fields__)


def test_flags_become_settings_by_kafkas_names() -> None:
    options = UpOptions(host="::1", port=9, data="here", advertise="h.example:7", set=("log.retention.hours=24",))
    assert flags(options) == {
        "listeners": "PLAINTEXT://[::1]:9",
        "advertised.listeners": "PLAINTEXT://h.example:7",
        "log.dirs": "here",
        "log.retention.hours": "24",
    }
    assert flags(UpOptions(port=0)) == {"listeners": "PLAINTEXT://127.0.0.1:0"}
    assert flags(UpOptions()) == {}


@pytest.mark.parametrize(
    "options",
    [
        UpOptions(set=("x",)),
        UpOptions(set=("=1",)),
        UpOptions(port=70000),
        UpOptions(advertise="nohost"),
        UpOptions(advertise=":9"),
    ],
)
def test_wrong_options_are_usage_errors(options: UpOptions) -> None:
    with pytest.raises(Failure) as found:
        flags(options)
    assert found.value.code == 2


def test_a_zone_is_a_rack_and_a_witness_a_controller() -> None:
    assert flags(UpOptions(zone="c", witness=True)) == {"broker.rack": "c", "process.roles": "controller"}
    for wrong in (UpOptions(zone=""), UpOptions(zone="a,b"), UpOptions(witness=True, set=("process.roles=broker",))):
        with pytest.raises(Failure):
            flags(wrong)
    with pytest.raises(Failure, match="no cluster is named"):
        load(UpOptions(witness=True))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (UpOptions(zone="a,b,c"), ["a", "b", "c", "a", "b"]),
        (UpOptions(zone="a,b,c", witness=True), ["a", "b", "a", "b", "c"]),
        (UpOptions(zone="a", witness=True), ["a"] * 5),
        (UpOptions(), [None] * 5),
    ],
)
def test_nodes_take_zones_in_turn(options: UpOptions, expected: list[str | None]) -> None:
    assert zones(options, 5) == expected
