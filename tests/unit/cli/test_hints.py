"""A command that is told to paste speaks to the cluster that the one before spoke to."""

import ast
from pathlib import Path

import pytest

import barnabas.cli
from barnabas.cli.cluster.health import problems
from barnabas.cli.cluster.view import View
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, to_paste
from barnabas.operate.placement.nouns import Broker

WEST = "west.example.org:9192"


@pytest.mark.parametrize(
    ("bootstrap", "variable", "expected"),
    [
        (DEFAULT_BOOTSTRAP, None, "barnabas link resume east"),
        (WEST, None, f"barnabas link resume east -b {WEST}"),
        (WEST, WEST, "barnabas link resume east"),  # in the same shell it is found again
        (DEFAULT_BOOTSTRAP, WEST, f"barnabas link resume east -b {DEFAULT_BOOTSTRAP}"),
        ("[::1]:9092", None, "barnabas link resume east -b '[::1]:9092'"),
    ],
)
def test_it_names_the_cluster_unless_it_is_found_without(
    bootstrap: str, variable: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BARNABAS_BOOTSTRAP", raising=False)
    if variable is not None:
        monkeypatch.setenv("BARNABAS_BOOTSTRAP", variable)
    assert to_paste("link resume east", bootstrap) == expected


def test_the_ways_out_of_cluster_status_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BARNABAS_BOOTSTRAP", raising=False)
    down = View("id", [Broker(2, "h", 9092, None, False)], quorum_leader=1)
    found = [each.way_out for each in problems(down, WEST)]
    assert any(f"barnabas cluster drain 2 -b {WEST}." in each for each in found), found


@pytest.mark.parametrize("folder", ["link", "cluster"])
def test_no_command_is_told_in_another_way(folder: str) -> None:
    """A literal would leave out -b. Examples of help are docstrings."""
    for path in (Path(barnabas.cli.__file__).parent / folder).glob("*.py"):
        tree = ast.parse(path.read_text())
        documents = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        told = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents
        ]
        literal = [each for each in told if "barnabas " in each and "barnabas up" not in each]
        assert not literal, f"{path.name}: {literal}; use to_paste (cli/common/options.py)"
