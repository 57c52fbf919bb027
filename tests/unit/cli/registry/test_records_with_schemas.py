"""`produce --registry` and `consume --registry`: JSON in, records with schemas between, JSON out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas import Admin, Producer
from barnabas.testing import running_node
from tests.support.process import free_port
from tests.support.registry_thread import serving_registry
from tests.unit.cli.typed import Said, Typed

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "cents", "type": "long"}]}


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[str, str]]:
    with running_node() as node, serving_registry(node.bootstrap) as registry:
        yield node.bootstrap, registry


@pytest.fixture
def topic(servers: tuple[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A new one, which commands find with its cluster."""
    name = f"orders-{tmp_path.name[-1]}{abs(hash(tmp_path)) % 10_000}"
    monkeypatch.setenv("BARNABAS_BOOTSTRAP", servers[0])
    with Admin(servers[0]) as admin:
        admin.create_topic(name, partitions=1)
    return name


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    file = tmp_path / "order.avsc"
    file.write_text(json.dumps(ORDER))
    return file


def produced(typed: Typed, tmp_path: Path, topic: str, lines: str, *words: object) -> Said:
    file = tmp_path / "lines"
    file.write_text(lines)
    return typed("produce", topic, file, *words)


def test_lines_of_json_become_records_and_are_shown_again(
    typed: Typed, servers: tuple[str, str], topic: str, schema: Path, tmp_path: Path
) -> None:
    registry = ("--registry", servers[1])
    said = produced(typed, tmp_path, topic, '{"cents": 7}\nnull\n', *registry, "--value-schema", schema)
    assert said.code == 0, said.err
    assert produced(typed, tmp_path, topic, '{"cents": 9}\n', *registry).code == 0, "by the newest version"
    assert typed("consume", topic, *registry).lines() == ['{"cents":7}', "null", '{"cents":9}']
    bare = typed("consume", topic).out
    assert "cents" not in bare, "the bytes have no names of fields"
    rows = [json.loads(line) for line in typed("consume", topic, *registry, "--format", "json").out.splitlines()]
    assert [row["value"] for row in rows] == [{"cents": 7}, None, {"cents": 9}]


def test_keys_with_a_schema_and_without(
    typed: Typed, servers: tuple[str, str], topic: str, schema: Path, tmp_path: Path
) -> None:
    registry = ("--registry", servers[1], "--value-schema", schema)
    said = produced(typed, tmp_path, topic, 'a:{"cents": 1}\n', *registry, "--key-separator", ":")
    assert said.code == 0, said.err
    rows = '{"key": "b", "value": {"cents": 2}}\n{"key": {"cents": 3}, "value": {"cents": 3}}\n'
    said = produced(typed, tmp_path, topic, rows.splitlines()[0] + "\n", *registry, "--json")
    assert said.code == 0, said.err
    said = produced(typed, tmp_path, topic, rows.splitlines()[1] + "\n", *registry, "--json", "--key-schema", schema)
    assert said.code == 0, said.err
    shown = typed("consume", topic, "--registry", servers[1], "--keys").lines()
    assert shown == ['a {"cents":1}', 'b {"cents":2}', '{"cents":3} {"cents":3}']


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 1: the value is not JSON: "),
        ('{"cents": "many"}', "line 1: the value does not fit the schema: "),
        ('{"euros": 1}', "line 1: the value does not fit the schema: "),
    ],
)
def test_a_line_that_does_not_fit_is_named(
    typed: Typed, servers: tuple[str, str], topic: str, schema: Path, tmp_path: Path, line: str, told: str
) -> None:
    said = produced(typed, tmp_path, topic, f"{line}\n", "--registry", servers[1], "--value-schema", schema)
    assert said.code == 1 and told in said.err and said.err.count("\n") == 1


def test_a_subject_that_is_not_there_has_a_way_out(
    typed: Typed, servers: tuple[str, str], topic: str, tmp_path: Path
) -> None:
    said = produced(typed, tmp_path, topic, '{"cents": 1}\n', "--registry", servers[1], "--value-subject", "nobody")
    assert said.code == 1 and said.err.endswith("Name its schema: --value-schema FILE\n")
    said = produced(typed, tmp_path, topic, "x\n", "--value-subject", "nobody")
    assert said.code == 2 and "schemas are kept in a registry. Say which: --registry" in said.err
    said = produced(typed, tmp_path, topic, "1\n", "--registry", f"http://127.0.0.1:{free_port()}")
    assert said.code == 1 and "127.0.0.1" in said.err and said.err.count("\n") == 1


def test_a_record_that_cannot_be_read_is_shown_as_it_is_with_one_warning(
    typed: Typed, servers: tuple[str, str], topic: str
) -> None:
    with Producer(servers[0]) as producer:
        for _ in range(2):
            producer.send(topic, b"\0\0\0\x27\x0f!")
        producer.send(topic, b"plain")
    said = typed("consume", topic, "--registry", servers[1])
    assert said.code == 0 and said.lines()[-1] == "plain" and len(said.lines()) == 3
    assert said.err.count("the value is shown as it is: ") == 1 and f"{topic}-0 at offset 0" in said.err
