"""`barnabas registry export` and `import`: everything arrives with its ids and versions, and doing it again is safe."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from barnabas.testing import running_node
from tests.support.process import free_port
from tests.support.registry import ask
from tests.support.registry_thread import serving_registry
from tests.unit.cli.typed import Typed

MONEY = {"type": "record", "name": "Money", "namespace": "shop", "fields": [{"name": "cents", "type": "long"}]}
ORDER = {"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "price", "type": "shop.Money"}]}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}


class Registry:
    def __init__(self, address: str) -> None:
        self.address = address

    def do(self, method: str, path: str, body: object = None) -> Any:
        status, answer = ask(int(self.address.rpartition(":")[2]), method, path, body)
        assert status == 200, answer
        return answer

    def register(self, subject: str, schema: object, **more: object) -> int:
        text = {"schema": json.dumps(schema), **more}
        found: int = self.do("POST", f"/subjects/{quote(subject, safe='')}/versions", text)["id"]
        return found


@pytest.fixture(scope="module")
def node() -> Iterator[str]:
    with running_node() as one:
        yield one.bootstrap


@pytest.fixture(scope="module")
def old(node: str) -> Iterator[Registry]:
    """With a reference, a context, versions that were deleted, levels and modes."""
    with serving_registry(node, "_old") as address:
        made = Registry(address)
        made.register("money-value", MONEY)
        reference = {"name": "shop.Money", "subject": "money-value", "version": 1}
        made.register("order-value", ORDER, references=[reference])
        made.register("order-value", {**ORDER, "fields": [*ORDER["fields"], NOTE]}, references=[reference])
        made.do("DELETE", "/subjects/order-value/versions/1")
        made.register(":.lab:try-value", MONEY)
        made.register("gone-value", MONEY)
        made.do("DELETE", "/subjects/gone-value")
        made.do("PUT", "/config", {"compatibility": "FULL"})
        made.do("PUT", "/config/order-value", {"compatibility": "NONE"})
        made.do("PUT", "/mode/money-value", {"mode": "READONLY"})
        yield made


@pytest.fixture
def new(node: str, tmp_path: Path) -> Iterator[Registry]:
    with serving_registry(node, f"_new-{tmp_path.name}") as address:
        yield Registry(address)


def everything(typed: Typed, registry: Registry) -> list[str]:
    said = typed("registry", "export", "-", "--registry", registry.address)
    assert said.code == 0, said.err
    return sorted(said.out.splitlines())


def test_another_registry_is_taken_over_with_ids_versions_and_what_was_deleted(
    typed: Typed, old: Registry, new: Registry
) -> None:
    said = typed("registry", "import", old.address, "--registry", new.address)
    assert said.code == 2 and f"Write 5 versions of 4 subjects, and 3 settings into {new.address}? Nobody" in said.err
    assert new.do("GET", "/subjects") == []
    said = typed("registry", "import", old.address, "--registry", new.address, "--yes")
    assert (said.code, said.out) == (0, "took over 5 versions of 4 subjects, and 3 settings\n")
    assert everything(typed, new) == everything(typed, old)
    assert new.do("GET", "/subjects/order-value/versions") == [2]
    assert (
        new.do("GET", "/subjects/order-value/versions/2")["id"]
        == old.do("GET", "/subjects/order-value/versions/2")["id"]
    )
    assert new.do("GET", "/subjects?deleted=true&subjectPrefix=gone") == ["gone-value"]
    again = typed("registry", "import", old.address, "--registry", new.address, "--yes", "--json")
    assert again.json() == {"versions": 5, "subjects": 4, "settings": 3}
    assert everything(typed, new) == everything(typed, old), "once more changes nothing"


def test_a_file_is_as_good_as_the_registry(typed: Typed, old: Registry, new: Registry, tmp_path: Path) -> None:
    file = tmp_path / "schemas.jsonl"
    said = typed("registry", "export", file, "--registry", old.address)
    assert said.out == f"wrote 5 versions of 4 subjects, and 3 settings to {file}\n"
    assert typed("registry", "export", file, "--registry", old.address, "--json").json()["file"] == str(file)
    lines = file.read_text().splitlines()
    assert {json.loads(line)["key"]["keytype"] for line in lines} == {"CONFIG", "MODE", "SCHEMA"}
    file.write_text("\n\n".join(reversed(lines)))  # what refers to another comes before it
    assert typed("registry", "import", file, "--registry", new.address, "--yes").code == 0
    assert everything(typed, new) == sorted(lines)


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        '{"key": {"keytype": "SCHEMA"}}',
        '{"key": {"keytype": "SCHEMA"}, "value": {"id": "1", "version": 1, "subject": "a"}}',
        '{"key": {"keytype": "CONFIG"}, "value": {}}',
        "[]",
        "[" * 100_000,
    ],
)
def test_a_line_that_is_none_is_named(typed: Typed, tmp_path: Path, line: str) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_text(f"\n{line}\n")
    said = typed("registry", "import", file, "--yes")
    assert said.code == 1 and said.err == f"barnabas: line 2 of {file} is not a record of an export\n"


def test_files_and_registries_that_are_not_there(typed: Typed, tmp_path: Path) -> None:
    said = typed("registry", "import", tmp_path / "none.jsonl", "--yes")
    assert said.code == 1 and "no such file or directory" in said.err
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    said = typed("registry", "import", tmp_path / "bytes", "--yes")
    assert said.code == 1 and f"{tmp_path / 'bytes'} is not text: " in said.err
    nowhere = f"http://127.0.0.1:{free_port()}"
    said = typed("registry", "export", "-", "--registry", nowhere)
    assert said.code == 1 and nowhere in said.err and said.err.count("\n") == 1


def test_a_reference_that_is_nowhere_ends_it_with_its_name(typed: Typed, new: Registry, tmp_path: Path) -> None:
    reference = {"name": "shop.Money", "subject": "money-value", "version": 1}
    value = {"subject": "order-value", "version": 1, "id": 7, "schema": json.dumps(ORDER), "references": [reference]}
    file = tmp_path / "torn.jsonl"
    file.write_text(json.dumps({"key": {"keytype": "SCHEMA"}, "value": value}))
    said = typed("registry", "import", file, "--registry", new.address, "--yes")
    assert said.code == 1 and "cannot write version 1 of order-value" in said.err
