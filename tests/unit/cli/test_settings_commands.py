"""Commands that change settings, against a node: a typing error is refused, and what was done is told."""

from pathlib import Path

import pytest

from barnabas.cli.main import main
from barnabas.testing import RunningNode


def run(node: RunningNode, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main([*words, "-b", node.bootstrap])
    told = capsys.readouterr()
    return code, (told.out + told.err).strip()


def test_names_that_nobody_knows_are_refused(barnabas_node: RunningNode, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(barnabas_node, capsys, "topic", "create", "views")[0] == 0
    for words in (
        ("config", "set", "node", "1", "log.retention.mss=5"),
        ("config", "set", "node", "all", "log.retention.mss=5"),
        ("config", "delete", "node", "1", "log.retention.mss"),
    ):
        assert run(barnabas_node, capsys, *words) == (
            1,
            "barnabas: there is no setting 'log.retention.mss'. Did you mean log.retention.ms?",
        )
    for change in (("--set", "retention.mss=5"), ("--delete", "retention.mss")):
        code, told = run(barnabas_node, capsys, "topic", "alter", "views", *change)
        assert code == 1 and "Did you mean retention.ms?" in told
    code, told = run(
        barnabas_node, capsys, "topic", "alter", "views", "--set", "retention.ms=5", "--delete", "retention.ms"
    )
    assert code == 2 and "--set and --delete of retention.ms at once" in told


def test_what_is_set_for_all_nodes_is_told_as_such(
    barnabas_node: RunningNode, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = run(barnabas_node, capsys, "config", "get", "node", "all", "num.partitions")
    assert code == 1 and "num.partitions is not set for all nodes" in told
    code, told = run(barnabas_node, capsys, "config", "set", "node", "all", "log.retention.ms=259200000")
    assert (code, told) == (0, "node all: log.retention.ms is now 259200000 (3 d)")
    code, told = run(barnabas_node, capsys, "config", "delete", "node", "all", "log.retention.ms")
    assert (code, told) == (0, "node all: log.retention.ms is no longer set")


def test_keyless_records_of_a_compacted_topic_have_a_way_out(
    barnabas_node: RunningNode, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(barnabas_node, capsys, "topic", "create", "c", "--set", "cleanup.policy=compact")[0] == 0
    lines = tmp_path / "lines"
    lines.write_text("one\n")
    code, told = run(barnabas_node, capsys, "produce", "c", str(lines))
    assert code == 1 and "takes records with a key only" in told


def test_the_check_of_schema_ids_can_be_turned_on_later(
    barnabas_node: RunningNode, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A node does not show Confluent's settings where they are not set."""
    name = "confluent.value.schema.validation"
    assert run(barnabas_node, capsys, "topic", "create", "typed")[0] == 0
    code, told = run(barnabas_node, capsys, "topic", "alter", "typed", "--set", f"{name}=true")
    assert (code, told) == (0, f"typed: {name} is now true")
    lines = tmp_path / "lines"
    lines.write_text("one\n")
    code, told = run(barnabas_node, capsys, "produce", "typed", str(lines))
    assert code == 1 and "one that checks schema ids" in told
    code, told = run(barnabas_node, capsys, "topic", "alter", "typed", "--delete", name)
    assert (code, told) == (0, f"typed: {name} has its default again")
    assert run(barnabas_node, capsys, "topic", "alter", "typed", "--delete", name, "--json")[0] == 0
    code, told = run(barnabas_node, capsys, "config", "set", "topic", "typed", f"{name}=true")
    assert (code, told) == (0, f"topic typed: {name} is now true")
