"""In and out: another registry, a file, a topic that was mirrored from a Confluent cluster."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.members import QUIET
from tests.support.paths import ROOT
from tests.support.registry import RegistryProcess, register
from tests.support.servers import BarnabasNode
from tests.unit.registry.state.test_contents import MIRRORED


@pytest.fixture(scope="module")
def three(node: BarnabasNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RegistryProcess]]:
    folder = tmp_path_factory.mktemp("moving")
    made = [
        RegistryProcess(folder / str(each), node.bootstrap, ["--topic", f"_schemas-moving-{each}"]) for each in range(3)
    ]
    try:
        for each in made:
            each.start()
        yield made
    finally:
        for each in made:
            each.stop()


def barnabas(*words: str) -> str:
    command = [sys.executable, "-m", "barnabas.cli.main", "registry", *words]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={"PYTHONPATH": str(ROOT / "src")}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PATHS = (
    "/subjects?subjectPrefix=:*:",
    "/subjects?subjectPrefix=:*:&deletedOnly=true",
    "/config",
    "/config/a-value",
    "/config/:.eu:",
    "/mode/b-value",
    "/mode/a-value",
    "/contexts",
)


def everything(registry: RegistryProcess) -> list[Any]:
    schemas = registry.ask("GET", "/schemas?subjectPrefix=:*:&deleted=true")[1]
    for each in schemas:
        each.pop("ts")
    return [schemas, *(registry.ask("GET", path) for path in PATHS)]


def test_out_of_a_registry_and_out_of_a_file(three: list[RegistryProcess], tmp_path: Path) -> None:
    source, second, third = three
    record = '{{"type":"record","name":"{0}","fields":[{1}]}}'
    source.ask("PUT", "/config", {"compatibility": "FORWARD"})
    source.ask("PUT", "/config/a-value", {"compatibility": "NONE", "normalize": True})
    register(source.port, "z-value", record.format("Z", ""))
    whole = record.format("A", '{"name":"z","type":"Z"}')
    named = [{"name": "Z", "subject": "z-value", "version": 1}]
    register(source.port, "a-value", whole, references=named, metadata={"properties": {"owner": "x"}})
    for each in ("int", "long", "string"):
        register(source.port, "a-value", f'"{each}"')
    source.ask("DELETE", "/subjects/a-value/versions/2")
    register(source.port, "b-value", '"bytes"')
    source.ask("PUT", "/mode/b-value", {"mode": "READONLY"})
    register(source.port, "gone-value", '"float"')
    source.ask("DELETE", "/subjects/gone-value")
    register(source.port, ":.eu:a-value", '"double"')
    source.ask("PUT", "/config/:.eu:", {"compatibility": "FULL"})
    expected = everything(source)

    assert "8 versions of 5 subjects" in barnabas("import", source.address, "--registry", second.address, "--yes")
    assert everything(second) == expected
    barnabas("import", source.address, "--registry", second.address, "--yes")  # again
    assert everything(second) == expected
    assert register(second.port, "new-value", '"boolean"')[1]["id"] > max(each["id"] for each in expected[0])

    file = tmp_path / "schemas.jsonl"
    barnabas("export", str(file), "--registry", source.address)
    barnabas("import", str(file), "--registry", third.address, "--yes")
    assert everything(third) == expected
    assert barnabas("export", "-", "--registry", third.address) == file.read_text()


def test_a_mirrored_topic(node: BarnabasNode, tmp_path: Path) -> None:
    admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic("_schemas-mirrored", 1, 1, config={"cleanup.policy": "compact"})])[
        "_schemas-mirrored"
    ].result(20)
    producer = Producer({**QUIET, "bootstrap.servers": node.bootstrap})
    for key, value in MIRRORED:
        producer.produce("_schemas-mirrored", key=key, value=value)
    assert producer.flush(20) == 0
    serving = RegistryProcess(tmp_path, node.bootstrap, ["--topic", "_schemas-mirrored"])
    try:
        serving.start()
        assert serving.ask("GET", "/subjects?subjectPrefix=:*:")[1] == [":.eu:orders-value", "old", "orders-value"]
        assert serving.ask("GET", "/schemas/ids/4")[1]["schema"] == '"long"'  # deleted; data may have it
        assert serving.ask("GET", "/config")[1] == {"compatibilityLevel": "FULL"}
        assert serving.ask("GET", "/subjects/orders-value/versions/2")[1]["metadata"]["properties"] == {"owner": "x"}
        assert register(serving.port, "next-value", '"double"')[1]["id"] == 5
    finally:
        serving.stop()


def test_a_topic_that_is_not_compacted_is_refused(node: BarnabasNode) -> None:
    """Its schemas would expire."""
    admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic("ordinary", 1, 1)])["ordinary"].result(20)
    command = [sys.executable, "-m", "barnabas.cli.main", "registry", "--port", "0", "--topic", "ordinary"]
    done = subprocess.run([*command, "-b", node.bootstrap], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "topic ordinary has cleanup.policy=delete, so schemas would be lost" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
